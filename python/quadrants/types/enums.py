"""Enumerations of types, under the path that programs import them from. The long ones are made when they are used."""

from enum import Enum
from typing import Any

from quadrants._lib.core import Layout as Layout

_CHANNELS = "unknown "
_CHANNELS += "r8 rg8 rgba8 rgba8srgb bgra8 bgra8srgb r8u rg8u rgba8u r8i rg8i rgba8i r16 rg16 rgb16 rgba16"
_CHANNELS += " r16u rg16u rgb16u rgba16u r16i rg16i rgb16i rgba16i r16f rg16f rgb16f rgba16f r32u rg32u rgb32u rgba32u"
_CHANNELS += " r32i rg32i rgb32i rgba32i r32f rg32f rgb32f rgba32f depth16 depth24stencil8 depth32f"

_CAPABILITIES = "version_1_3 version_1_4 version_1_5 has_int8 has_int16 has_int64 has_float16 has_float64"
_CAPABILITIES += " has_atomic_int64 has_atomic_float16 has_atomic_float16_add has_atomic_float16_minmax"
_CAPABILITIES += " has_atomic_float has_atomic_float_add has_atomic_float_minmax has_atomic_float64"
_CAPABILITIES += " has_atomic_float64_add has_atomic_float64_minmax has_variable_ptr has_physical_storage_buffer"
_CAPABILITIES += " has_subgroup_basic has_subgroup_vote has_subgroup_arithmetic has_subgroup_ballot"
_CAPABILITIES += " has_non_semantic_info has_no_integer_wrap_decoration"


def __getattr__(name: str) -> Any:
    if name == "Format":
        make: Any = Enum
        value: Any = make(name, _CHANNELS.split(), start=0)
        value.__doc__ = (
            "Formats of textures: channels, bits a channel, and kind (u, i, f; unsigned normalised without)."
        )
    elif name == "DeviceCapability":
        rows: dict[str, Any] = {"spirv_" + row: "spirv_" + row for row in _CAPABILITIES.split()}
        rows.update({f"spirv_version_1_{k}": f"spirv_version={1 << 16 | k << 8}" for k in (3, 4, 5)})
        rows["__doc__"] = "What a SPIR-V device can do: texts, by the names that device reports use."
        value = type(name, (), rows)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, value)

"""Enumerations shared by host code: architectures, extensions, layouts, axes; and the scalar types by their old path.

An `Arch` names what the user asks for; `backend_name` maps it to the plugin that serves it, so that nothing else in the
package spells plugin names. Values up to `vulkan` are fixed (programs build `Arch(int)`); later ones are ours.
"""

from enum import IntEnum

from quadrants import _native
from quadrants.lang.exception import QuadrantsRuntimeError


class _Named(IntEnum):
    """An integer enumeration that prints as `Class.member`."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    __str__ = __repr__


class Arch(_Named):
    """What kernels run on."""

    x64 = 0
    arm64 = 1
    js = 2
    python = 3
    cuda = 4
    metal = 5
    opencl = 6
    amdgpu = 7
    vulkan = 8
    reference = 100
    null = 101
    checked = 102


class PluginArch:
    """The arch of somebody else's plugin, known by its name only."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PluginArch) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Arch.{self.name}"


CPU_ARCHS = (Arch.x64, Arch.arm64)
GPU_ARCHS = (Arch.cuda, Arch.metal, Arch.vulkan, Arch.amdgpu)
ARCH_ALIASES = {"x86_64": "x64", "cpu": "", "gpu": ""}


def host_arch() -> Arch:
    """The CPU that this process runs on."""
    from os import uname

    return Arch.arm64 if uname().machine in ("aarch64", "arm64") else Arch.x64


def arch_from_name(name: str) -> "Arch | PluginArch":
    """The arch of that name; any other name is taken for a third party's plugin."""
    name = ARCH_ALIASES.get(name, name) or host_arch().name
    return Arch[name] if name in Arch.__members__ else PluginArch(name)


def backend_name(arch: "Arch | PluginArch") -> str:
    """Name of the plugin that serves an arch."""
    return "cpu" if arch in CPU_ARCHS else arch.name


class Extension(_Named):
    """Parts of the language that not every backend has."""

    sparse = 0
    quant = 1
    mesh = 2
    quant_basic = 3
    data64 = 4
    adstack = 5
    bls = 6
    assertion = 7
    extfunc = 8


class Layout(_Named):
    """Where the components of one element lie: side by side (AOS) or one array each (SOA)."""

    AOS = 0
    SOA = 1
    NULL = 2


class Axis:
    """One axis of a field: `qd.i` is the list of axis 0."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and other.number == self.number

    def __hash__(self) -> int:
        return hash(("Axis", self.number))

    def __repr__(self) -> str:
        return f"Axis({self.number})"


DataTypeCxx = _native.DataType
__all__ = ["Arch", "Axis", "DataTypeCxx", "Extension", "Layout", "PluginArch", "QuadrantsRuntimeError"]

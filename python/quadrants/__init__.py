"""Quadrants: a language for data-parallel kernels inside Python, and the runtime that compiles, caches and runs them.

Names load when they are first used, so that `import quadrants` costs little. `_NAMES` is the whole public surface: one
row per module, and `dir(quadrants)` is exactly these names. Names of ours that the older system lacks are in `_HIDDEN`:
they work, and `dir` does not show them.
"""

import copyreg as _copyreg
import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

from quadrants import _native as _native
from quadrants._version import __version__ as __version__
from quadrants._version import __version_str__ as __version_str__

_TYPES = "f16 f32 f64 i8 i16 i32 i64 u1 u8 u16 u32 u64"
_LONG = {"f": "float", "i": "int", "u": "uint"}
_NAMES = {
    "_native": _TYPES,
    "_logging": "CRITICAL DEBUG ERROR INFO TRACE WARN is_logging_effective set_logging_level",
    "types.annotations": "Template sparse_matrix_builder template",
    "types.enums": "DeviceCapability Format Layout",
    "types.primitive": "ref",
    "lang.exception": """QuadrantsAssertionError QuadrantsCompilationError QuadrantsNameError QuadrantsRuntimeError
        QuadrantsRuntimeTypeError QuadrantsSyntaxError QuadrantsTypeError""",
    "lang.misc": """amdgpu arm64 cpu cuda dump_compile_config extension gpu init is_extension_enabled metal python reset
        sync vulkan x64 x86_64""",
    "lang.snode": """FieldsBuilder SNode axes deactivate_all_snodes get_addr i ij ijk ijkl ijl ik ikl il j jk jkl jl k kl l
        rescale_index root""",
    "lang.field": "Field MatrixField ScalarField field",
    "lang.struct": "Struct StructField",
    "types.structs": "dataclass",
    "lang.ndarray": "MatrixNdarray Ndarray ScalarNdarray VectorNdarray ndarray",
    "lang.matrix": "Matrix Vector",
    "lang.kernel": "data_oriented kernel pure",
    "lang.func": "func pyfunc real_func",
    "lang.ops": """abs acos asin atan2 atomic_add atomic_and atomic_cas atomic_exchange atomic_max atomic_min atomic_mul
        atomic_or atomic_sub atomic_xor bit_cast bit_shr cast ceil cos exp floor frexp log max min pow randn random
        raw_div raw_mod round rsqrt select sin sqrt tan tanh volatile_load""",
    "lang.static": """assume_in_range block_local cache_read_only clock_counter clock_freq_hz global_thread_idx grouped loop_config
        mesh_local mesh_patch_idx ndrange no_activate one static static_assert static_print stop_grad zero""",
    "lang.decompositions": "eig make_spd polar_decompose solve svd sym_eig",
    "lang.tensor": "Backend MatrixTensor Tensor VectorTensor tensor wrap",
    "lang.streams": "Event Stream create_event create_stream",
    "lang.perf_dispatch": "perf_dispatch",
    "lang.graph_names": "GraphStatus graph_do_while graph_parallel graph_parallel_context stream_parallel",
    "lang.buffer_view": "BufferView",
    "lang.later": """BitpackedFields Mesh MeshInstance activate append checkpoint deactivate is_active length""",
    "": "ad algorithms experimental graph interop lang linalg math profiler simt sparse tools types",
}
_HIDDEN = {
    "lang.misc": "checked null reference",
    "cache_report": "cache_report",
    "simt": "outer",
    "lang.tensor": "_MatrixTensor _Tensor _VectorTensor _wrap",
    "": "_funcs _kernels _lib _logging _snode _tensor _tensor_wrapper",
}


def _where(table: dict[str, str]) -> dict[str, tuple[str, str]]:
    return {name: (module, name) for module, names in table.items() for name in names.split()}


_FOUND = _where(_NAMES)
_FOUND.update({_LONG[name[0]] + name[1:]: ("_native", name) for name in _TYPES.split()})
__all__ = sorted(_FOUND)  # noqa: PLE0605 - computed from the table
_FOUND.update(_where(_HIDDEN))


def __getattr__(name: str) -> _Any:
    if name == "cfg":  # changes with every init, so it is never stored
        return _import_module("quadrants.lang.impl").get_runtime().cfg
    if name not in _FOUND:
        raise AttributeError(f"module 'quadrants' has no attribute {name!r}")
    module, attribute = _FOUND[name]
    loaded = _import_module(f"quadrants.{module or attribute}")
    value = getattr(loaded, attribute) if module else loaded
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


def _scalar_type(name: str) -> _native.DataType:
    return getattr(_native, name)


_copyreg.pickle(_native.DataType, lambda dtype: (_scalar_type, (dtype.name,)))  # copies are the same object


def _banner() -> str:
    python = ".".join(map(str, _sys.version_info[:3]))
    return f"[Quadrants] version {__version_str__}, build {_native.__build_id__[:8]}, {_sys.platform}, python {python}"


print(_banner(), flush=True)

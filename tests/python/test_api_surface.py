"""The public surface: exactly the documented names, each of which loads; what is missing says so when it is used."""

import subprocess
import sys

import pytest

import quadrants as qd

QD = """Backend BitpackedFields BufferView CRITICAL DEBUG DeviceCapability ERROR Event Field FieldsBuilder Format
GraphStatus INFO Layout Matrix MatrixField MatrixNdarray MatrixTensor Mesh MeshInstance Ndarray
QuadrantsAssertionError QuadrantsCompilationError QuadrantsNameError QuadrantsRuntimeError
QuadrantsRuntimeTypeError QuadrantsSyntaxError QuadrantsTypeError SNode ScalarField ScalarNdarray Stream Struct
StructField TRACE Template Tensor Vector VectorNdarray VectorTensor WARN abs acos activate ad algorithms amdgpu
append arm64 asin assume_in_range atan2 atomic_add atomic_and atomic_cas atomic_exchange atomic_max atomic_min
atomic_mul atomic_or atomic_sub atomic_xor axes bit_cast bit_shr block_local cache_read_only cast ceil
checkpoint clock_counter clock_freq_hz cos cpu create_event create_stream cuda data_oriented dataclass
deactivate deactivate_all_snodes dump_compile_config eig exp experimental extension f16 f32 f64 field float16
float32 float64 floor frexp func get_addr global_thread_idx gpu graph graph_do_while graph_parallel
graph_parallel_context grouped i i16 i32 i64 i8 ij ijk ijkl ijl ik ikl il init int16 int32 int64 int8 interop
is_active is_extension_enabled is_logging_effective j jk jkl jl k kernel kl l lang length linalg log loop_config
make_spd math max mesh_local mesh_patch_idx metal min ndarray ndrange no_activate one perf_dispatch
polar_decompose pow profiler pure pyfunc python randn random raw_div raw_mod real_func ref rescale_index reset
root round rsqrt select set_logging_level simt sin solve sparse sparse_matrix_builder sqrt static static_assert
static_print stop_grad stream_parallel svd sym_eig sync tan tanh template tensor tools types u1 u16 u32 u64 u8
uint1 uint16 uint32 uint64 uint8 volatile_load vulkan wrap x64 x86_64 zero""".split()
FIELD = """copy_from dtype fill from_numpy from_torch has_dual has_grad layout parent shape snode to_dlpack to_numpy
to_torch""".split()
NDARRAY = "copy_from element_shape fill get_type has_dual has_grad layout shape to_dlpack".split()
CONVERSIONS = "from_numpy from_torch to_numpy to_torch".split()
SWIZZLE_GROUPS = ("xyzw", "rgba", "stpq")
MATRIX = """all any cast cols cross determinant diag dot field fill frobenius_inner get_shape identity inverse max min
ndarray norm norm_inv norm_sqr normalized one outer_product rows sum tensor to_list to_numpy trace transpose unit
zero""".split()
SURFACE = {
    "ad": "FwdMode Tape clear_all_gradients grad_for grad_replaced no_grad",
    "algorithms": """PrefixSumExecutor exclusive_scan_add exclusive_scan_max exclusive_scan_min
        exclusive_scan_scratch_slots parallel_sort reduce_add reduce_by_key_add reduce_by_key_scratch_slots reduce_max
        reduce_min reduce_scratch_slots select select_scratch_slots sort sort_scratch_slots""",
    "graph": "do_while parallel parallel_context",
    "interop": "get_mps_command_queue",
    "sparse": "grid usage",
    "math": """acos asin atan2 cconj cdiv ceil cexp cinv clamp clog clz cmul cos cpow cross csqrt degrees determinant
        distance dot e exp eye ffs floor fns fract inf inverse isinf isnan ivec2 ivec3 ivec4 length log log2 mat2 mat3
        mat4 max min mix mod nan normalize pi popcnt pow radians reflect refract rot_by_axis rot_yaw_pitch_roll
        rotation2d rotation3d round scale sign sin smoothstep sqrt step tan tanh translate uvec2 uvec3 uvec4 vdir vec2
        vec3 vec4""",
    "SNode": """bitmasked deactivate_all dense dynamic lazy_dual lazy_grad parent place pointer quant_array shape""",
    "FieldsBuilder": """bitmasked deactivate_all dense dynamic finalize lazy_dual lazy_grad place pointer
        quant_array""",
    "Struct": "entries field items keys methods to_dict",
}


def public(thing) -> list[str]:
    return sorted(name for name in dir(thing) if not name.startswith(("_", "@")))


def test_names_of_the_package():
    assert public(qd) == sorted(QD)
    assert len(QD) == 205


@pytest.mark.parametrize("name", QD)
def test_every_name_loads(name):
    assert getattr(qd, name) is not None


@pytest.mark.parametrize("name", SURFACE)
def test_names_of_modules_and_classes(name):
    thing = getattr(qd, name)
    assert public(thing) == sorted(SURFACE[name].split())
    for member in public(thing):
        getattr(thing, member)


@pytest.mark.parametrize(
    "cls, names",
    [
        ("Field", FIELD),
        ("ScalarField", FIELD),
        ("MatrixField", [*FIELD, "get_scalar_field"]),
        ("StructField", [*FIELD, "get_member_field", "keys"]),
        ("Ndarray", NDARRAY),
        ("ScalarNdarray", NDARRAY + CONVERSIONS),
        ("VectorNdarray", NDARRAY + CONVERSIONS),
        ("MatrixNdarray", NDARRAY + CONVERSIONS),
    ],
)
def test_names_of_tensor_classes(cls, names):
    assert public(getattr(qd, cls)) == sorted(names)


def test_names_of_matrix():
    from itertools import product

    patterns = {"".join(p) for group in SWIZZLE_GROUPS for n in range(1, 5) for p in product(group, repeat=n)}
    assert public(qd.Matrix) == public(qd.Vector) == sorted({*MATRIX, *patterns})


def test_unknown_name():
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        qd.nothing_of_the_kind  # noqa: B018


def test_names_of_ours_are_hidden_and_work():
    for name in ("cache_report", "reference", "null", "cfg"):
        assert name not in dir(qd)
        getattr(qd, name)


def test_types_are_singletons():
    assert qd.float32 is qd.f32 and qd.uint1 is qd.u1 and qd.int64 is qd.i64
    assert str(qd.f16) == qd.f16.to_string() == "f16"
    assert len({qd.i32, qd.int32, qd.u32}) == 2


def test_archs():
    assert qd.x86_64 is qd.x64 and qd.x64 == 0 and not qd.x64
    assert repr(qd.cuda) == str(qd.cuda) == "Arch.cuda"
    assert [arch.name for arch in qd.gpu] == ["cuda", "metal", "vulkan", "amdgpu"]
    assert qd._lib.core.Arch(4) is qd.cuda and qd.cpu in (qd.x64, qd.arm64)


LATER = ["activate", "append", "checkpoint"]


@pytest.mark.parametrize("name", LATER)
def test_what_is_not_there_yet_says_so(name):
    with pytest.raises(qd.QuadrantsSyntaxError, match=f"qd.{name} is not supported yet"):
        getattr(qd, name)(1)


def test_exceptions_are_those_that_users_catch():
    from quadrants.lang import exception

    for cls, bases in {
        "QuadrantsSyntaxError": (SyntaxError, exception.QuadrantsCompilationError),
        "QuadrantsNameError": (NameError, exception.QuadrantsCompilationError),
        "QuadrantsIndexError": (IndexError, exception.QuadrantsCompilationError),
        "QuadrantsTypeError": (TypeError, exception.QuadrantsCompilationError),
        "QuadrantsAssertionError": (AssertionError, exception.QuadrantsRuntimeError),
        "QuadrantsRuntimeTypeError": (TypeError, exception.QuadrantsRuntimeError),
        "QuadrantsRuntimeError": (RuntimeError,),
    }.items():
        assert all(issubclass(getattr(exception, cls), base) for base in bases)
    assert not hasattr(qd, "QuadrantsIndexError")
    assert qd._lib.core.QuadrantsRuntimeError is qd.QuadrantsRuntimeError


def test_import_loads_nothing_that_is_not_used():
    unused = ("numpy", "torch", "inspect", "quadrants.lang.matrix")
    code = f"import sys, quadrants; print([name for name in {unused} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    banner, loaded = done.stdout.splitlines()
    assert banner.startswith("[Quadrants] version ") and loaded == "[]"


def test_star_import():
    namespace = {}
    exec("from quadrants import *", namespace)
    assert namespace["f32"] is qd.f32 and callable(namespace["kernel"])


def test_numpy_types():
    import numpy as np

    from quadrants.lang.util import to_numpy_type, to_quadrants_type

    assert to_numpy_type(qd.f32) is np.float32 and to_numpy_type(qd.u1) is np.bool_
    for name in "f16 f32 f64 i8 i16 i32 i64 u1 u8 u16 u32 u64".split():
        assert to_quadrants_type(to_numpy_type(getattr(qd, name))) is getattr(qd, name)


def test_predicates():
    assert qd.types.is_real(qd.f16) and not qd.types.is_real(qd.i32)
    assert qd.types.is_integral(qd.u1) and qd.types.is_signed(qd.i8) and not qd.types.is_signed(qd.u8)
    assert qd.types.is_tensor(qd.types.vector(3, qd.f32)) and not qd.types.is_tensor(qd.f32)


def test_annotations():
    array = qd.types.NDArray[qd.f32, 2]
    assert (array.dtype, array.ndim, array.boundary) == (qd.f32, 2, "unsafe")
    assert qd.types.ndarray is qd.types.NDArray and qd.types.template is qd.Template
    with pytest.raises(ValueError, match="Invalid boundary argument: wrap"):
        qd.types.ndarray(boundary="wrap")
    with pytest.raises(ValueError, match="use ndim instead"):
        qd.types.ndarray(field_dim=1)


def test_equal_compound_types_are_equal():
    assert qd.types.vector(3, qd.f32) == qd.types.vector(3, qd.f32) == qd.math.vec3
    assert qd.types.vector(3, qd.f32) != qd.types.vector(3, qd.f64)
    assert qd.types.vector(3, qd.f32) != qd.types.matrix(3, 1, qd.f32)
    assert len({qd.types.matrix(2, 2, qd.f32), qd.math.mat2}) == 1

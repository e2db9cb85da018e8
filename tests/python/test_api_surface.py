"""The public surface: exactly the documented names, each of which loads; what is missing says so when it is used."""

import inspect
import itertools
import re
import subprocess
import sys
from pathlib import Path

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


def test_values_of_enumerations():
    assert {m.name: int(m) for m in qd.Layout} == {"AOS": 0, "SOA": 1, "NULL": 2}
    assert [int(m) for m in qd.extension] == list(range(9)) and qd.extension(4) is qd.extension.data64
    assert {m.name: int(m) for m in qd.Backend} == {"FIELD": 0, "NDARRAY": 1}
    assert (qd.Format.unknown.value, qd.Format.rgba8.value, qd.Format.depth32f.value) == (0, 3, 43)
    assert qd.DeviceCapability.spirv_has_int8 == "spirv_has_int8"
    assert qd.DeviceCapability.spirv_version_1_4 == "spirv_version=66560"


SIGNATURES = (Path(__file__).parent / "public_signatures.txt").read_text().splitlines()


def parameters(text: str) -> list[tuple[str, bool]]:
    """(name, has a default) of each parameter of `name(a, b=1, *args)`."""
    return [(part.partition("=")[0], "=" in part) for part in text.partition("(")[2][:-1].split(", ") if part]


def test_parameters_are_those_that_programs_name():
    """Names, order and defaults of the released system's functions and methods: programs pass arguments by name."""
    wrong = []
    for line in SIGNATURES:
        path = line.partition("(")[0]
        value = qd
        for name in path.split("."):
            value = getattr(value, name)
        ours = inspect.signature(value).parameters
        if any(p.kind is p.VAR_KEYWORD for p in ours.values()):
            continue
        for (name, optional), p in itertools.zip_longest(parameters(line), ours.values(), fillvalue=(None, None)):
            if name is None or name.startswith("*"):
                break
            if p == (None, None) or p.name != name and name not in ("self", "a") or optional and p.default is p.empty:
                wrong.append(f"{line}: ours is {inspect.signature(value)}")
                break
    assert wrong == []


LATER = {
    "": ["activate(1, 2)", "append(1, 2, 3)", "checkpoint(1, yield_on=2)", "deactivate(1, 2)", "is_active(1, 2)",
         "length(1, 2)", "BitpackedFields(32)", "Mesh()", "MeshInstance()", "stop_grad(1)",
         "mesh_patch_idx()", "mesh_local(1)", "Mesh.load_meta('f')"],
    "ad.": ["Tape()", "Tape(loss=1, validation=True)", "FwdMode(1, 2)", "clear_all_gradients()", "grad_for(1)",
            "grad_replaced(1)", "no_grad(1)"],
    "algorithms.": ["parallel_sort(1)", "PrefixSumExecutor(8)", "reduce_scratch_slots(8)", "sort_scratch_slots(8)"],
    "linalg.": ["SparseMatrix(n=2, m=2)", "SparseMatrixBuilder(2, 2)", "SparseSolver(solver_type='LU')",
                "SparseCG(1, 2)", "LinearOperator(1)", "MatrixFreeCG(1, 2, 3)", "MatrixFreeBICGSTAB(1, 2, 3)"],
    "sparse.": ["usage(1)", "grid({}, 4)"],
    "types.quant.": ["int(5)", "fixed(5, max_value=2.0)", "float(5, 10)"],
}  # fmt: skip


@pytest.mark.parametrize("call", [module + call for module, calls in LATER.items() for call in calls])
def test_what_is_not_there_yet_says_so(call):
    name = call.partition("(")[0]
    with pytest.raises(qd.QuadrantsSyntaxError, match=f"qd.{re.escape(name)} is not supported yet"):
        eval(f"qd.{call}", {"qd": qd})  # noqa: S307 - text of this file


def test_kernels_have_their_documented_attributes():
    @qd.kernel
    def k():
        pass

    for call in (lambda: k.grad(1), lambda: k.resume(from_checkpoint=1)):
        with pytest.raises(qd.QuadrantsSyntaxError, match="is not supported yet"):
            call()
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        qd.activate(1)


def test_annotations_for_later_can_be_written(arch):
    @qd.kernel
    def k(a: qd.types.sparse_matrix_builder()):
        pass

    with pytest.raises(
        qd.QuadrantsSyntaxError, match="sparse_matrix_builder .argument .a. of kernel .k.. is not supported yet"
    ):
        k(1)


def test_graph_status():
    assert repr(qd.GraphStatus(yielded=True, checkpoint=3)) == "GraphStatus(yielded=True, checkpoint=3)"
    assert repr(qd.GraphStatus(False, None)) == "GraphStatus(yielded=False)"
    assert qd.GraphStatus(True, 3).checkpoint == 3 and qd.GraphStatus(True, 3).yielded


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
    code = (  # what the interpreter's own start loads is not ours
        "import sys; before = set(sys.modules); import quadrants; "
        f"print([name for name in {unused} if name in sys.modules and name not in before])"
    )
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

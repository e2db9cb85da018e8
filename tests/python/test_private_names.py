"""Names that are private and that a large client of the released system uses: each is there and does what the client needs."""

import importlib

import numpy as np
import pytest

import quadrants as qd

NAMES = {
    "quadrants._kernels": "tensor_to_ext_arr matrix_to_ext_arr ndarray_to_ext_arr ndarray_matrix_to_ext_arr ext_arr_to_tensor "
    "ext_arr_to_matrix ext_arr_to_ndarray ext_arr_to_ndarray_matrix fill_field fill_ndarray",
    "quadrants._lib.core": "Arch DataTypeCxx QuadrantsRuntimeError",
    "quadrants._logging": "DEBUG TRACE INFO WARN ERROR CRITICAL _get_logging set_logging_level is_logging_effective",
    "quadrants._tensor": "Backend Tensor tensor",
    "quadrants._tensor_wrapper": "MatrixTensor Tensor VectorTensor wrap",
    "quadrants._snode": "FieldsBuilder",
    "quadrants.types.primitive_types": "f32 int64 all_types real_types integer_types type_ids ref",
    "quadrants.types.ndarray_type": "NdarrayType NDArray ndarray",
    "quadrants.types.compound_types": "matrix struct vector",
    "quadrants.lang.kernel_impl": "kernel func pyfunc real_func data_oriented",
    "quadrants.lang._ndarray": "Ndarray ScalarNdarray",
    "quadrants.lang.simt": "block grid subgroup warp",
    "quadrants.lang.stream": "Stream Event create_stream create_event stream_parallel",
    "quadrants._funcs": "eig make_spd polar_decompose randn solve svd sym_eig",
    "quadrants.lang.util": "to_numpy_type to_pytorch_type to_quadrants_type cook_dtype has_pytorch",
    "quadrants.lang.impl": "current_cfg get_max_shared_memory_bytes get_runtime",
    "quadrants.lang.misc": "is_arch_supported is_extension_supported get_host_arch_list adaptive_arch_select loop_unique prepare_sandbox timeline_clear timeline_save "
    "check_require_version",
    "quadrants.lang.exception": "QuadrantsIndexError QuadrantsSyntaxError",
    "quadrants.lang._fast_caching": "FIELD_METADATA_CACHE_VALUE",
    "quadrants.lang._template_mapper": "__builtins__",
    "quadrants": "_Tensor _VectorTensor _MatrixTensor _wrap _logging _lib _kernels _funcs _snode _tensor _tensor_wrapper "
    "__version__ __version_str__",
}


@pytest.mark.parametrize("module, name", [(m, n) for m, names in NAMES.items() for n in names.split()])
def test_names(module, name):
    assert getattr(importlib.import_module(module), name) is not None


def test_a_switch_of_argument_checks():
    """The client writes `__debug__` into the builtins that a module sees."""
    builtins = qd.lang._template_mapper.__builtins__
    was = builtins["__debug__"]
    builtins["__debug__"] = False
    builtins["__debug__"] = was


def test_loggers_are_replaced(monkeypatch, init):
    said = []
    for level in (qd._logging.DEBUG, qd._logging.INFO, qd._logging.WARN, qd._logging.ERROR):
        assert callable(qd._logging._get_logging(level))
        monkeypatch.setattr(qd._logging, level, lambda msg, level=level: said.append((level, msg)))
    monkeypatch.setenv("QD_DEBUG", "1")
    init(debug=False)
    assert ("warn", 'Environment variable QD_DEBUG=1 overridden by qd.init argument "debug"') in said


def test_the_runtime_is_asked(arch):
    assert qd.lang.impl.current_cfg() is qd.cfg
    assert qd.lang.impl.get_max_shared_memory_bytes(is_lowerbound_ok=True) >= 0
    assert qd._lib.core.Arch(4) is qd.cuda
    assert isinstance(qd.__version__, tuple) and all(isinstance(part, int) for part in qd.__version__)


TENSORS = {
    "field": (lambda: qd.field(qd.f32, (2, 3)), "tensor_to_ext_arr", (), "ext_arr_to_tensor", (2, 3)),
    "vector": (lambda: qd.Vector.field(3, qd.f32, 2), "matrix_to_ext_arr", (True,), "ext_arr_to_matrix", (2, 3)),
    "column": (lambda: qd.Vector.field(3, qd.f32, 2), "matrix_to_ext_arr", (False,), "ext_arr_to_matrix", (2, 3, 1)),
    "matrix": (lambda: qd.Matrix.field(2, 3, qd.f32, 4), "matrix_to_ext_arr", (False,), "ext_arr_to_matrix", (4, 2, 3)),
    "ndarray": (lambda: qd.ndarray(qd.f32, (2, 3)), "ndarray_to_ext_arr", (), "ext_arr_to_ndarray", (2, 3)),
    "vectors": (lambda: qd.Vector.ndarray(3, qd.f32, 2), "ndarray_matrix_to_ext_arr", (True, True), "ext_arr_to_ndarray_matrix", (2, 3)),
    "in front": (lambda: qd.Matrix.ndarray(2, 3, qd.f32, 4), "ndarray_matrix_to_ext_arr", (False, False), "ext_arr_to_ndarray_matrix",
                 (2, 3, 4)),
    "last": (lambda: qd.Matrix.ndarray(2, 3, qd.f32, 4), "ndarray_matrix_to_ext_arr", (True, False), "ext_arr_to_ndarray_matrix",
             (4, 2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("make, out, flags, back, shape", TENSORS.values(), ids=TENSORS)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_copies(arch, library, make, out, flags, back, shape):
    """Both ways through an array of the client: the second tensor is the first."""
    tensor, twin = make(), make()
    values = np.arange(tensor.to_numpy().size, dtype=np.float32).reshape(tensor.to_numpy().shape)
    tensor.from_numpy(values)
    array = np.zeros(shape, np.float32) if library == "numpy" else pytest.importorskip("torch").zeros(*shape)
    getattr(qd._kernels, out)(tensor, array, *flags)
    expected = np.moveaxis(values, (1, 2), (0, 1)) if shape == (2, 3, 4) else values.reshape(shape)
    assert (np.asarray(array) == expected).all()
    getattr(qd._kernels, back)(array, twin, *flags)
    assert (twin.to_numpy() == values).all()


@pytest.mark.parametrize("make", [lambda: qd.field(qd.f32, 3), lambda: qd.Vector.field(2, qd.f32, 3),
                                  lambda: qd.ndarray(qd.f32, 3), lambda: qd.Matrix.ndarray(2, 2, qd.f32, 3)])  # fmt: skip
def test_caches_are_hung_on_tensors(arch, make):
    tensor = make()
    for name in ("_tc", "_T_tc", "_np", "_T_np"):
        setattr(tensor, name, tensor.to_numpy(copy=None))
        assert getattr(tensor, name) is not None


CLASSES = ["Field", "Ndarray", "ScalarField", "MatrixField", "ScalarNdarray", "VectorNdarray", "MatrixNdarray"]


def test_classes_are_asked(arch):
    made = [qd.field(qd.f32, 3), qd.ndarray(qd.f32, 3), qd.Vector.field(2, qd.f32, 3), qd.Matrix.field(2, 2, qd.f32, 3),
            qd.Vector.ndarray(2, qd.f32, 3), qd.Matrix.ndarray(2, 2, qd.f32, 3)]  # fmt: skip
    seen = [[name for name in CLASSES if isinstance(one, getattr(qd, name))] for one in made]
    assert seen == [["Field", "ScalarField"], ["Ndarray", "ScalarNdarray"], ["Field", "MatrixField"], ["Field", "MatrixField"],
                    ["Ndarray", "VectorNdarray"], ["Ndarray", "MatrixNdarray"]]  # fmt: skip


def test_options_of_the_client(arch_name):
    """Its `qd.init`, word for word."""
    qd.init(arch=arch_name, enable_fallback=False, debug=False, check_out_of_bound=False, force_scalarize_matrix=True,
            advanced_optimization=True, cfg_optimization=False, fast_math=True, default_ip=qd.i32, default_fp=qd.f32,
            unrolling_limit=100, log_level="warn", cpu_max_num_threads=1, num_compile_threads=1, random_seed=0,
            offline_cache=False)  # fmt: skip
    qd.sync()
    qd.reset()

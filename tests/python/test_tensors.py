"""qd.tensor: one face for ndarrays and fields, with layouts, in kernels and on the host."""

import copy
import pickle

import numpy as np
import pytest
from program_text import load

import quadrants as qd
from quadrants.lang.exception import QuadrantsRuntimeTypeError

BACKENDS = [qd.Backend.NDARRAY, qd.Backend.FIELD]
LAYOUTS = [None, (0, 1), (1, 0)]
both = pytest.mark.parametrize("backend", BACKENDS)
layouts = pytest.mark.parametrize("layout", LAYOUTS)


def filled(backend, layout=None, shape=(2, 3), dtype=None, **options):
    t = qd.tensor(dtype or qd.i32, shape, backend=backend, layout=layout, **options)
    for index in np.ndindex(shape):
        t[index] = int("".join(map(str, index)))
    return t


@both
@layouts
def test_host(arch, backend, layout):
    t = filled(backend, layout)
    assert t.shape == (2, 3) and t.dtype is qd.i32 and t.layout == layout and t[1, 2] == 12
    assert t.to_numpy().tolist() == [[0, 1, 2], [10, 11, 12]] and not t.has_grad() and not t.has_dual()
    assert isinstance(t._unwrap(), (qd.ScalarNdarray, qd.ScalarField)[backend == qd.Backend.FIELD])
    t.from_numpy(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert t[1, 0] == 3 and t[0, 2] == 2
    t.fill(7)
    assert (t.to_numpy() == 7).all() and t.grad is None
    assert f"backend={backend.name}" in repr(t) and ("layout=" in repr(t)) == (layout is not None)


@both
def test_storage_order(arch, backend):
    t = filled(backend, (1, 0))
    if backend is qd.Backend.NDARRAY:
        memory = bytearray(t._unwrap().buffer.size)
        t._unwrap().buffer.copy_out(0, memory)
        assert np.frombuffer(memory, np.int32).tolist() == [0, 10, 1, 11, 2, 12]
    strides = t._unwrap()._elements.strides
    assert strides == (1, 2)


KERNELS = """
@qd.func
def scaled(x: qd.Tensor, i, j):
    return x[i, j] * 2
@qd.kernel
def read(x: qd.Tensor) -> qd.i32:
    return x[1, 2] * 1000 + scaled(x, 0, 1) * 100 + x.shape[0] * 10 + x.shape[1]
@qd.kernel
def write(x: qd.Tensor):
    for i, j in x:
        x[i, j] = i * 10 + j
@qd.kernel
def write_array(x: qd.types.ndarray(qd.i32, 2)):
    for i, j in x:
        x[i, j] = i * 10 + j
@qd.kernel
def write_field(x: qd.template()):
    for I in qd.grouped(x):
        x[I] = I[0] * 10 + I[1]
@qd.kernel
def optional(x: qd.Tensor, n: qd.i32) -> qd.i32:
    r = n
    if qd.static(x is not None):
        r += x[0, 1]
    return r
"""


@both
@layouts
def test_kernels(arch, backend, layout):
    space = load(KERNELS)
    t = filled(backend, layout)
    assert space["read"](t) == 12223
    for name in ("write", "write_array" if backend is qd.Backend.NDARRAY else "write_field"):
        t.fill(0)
        space[name](t)
        assert t.to_numpy().tolist() == [[0, 1, 2], [10, 11, 12]]


def test_one_kernel_takes_them_all(arch):
    space = load(KERNELS)
    tensors = [filled(backend, layout) for backend in BACKENDS for layout in LAYOUTS]
    tensors += [t._unwrap() for t in tensors] + [np.array([[0, 1, 2], [10, 11, 12]], np.int32)]
    for _ in range(2):
        for t in tensors:
            assert space["read"](t) == 12223
    assert space["optional"](None, 4) == 4 and space["optional"](tensors[2], 4) == 5 and space["optional"](None, 5) == 5
    with pytest.raises(QuadrantsRuntimeTypeError, match="argument x"):
        space["read"](3)


@layouts
def test_captured(arch, layout):
    space = load(
        "@qd.kernel\ndef k() -> qd.i32:\n    return T[1, 2] * 10 + T.shape[1]\n", T=filled(BACKENDS[0], layout)
    )
    assert space["k"]() == 123


def test_layout_of_three_axes(arch):
    space = load("@qd.kernel\ndef k(x: qd.Tensor):\n    for i, j, l in x:\n        x[i, j, l] = i * 100 + j * 10 + l\n")
    for backend in BACKENDS:
        for layout in ((2, 0, 1), (1, 2, 0), (0, 2, 1)):
            t = qd.tensor(qd.i32, (2, 3, 4), backend=backend, layout=layout)
            space["k"](t)
            assert t.to_numpy()[1, 2, 3] == 123 and np.array_equal(
                t.to_numpy(), filled(backend, None, (2, 3, 4)).to_numpy()
            )


@both
@layouts
def test_grad(arch, backend, layout):
    t = qd.tensor(qd.f32, (2, 3), backend=backend, layout=layout, needs_grad=True)
    assert t.has_grad() and t.grad is t.grad and type(t.grad) is qd.Tensor and t.grad.layout == layout
    t.grad[1, 2] = 4
    space = load("@qd.kernel\ndef k(x: qd.Tensor):\n    for i, j in x:\n        x[i, j] = x.grad[i, j]\n")
    space["k"](t)
    assert t[1, 2] == 4 and t[0, 0] == 0


@both
def test_vectors_and_matrices(arch, backend):
    v = qd.Vector.tensor(3, qd.f32, (2,), backend=backend)
    m = qd.Matrix.tensor(2, 2, qd.f32, (2,), backend=backend)
    assert type(v) is qd.VectorTensor and type(m) is qd.MatrixTensor and isinstance(v, qd.Tensor)
    assert v.element_shape == (3,) and m.element_shape == (2, 2)
    space = load(
        "@qd.kernel\ndef k(x: qd.Tensor, y: qd.Tensor):\n    for i in x:\n        x[i] = qd.Vector([1.0, 2.0, 3.0]) * i\n        y[i][0, 1] = i\n"
    )
    space["k"](v, m)
    assert v[1].to_list() == [1, 2, 3] and m[1][0, 1] == 1
    assert type(qd.tensor(qd.types.vector(2, qd.f32), (2,), backend=backend)) is qd.VectorTensor


@both
@layouts
def test_pickle_and_copies(arch, backend, layout):
    t = filled(backend, layout)
    back = pickle.loads(pickle.dumps(t))
    assert (
        back.layout == layout
        and np.array_equal(back.to_numpy(), t.to_numpy())
        and type(back._unwrap()) is type(t._unwrap())
    )
    other = qd.tensor(qd.i32, (2, 3), backend=backend)
    other.copy_from(t)
    assert np.array_equal(other.to_numpy(), t.to_numpy())
    assert np.array_equal(copy.deepcopy(t).to_numpy(), t.to_numpy())


def test_in_a_dataclass(arch):
    space = load(
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass S:\n    x: qd.Tensor\n    y: qd.Tensor\n"
        "@qd.func\ndef f(s: S, i, j):\n    return s.x[i, j]\n"
        "@qd.kernel\ndef k(s: S) -> qd.i32:\n    r = f(s, 1, 2)\n    if qd.static(s.y is not None):\n        r += 100\n    return r\n"
    )
    for b in BACKENDS:
        for layout in LAYOUTS:
            t = filled(b, layout)
            assert space["k"](space["S"](t, None)) == 12 and space["k"](space["S"](t, t)) == 112


@pytest.mark.parametrize("make, kind, text", [
    ("qd.tensor(qd.f32, (2, 3), order='ij')", TypeError, "does not accept order="),
    ("qd.tensor(qd.f32, (2, 3), foo=1)", TypeError, r"unexpected keyword argument\(s\) \['foo'\]"),
    ("qd.tensor(qd.f32, (2, 3), layout=(0, 0))", ValueError, "not a permutation of range"),
    ("qd.tensor(qd.f32, (2, 3), layout=(0,))", ValueError, "they must match"),
    ("qd.tensor(qd.types.vector(2, qd.f32), (2, 3), layout=(1, 0))", TypeError, "compound dtypes"),
    ("qd.Tensor(qd.tensor(qd.f32, 2))", TypeError, "requires an Ndarray or Field; got Tensor"),
    ("qd.wrap(3)", TypeError, "requires an Ndarray or Field; got int"),
    ("qd.tensor(qd.f32, 2).copy_from(qd.tensor(qd.f32, 2, backend=qd.Backend.FIELD))", TypeError, "NDARRAY.*FIELD"),
])  # fmt: skip
def test_errors(arch, make, kind, text):
    with pytest.raises(kind, match=text):
        eval(make)


def test_wrap(arch):
    a = qd.Vector.ndarray(2, qd.f32, 3)
    assert type(qd.wrap(a)) is qd.VectorTensor and qd.wrap(a)._unwrap() is a
    assert type(qd.wrap(qd.field(qd.f32, 2))) is qd.Tensor and qd._wrap is qd.wrap and qd._Tensor is qd.Tensor


@both
def test_loops_run_along_memory(arch, backend):
    """The innermost axis of a parallel loop over a tensor is the one whose elements are neighbours."""
    from quadrants.lang import impl
    from quadrants.lang.frontend import driver

    t = qd.tensor(qd.i32, (3, 5), backend=backend, layout=(1, 0))
    k = load("@qd.kernel\ndef k(x: qd.Tensor):\n    for i, j in x:\n        x[i, j] = i * 10 + j\n")["k"]
    text = driver.walk(k._primal, [t], impl.get_runtime()).builder.text()
    k(t)
    assert t[2, 4] == 24 and t[0, 1] == 1
    outer, inner = (
        ("const.i32 5", "const.i32 3") if backend is qd.Backend.FIELD else ("shape.i32 $x, 0", "shape.i32 $x, 1")
    )
    assert text.index(outer) < text.index(inner) < text.index("parallel"), text


@both
def test_serial_loops_keep_the_order_of_indices(arch, backend):
    t = qd.tensor(qd.i32, (2, 3), backend=backend, layout=(1, 0))
    k = load(
        "@qd.kernel\ndef k(x: qd.Tensor):\n    c = 0\n    qd.loop_config(serialize=True)\n"
        "    for i, j in x:\n        x[i, j] = c\n        c += 1\n"
    )["k"]
    k(t)
    assert t.to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]]

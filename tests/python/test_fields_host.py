"""Fields from the host: exact reads and writes, views, conversions, trees, and every refusal."""

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.usefixtures("arch")
INTS = [qd.i8, qd.i16, qd.i32, qd.i64, qd.u8, qd.u16, qd.u32, qd.u64]
FLOATS = [qd.f16, qd.f32, qd.f64]
ALL = [*INTS, *FLOATS, qd.u1]


def numpy_type(dtype):
    return qd.lang.util.to_numpy_type(dtype)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integers_are_exact(dtype):
    f = qd.field(dtype, shape=(2, 3))
    info = np.iinfo(numpy_type(dtype))
    f[0, 1], f[1, 2] = int(info.min), int(info.max)
    assert (f[0, 1], f[1, 2], f[0, 0]) == (info.min, info.max, 0)
    assert type(f[1, 2]) is int
    f[0, 0] = int(info.max) + 1  # wraps, as a cast in a kernel does
    assert f[0, 0] == info.min


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_reals_keep_their_precision(dtype):
    f = qd.field(dtype, shape=4)
    f[1], f[2], f[3] = 1 / 3, float("inf"), float("nan")
    assert f[1] == float(numpy_type(dtype)(1 / 3)) and f[2] == np.inf and np.isnan(f[3])
    assert type(f[1]) is float


def test_u1_is_nonzero():
    f = qd.field(qd.u1, shape=3)
    f[0], f[1] = True, 256
    assert [f[k] for k in range(3)] == [1, 1, 0]
    assert f.to_numpy().dtype == np.bool_


def test_zero_dimensional():
    z = qd.field(qd.i32, shape=())
    z[None] = 5
    z[()] += 1
    assert z[None] == 6 and z.shape == () and z.to_numpy() == 6
    with pytest.raises(AssertionError, match="Slicing is not supported on qd.field"):
        z[0]


def test_refused_indices_and_values():
    f = qd.field(qd.i32, shape=(3, 4))
    for key in (1, (1, 2, 3), None):
        with pytest.raises(AssertionError, match="Slicing is not supported on qd.field"):
            f[key]
    for key in ((1.0, 2), (slice(0, 1), 2)):
        with pytest.raises(TypeError, match="Detected illegal element of type"):
            f[key]
    for key in ((3, 0), (-1, 0)):
        with pytest.raises(AssertionError, match=r"size \(3, 4\) with indices"):
            f[key]
        with pytest.raises(AssertionError, match=r"size \(3, 4\) with indices"):
            f[key] = 1
    with pytest.raises(TypeError, match="expected an integer for an element of i32, got float"):
        f[0, 0] = 3.7
    with pytest.raises(TypeError, match="expected a number"):
        qd.field(qd.f32, shape=1)[0] = "x"
    with pytest.raises(NotImplementedError, match="only available in Quadrants scope"):
        list(f)


def test_numpy_indices_and_values():
    f = qd.field(qd.f32, shape=(3, 4))
    f[np.int64(1), np.uint8(2)] = np.float64(2.5)
    assert f[1, 2] == 2.5
    f[[1, 3]] = np.array(4)
    assert f[1, 3] == 4.0


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 2), (2, 1, 3, 2)], ids=str)
def test_numpy_round_trip(dtype, shape):
    f = qd.field(dtype, shape=shape)
    array = np.array(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7, numpy_type(dtype))
    f.from_numpy(array)
    back = f.to_numpy()
    assert back.dtype == array.dtype and back.shape == shape and (back == array).all()


def test_from_numpy_casts_and_takes_any_order():
    f = qd.field(qd.f32, shape=(3, 4))
    f.from_numpy(np.arange(12).reshape(4, 3).T)
    assert f[1, 2] == 7.0
    g = qd.field(qd.u8, shape=3)
    g.from_numpy(np.array([255, 256, -1]))
    assert g.to_numpy().tolist() == [255, 0, 255]
    with pytest.raises(ValueError, match=r"qd.field shape \(3, 4\) does not match the numpy array shape \(3, 5\)"):
        f.from_numpy(np.zeros((3, 5)))
    with pytest.raises(TypeError, match="expected, but .*list"):
        f.from_numpy([[1]])


def test_copies_and_views():
    f = qd.field(qd.f32, shape=(2, 3))
    copied, view = f.to_numpy(), f.to_numpy(copy=None)
    f[1, 2] = 3.0
    assert copied[1, 2] == 0.0
    if view.base is not None:  # memory is mapped for the host
        assert view[1, 2] == 3.0
        f.to_numpy(copy=False)[0, 0] = 9.0
        assert f[0, 0] == 9.0
    assert f.to_numpy(np.float64).dtype == f.to_numpy(qd.f64).dtype == np.float64
    with pytest.raises(ValueError, match="copy=False is incompatible with dtype conversion"):
        f.to_numpy(np.float64, copy=False)
    with pytest.raises(ValueError, match="Zero-copy not available"):
        qd.field(qd.f32, shape=()).to_numpy(copy=False)


def test_dlpack_shares_memory():
    class Exported:
        def __init__(self, capsule):
            self.capsule = capsule

        def __dlpack__(self, **kwargs):
            return self.capsule

        def __dlpack_device__(self):
            return (1, 0)

    f = qd.field(qd.i64, shape=(2, 3))
    if f.__dlpack_device__() != (1, 0):
        pytest.skip("memory of a device: tests/cuda, tests/device")
    array = np.from_dlpack(Exported(f.to_dlpack()))
    f[1, 1] = 2**53 + 1
    assert array[1, 1] == 2**53 + 1


def test_fill():
    f = qd.field(qd.i16, shape=(3, 3))
    f.fill(-2)
    assert (f.to_numpy() == -2).all()
    f.fill(3.9)
    assert (f.to_numpy() == 3).all()
    g = qd.field(qd.f64, shape=5)
    g.fill(1 / 3)
    assert (g.to_numpy() == 1 / 3).all()


def test_copy_from():
    f, g = qd.field(qd.f64, shape=(2, 2)), qd.field(qd.i32, shape=(2, 2))
    f.from_numpy(np.array([[1.5, -2.5], [3, 4]]))
    g.copy_from(f)
    assert g.to_numpy().tolist() == [[1, -2], [3, 4]]
    with pytest.raises(TypeError, match="Cannot copy from a non-field object"):
        f.copy_from(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="does not match the source field shape"):
        f.copy_from(qd.field(qd.f64, shape=(2, 3)))


# ---------------------------------------------------------------------------------------------- vectors and matrices
@pytest.mark.parametrize("layout", [qd.Layout.AOS, qd.Layout.SOA], ids=str)
def test_matrix_field(layout):
    m = qd.Matrix.field(2, 3, qd.f64, shape=(2, 2), layout=layout)
    assert (m.n, m.m, m.ndim, m.shape, m.layout) == (2, 3, 2, (2, 2), layout)
    m[0, 1] = [[1, 2, 3], [4, 5, 6]]
    m[0, 1][1, 2] = 1 / 3
    assert m[0, 1].to_list() == [[1, 2, 3], [4, 5, 1 / 3]]
    array = np.arange(24.0).reshape(2, 2, 2, 3)
    m.from_numpy(array)
    assert (m.to_numpy() == array).all() and m[1, 0][0, 2] == array[1, 0, 0, 2]
    part = m.get_scalar_field(1, 2)
    assert (part.to_numpy() == array[..., 1, 2]).all()
    part[0, 0] = 99.0
    part.fill(5.0)
    assert m[0, 0][1, 2] == 5.0 and m[0, 0][1, 1] == array[0, 0, 1, 1]


@pytest.mark.parametrize("layout", [qd.Layout.AOS, qd.Layout.SOA], ids=str)
def test_elements_of_a_vector_field_are_live(layout):
    v = qd.Vector.field(3, qd.f32, shape=4, layout=layout)
    v[1] = [1, 2, 3]
    v[1].x, v[1][2] = 7, 9
    v[1].xy = v[1].yx
    element = v[1]
    v[1].y = 8
    assert v[1].to_list() == [2, 8, 9] and element.y == 8
    v[2] = qd.Vector([4, 5, 6])
    v[3] = 2
    assert v.to_numpy().tolist() == [[0, 0, 0], [2, 8, 9], [4, 5, 6], [2, 2, 2]]
    with pytest.raises(ValueError, match="cannot assign"):
        v[0] = [1, 2]
    with pytest.raises(qd.QuadrantsSyntaxError, match=r"vec3 only has attributes=\('x', 'y', 'z'\), got=\('w',\)"):
        v[0].w  # noqa: B018


def test_shapes_of_exported_vectors():
    v = qd.Vector.field(3, qd.f32, shape=5)
    assert v.to_numpy().shape == (5, 3) and v.to_numpy(keep_dims=True).shape == (5, 3, 1)
    column = qd.Matrix.field(3, 1, qd.f32, shape=2)
    assert column.to_numpy().shape == (2, 3) and column.to_numpy(keep_dims=True).shape == (2, 3, 1)
    column.from_numpy(np.ones((2, 3), np.float32))
    column.from_numpy(np.ones((2, 3, 1), np.float32))
    v.from_numpy(np.ones((5, 3, 1), np.float32))
    with pytest.raises(ValueError, match="does not match"):
        v.from_numpy(np.ones((5, 2), np.float32))


def test_fill_of_vectors():
    v = qd.Vector.field(2, qd.i32, shape=3)
    v.fill([1, 2])
    assert v.to_numpy().tolist() == [[1, 2]] * 3
    v.fill(7)
    assert v.to_numpy().tolist() == [[7, 7]] * 3
    with pytest.raises(AssertionError, match=r"expected entries of shape \(2,\), got \(3,\)"):
        v.fill([1, 2, 3])


def test_fields_of_compound_types():
    v = qd.field(qd.types.vector(3, qd.f32), shape=2)
    w = qd.types.matrix(2, 2, qd.i8).field(shape=2)
    assert isinstance(v, qd.MatrixField) and v.n == 3 and (w.n, w.m, w.dtype) == (2, 2, qd.i8)


# ------------------------------------------------------------------------------------------------- making and trees
@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: qd.field(qd.f32, -1), qd.QuadrantsRuntimeError, "should be positive, got -1"),
        (lambda: qd.field(qd.f32, (2, 0)), qd.QuadrantsRuntimeError, "should be positive, got 0 in dimension 1"),
        (lambda: qd.field(qd.f32, 2.5), TypeError, "integer"),
        (lambda: qd.field("f32", 3), ValueError, "Invalid data type f32"),
        (lambda: qd.field(qd.f32, (2, 3), order="ijk"), qd.QuadrantsSyntaxError, "shape and order must be the same"),
        (lambda: qd.field(qd.f32, (2, 3), order="ii"), qd.QuadrantsSyntaxError, "axes in order must be different"),
        (lambda: qd.field(qd.f32, (2, 3), order="ik"), qd.QuadrantsSyntaxError, "Invalid axis in order"),
        (lambda: qd.field(qd.f32, (2, 3), offset=1), qd.QuadrantsSyntaxError, "shape and offset must be the same"),
        (lambda: qd.field(qd.f32, offset=1), qd.QuadrantsSyntaxError, "shape cannot be None when offset is set"),
        (lambda: qd.field(qd.f32, order="ij"), qd.QuadrantsSyntaxError, "shape cannot be None when order is set"),
        (lambda: qd.field(qd.i32, 3, needs_grad=True), qd.QuadrantsRuntimeError, "i32 is not supported for field with"),
        (lambda: qd.Matrix.field(1, 2, [[qd.f32, qd.i32]], 2), qd.QuadrantsRuntimeError, "same compute type"),
        (lambda: qd.root.pointer(qd.i, 4), qd.QuadrantsRuntimeError, "Pointer SNode is not supported on this backend."),
        (lambda: qd.root.bitmasked(qd.i, 4), qd.QuadrantsRuntimeError, "Bitmasked SNode is not supported"),
        (lambda: qd.root.dynamic(qd.i, 4), qd.QuadrantsRuntimeError, "Dynamic SNode is not supported"),
    ],
)
def test_refusals(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_order_changes_storage_and_nothing_else():
    f = qd.field(qd.i32, shape=(2, 3), order="ji")
    array = np.arange(6).reshape(2, 3)
    f.from_numpy(array)
    assert (f.to_numpy() == array).all() and f[1, 2] == 5 and f.shape == (2, 3)
    assert f.strides == (1, 2)


def test_offset():
    f = qd.field(qd.i32, shape=(2, 3), offset=(-1, 10))
    f[-1, 10], f[0, 12] = 1, 2
    assert f.to_numpy().tolist() == [[1, 0, 0], [0, 0, 2]]
    with pytest.raises(AssertionError, match="offset"):
        f[1, 10]


def test_gradients_have_storage():
    f = qd.Vector.field(2, qd.f32, shape=3, needs_grad=True)
    f.grad[1] = [1, 2]
    assert f.has_grad() and f.grad.shape == (3,) and f[1].to_list() == [0, 0] and f.grad[1].to_list() == [1, 2]
    assert not qd.field(qd.f32, 3).has_grad() and qd.field(qd.f32, 3).grad is None


def test_trees():
    f, g, h = qd.field(qd.f32), qd.field(qd.i32), qd.Vector.field(2, qd.f64)
    block = qd.root.dense(qd.ij, (2, 3)).dense(qd.k, 4)
    block.place(f, g)
    qd.root.dense(qd.j, 3).dense(qd.i, 5).place(h)
    assert f.shape == g.shape == block.shape == (2, 3, 4) and h.shape == (5, 3)
    f[1, 2, 3], g[1, 2, 3] = 1.5, 7
    h[4, 1] = [1, 2]
    assert (f[1, 2, 3], g[1, 2, 3], h[4, 1].to_list()) == (1.5, 7, [1, 2])
    assert f.parent() is block and f.parent(2).parent() is qd.root and repr(f.parent(3)) == "qd.root"
    with pytest.raises(RuntimeError, match="placed already"):
        block.place(f)


def test_one_axis_in_several_levels():
    f = qd.field(qd.i32)
    qd.root.dense(qd.ij, (2, 2)).dense(qd.ij, 4).place(f)
    assert f.shape == (8, 8)
    f.from_numpy(np.arange(64).reshape(8, 8))
    assert f[7, 5] == 61


def test_lazy_grad():
    f, g = qd.field(qd.f32), qd.field(qd.i32)
    qd.root.dense(qd.i, 3).place(f, g)
    qd.root.lazy_grad()
    f.grad[2] = 4.0
    assert f.grad.shape == (3,) and g.grad is None


def test_unplaced_fields_are_named():
    f = qd.field(qd.f32)
    with pytest.raises(qd.QuadrantsRuntimeError, match="has no shape: it has not been placed"):
        f.shape  # noqa: B018
    with pytest.raises(RuntimeError, match=r"(?s)not placed.*test_fields_host.py:\d+"):
        qd.lang.impl.materialize()
    qd.root.dense(qd.i, 4).place(f)
    qd.lang.impl.materialize()


def test_fields_builder():
    builder = qd.FieldsBuilder()
    f = qd.field(qd.f32)
    builder.dense(qd.i, 5).place(f)
    tree = builder.finalize()
    f[3] = 1.0
    assert f[3] == 1.0
    with pytest.raises(qd.QuadrantsRuntimeError, match="FieldsBuilder finalized"):
        builder.dense(qd.i, 5)
    tree.destroy()
    with pytest.raises(qd.QuadrantsRuntimeError, match="its SNode tree was destroyed"):
        f[3]
    with pytest.raises(qd.QuadrantsRuntimeError, match="destroyed"):
        tree.destroy()


def test_fields_take_attributes():
    f = qd.field(qd.f32, 3)
    f._tc = "anything"
    assert f._tc == "anything"


def test_a_component_shares_the_memory_of_its_field_in_kernels():
    v = qd.Vector.field(2, qd.i32, shape=64)
    y = v.get_scalar_field(1)

    @qd.kernel
    def run():
        for i in v:
            v[i] = [i, 2 * i]
            y[i] += v[i].x + 100
            v[i].y += y[i]

    run()
    assert v.to_numpy().tolist() == [[i, 2 * (3 * i + 100)] for i in range(64)]


def test_offset_and_order_in_kernels():
    f = qd.field(qd.i32, shape=(3, 4), offset=(-1, 5), order="ji")

    @qd.kernel
    def run():
        for i, j in f:
            f[i, j] = 100 * i + j

    run()
    assert f.to_numpy().tolist() == [[100 * i + j for j in range(5, 9)] for i in range(-1, 2)]


def test_placing_after_a_kernel_ran():
    f, g = qd.field(qd.i32, shape=3), qd.field(qd.i32)

    @qd.kernel
    def run(x: qd.template()):
        for i in x:
            x[i] = i + 1

    with pytest.raises(RuntimeError, match="not placed"):
        run(f)
    qd.root.dense(qd.i, 3).place(g)
    run(f)
    h = qd.field(qd.i32)
    qd.root.dense(qd.i, 4).place(h)
    run(g)
    run(h)
    assert f.to_numpy().tolist() == g.to_numpy().tolist() == [1, 2, 3] and h.to_numpy().tolist() == [1, 2, 3, 4]

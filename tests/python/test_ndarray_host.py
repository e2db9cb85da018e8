"""Ndarrays from the host: exact reads and writes, views, conversions and refusals."""

import copy

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.usefixtures("arch")


@pytest.mark.parametrize("name", "i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 u1".split())
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 2)], ids=str)
def test_numpy_round_trip(name, shape):
    dtype = getattr(qd, name)
    a = qd.ndarray(dtype, shape=shape)
    array = np.array(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 5, qd.lang.util.to_numpy_type(dtype))
    assert not a.to_numpy().any() and a.dtype is dtype and a.shape == shape and a.element_shape == ()
    a.from_numpy(array)
    back = a.to_numpy()
    assert back.dtype == array.dtype and (back == array).all()


def test_elements_are_exact():
    a, b = qd.ndarray(qd.u64, 2), qd.ndarray(qd.f64, (2, 2))
    a[1] = 2**64 - 1
    b[1, 0] = 1 / 3
    assert a[1] == 2**64 - 1 and b[1, 0] == 1 / 3 and b[0, 1] == 0.0
    z = qd.ndarray(qd.i32, ())
    z[None] = 4
    assert z[()] == 4


def test_vectors_and_matrices_are_live():
    v = qd.Vector.ndarray(3, qd.i32, shape=(4,))
    m = qd.ndarray(qd.types.matrix(2, 2, qd.f32), shape=(2, 2))
    v[1] = [1, 2, 3]
    v[1].y += 10
    m[1, 0] = [[1, 2], [3, 4]]
    m[1, 0][0, 1] = 9
    assert v[1].to_list() == [1, 12, 3] and m[1, 0].to_list() == [[1, 9], [3, 4]]
    assert v.to_numpy().shape == (4, 3) and m.to_numpy().shape == (2, 2, 2, 2)
    assert (v.element_shape, m.element_shape) == ((3,), (2, 2))
    assert v.element_type == qd.types.vector(3, qd.i32) and v.dtype is qd.i32
    assert (v.layout, qd.ndarray(qd.f32, 2).layout) == (qd.Layout.AOS, None)


@pytest.mark.parametrize("shape", [(2, 0), -1, 2.5, (1 << 31,)], ids=str)
def test_refused_shapes(shape):
    with pytest.raises(qd.QuadrantsRuntimeError, match="is not a valid shape for ndarray"):
        qd.ndarray(qd.f32, shape)


def test_refused_types():
    with pytest.raises(qd.QuadrantsRuntimeError, match="x is not supported as ndarray element type"):
        qd.ndarray("x", 2)
    with pytest.raises(qd.QuadrantsRuntimeError, match="i32 is not supported for ndarray with `needs_grad=True`"):
        qd.ndarray(qd.i32, 2, needs_grad=True)


def test_refused_indices():
    a = qd.ndarray(qd.f32, (3, 4))
    with pytest.raises(IndexError, match="2d ndarray indexed with 1d indices"):
        a[1]
    for key in ((3, 0), (0, -1)):
        with pytest.raises(IndexError, match=r"ndarray of shape \(3, 4\) indexed with"):
            a[key]
    with pytest.raises(TypeError):
        a[0.5, 0]
    with pytest.raises(TypeError, match="requires a 1D array"):
        a[0:2]


def test_conversions():
    a = qd.ndarray(qd.f32, (2, 3))
    with pytest.raises(TypeError, match="expected, but .*list"):
        a.from_numpy([[1]])
    with pytest.raises(ValueError, match=r"Mismatch shape: \(2, 3\) expected, but \(3, 2\) provided"):
        a.from_numpy(np.zeros((3, 2), np.float32))
    a.from_numpy(np.arange(6).reshape(2, 3))
    assert a.to_numpy(qd.i32).tolist() == [[0, 1, 2], [3, 4, 5]]
    view = a.to_numpy(copy=None)
    a[0, 0] = 5.0
    if view.base is not None:
        assert view[0, 0] == 5.0


def test_fill_and_copy_from():
    a, b = qd.ndarray(qd.f32, (2, 2)), qd.ndarray(qd.i64, (2, 2))
    a.fill(2.5)
    b.copy_from(a)
    assert b.to_numpy().tolist() == [[2, 2], [2, 2]]
    v = qd.Vector.ndarray(2, qd.u8, 3)
    v.fill([1, 255])
    assert v.to_numpy().tolist() == [[1, 255]] * 3
    with pytest.raises(AssertionError, match=r"copy_from shape mismatch: destination \(2, 2\) vs source \(3, 2\)"):
        a.copy_from(v)
    with pytest.raises(AssertionError, match="copy_from takes an ndarray"):
        a.copy_from(qd.field(qd.f32, (2, 2)))
    with pytest.raises(AssertionError, match="expected entries of shape"):
        v.fill([1, 2, 3])


def test_gradients_have_storage():
    a = qd.Vector.ndarray(2, qd.f32, 3, needs_grad=True)
    a.grad[1] = [1, 2]
    assert a.has_grad() and a.grad.to_numpy().sum() == 3 and a.to_numpy().sum() == 0
    assert qd.ndarray(qd.f32, 3).grad is None


def test_deepcopy():
    a = qd.ndarray(qd.f32, 3)
    a[1] = 2.0
    b = copy.deepcopy(a)
    b[1] = 3.0
    assert (a[1], b[1]) == (2.0, 3.0)


def test_ndarrays_take_attributes():
    a = qd.ndarray(qd.f32, 3)
    a._np = "anything"
    assert a._np == "anything"


def test_memory_goes_with_the_array():
    import gc
    import weakref

    a = qd.ndarray(qd.f32, 3)
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None

"""What can be pickled: ndarrays by value, scalar types and archs as singletons."""

import copy
import pickle

import numpy as np
import pytest

import quadrants as qd


@pytest.mark.parametrize("name", "f16 f32 f64 i8 i16 i32 i64 u1 u8 u16 u32 u64".split())
def test_scalar_types_stay_singletons(name):
    dtype = getattr(qd, name)
    assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype


def test_archs_and_layouts():
    assert pickle.loads(pickle.dumps(qd.cuda)) is qd.cuda and pickle.loads(pickle.dumps(qd.Layout.SOA)) is qd.Layout.SOA


@pytest.mark.parametrize("make", [lambda: qd.ndarray(qd.u64, (2, 3)), lambda: qd.Vector.ndarray(3, qd.f64, 4)])
def test_ndarrays(arch, make):
    a = make()
    a.from_numpy((np.arange(a.to_numpy().size).reshape(a.to_numpy().shape) * 3 + 2**40).astype(a.to_numpy().dtype))
    data = pickle.dumps(a)
    b = pickle.loads(data)
    assert type(b) is type(a) and b.dtype is a.dtype and b.shape == a.shape and b.element_shape == a.element_shape
    assert (b.to_numpy() == a.to_numpy()).all()
    b.fill(0)
    assert a.to_numpy().any()


def test_gradients_are_dropped(arch):
    a = qd.ndarray(qd.f32, 3, needs_grad=True)
    assert pickle.loads(pickle.dumps(a)).grad is None


def test_loading_needs_a_runtime(arch):
    data = pickle.dumps(qd.ndarray(qd.f32, 3))
    qd.reset()
    with pytest.raises(qd.QuadrantsRuntimeError, match="qd.init"):
        pickle.loads(data)


def test_other_format_versions_are_refused(arch):
    from quadrants.lang.ndarray import _rebuild

    with pytest.raises(qd.QuadrantsRuntimeError, match="pickle format 99: this version reads 1"):
        _rebuild(99, "f32", (1,), (), np.zeros(1, np.float32))


@qd.kernel
def twice(x: qd.i32) -> qd.i32:
    return half(x) * 4


@qd.func
def half(x):
    return x // 2


def test_kernels_and_functions_go_by_name(arch):
    for thing in (twice, half):
        assert pickle.loads(pickle.dumps(thing)) is thing
        assert copy.copy(thing) is thing and copy.deepcopy([thing])[0] is thing
    assert pickle.loads(pickle.dumps(twice))(6) == 12

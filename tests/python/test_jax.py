"""JAX on the CPU through DLPack, both ways: its arrays are immutable, so kernels read them."""

import os

import numpy as np
import pytest
from array_kernels import add, total

import quadrants as qd

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax")


@qd.kernel
def double(a: qd.types.ndarray(), out: qd.types.ndarray()):
    for at in qd.grouped(a):
        out[at] = a[at] * 2


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float16", "int8", "bool"])
def test_arguments(arch, dtype):
    a = jax.numpy.ones((3, 4), dtype)
    assert total(a) == 12.0
    out = np.zeros((3, 4), dtype)
    if dtype != "bool":
        double(a, out)
        assert (out == 2).all()


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3, 4)], ids=str)
def test_shapes(arch, shape):
    a = jax.numpy.ones(shape)
    assert total(a) == a.size


def test_arrays_of_jax_are_not_written(arch):
    a = jax.numpy.ones(4)
    with pytest.raises(ValueError, match="writes to a read-only array"):
        add(a, 1.0)
    assert a.sum() == 4.0


@pytest.mark.parametrize(
    "make", [lambda: qd.ndarray(qd.f32, (2, 3)), lambda: qd.field(qd.f32, (2, 3))], ids=["ndarray", "field"]
)
def test_memory_of_ours(arch, make):
    ours = make()
    if ours.__dlpack_device__() != (1, 0):
        pytest.skip("JAX runs on the CPU here")
    ours.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    seen = jax.numpy.from_dlpack(ours)
    assert seen.shape == (2, 3) and float(seen.sum()) == 15.0
    assert total(seen * 2) == 30.0


def test_results_go_back(arch):
    ours = qd.ndarray(qd.f32, 3)
    ours.from_numpy(np.asarray(jax.numpy.arange(3.0) ** 2))
    assert ours.to_numpy().tolist() == [0.0, 1.0, 4.0]

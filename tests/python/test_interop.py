"""Arrays of other libraries as arguments, and memory of ours for other libraries: DLPack, `__array_interface__`, strides,
byte order, zero-size, 0-D and read-only arrays."""

import pickle
import sys
import types

import numpy as np
import pytest
from array_kernels import total

import quadrants as qd


@qd.kernel
def add(a: qd.types.ndarray(), n: qd.f32) -> qd.i32:
    for at in qd.grouped(a):
        a[at] += n
    return 7


class Exporter:
    """DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.array.__dlpack__(max_version=max_version)


class OldExporter(Exporter):
    """DLPack before 1.0: no version, so nothing about read-only memory."""

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__()


class ElsewhereExporter(Exporter):
    def __dlpack_device__(self):
        return (10, 0)


class Interface:
    """`__array_interface__` and nothing else."""

    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


def host_memory(ours):
    """Skips the rest where memory is a device's."""
    if ours.__dlpack_device__() != (1, 0):
        pytest.skip("memory of a device: tests/cuda, tests/device")
    return ours


def grid():
    return np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("wrap", [lambda a: a, Exporter, Interface], ids=["numpy", "dlpack", "array_interface"])
def test_memory_is_shared(arch, wrap):
    a = grid()
    for _ in range(3):
        assert add(wrap(a), 2.0) == 7
    assert (a == grid() + 6.0).all()
    assert total(wrap(a)) == a.sum()


@pytest.mark.parametrize("wrap", [lambda a: a, Exporter, Interface], ids=["numpy", "dlpack", "array_interface"])
def test_read_only_memory_is_read_and_not_written(arch, wrap):
    a = grid()
    a.flags.writeable = False
    assert total(wrap(a)) == 15.0
    with pytest.raises(ValueError, match='writes to a read-only array: argument "a" of kernel "add"'):
        add(wrap(a), 1.0)
    assert (a == grid()).all()


def test_unversioned_dlpack_is_read_only(arch):
    assert total(OldExporter(grid())) == 15.0
    with pytest.raises(ValueError, match="read-only"):
        add(OldExporter(grid()), 1.0)


def test_memory_of_another_device_is_refused(arch):
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match=r'argument "a" of kernel "total" lies on another device'):
        total(ElsewhereExporter(grid()))


@pytest.mark.parametrize("wrap", [lambda a: a, Exporter, Interface], ids=["numpy", "dlpack", "array_interface"])
@pytest.mark.parametrize("view", [lambda a: a[:, ::2], lambda a: a[::-1], lambda a: np.broadcast_to(a[0], (2, 6))])
def test_strides(arch, wrap, view):
    with pytest.raises(ValueError, match="Non contiguous numpy arrays are not supported"):
        total(wrap(view(np.tile(grid(), (1, 2)))))


def test_column_major_memory(arch):
    for wrap in (lambda a: a, Exporter, Interface):
        a = np.asfortranarray(grid())
        add(wrap(a), 2.0)
        assert (a == grid() + 2.0).all()


@pytest.mark.parametrize("dtype", [">f4", ">i8", np.complex64, object, [("x", "f4")], "S3", "M8[s]"], ids=str)
def test_element_types_that_kernels_lack(arch, dtype):
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="no element type of ours is"):
        total(np.zeros(3, dtype))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), ()])
def test_zero_size_and_0d(arch, shape):
    for wrap in (lambda a: a, Exporter, Interface):
        a = np.ones(shape, np.float32)
        add(wrap(a), 2.0)
        assert (a == 3.0).all() and total(wrap(a)) == a.sum()


@pytest.mark.parametrize(
    "value", [[1.0, 2.0], (1.0,), "text", None, 3.0, {}, object()], ids=lambda value: type(value).__name__
)
def test_what_is_no_array(arch, value):
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="Invalid type for argument a, got"):
        total(value)


def test_unaligned_memory(arch):
    raw = np.zeros(13, np.uint8)
    a = np.ndarray((3,), np.float32, raw.data, 1)
    with pytest.raises(ValueError, match="Misaligned"):
        total(a)


class FakeTensor:
    """The part of a PyTorch tensor that the package touches."""

    def __init__(self, array, device="cpu", contiguous=True):
        self.array, self.device, self.whole = array, types.SimpleNamespace(type=device), contiguous

    def is_contiguous(self):
        return self.whole

    def detach(self):
        return self

    def cpu(self):
        return FakeTensor(self.array.copy())

    def numpy(self):
        assert self.device.type == "cpu"
        return self.array

    def copy_(self, other):
        self.array[...] = other.array
        return self


def test_tensors_without_torch(arch, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=FakeTensor))
    shared, far = grid(), grid()
    add(FakeTensor(shared), 1.0)
    add(FakeTensor(far, "xpu"), 1.0)  # copied to the host and back
    assert (shared == grid() + 1.0).all() and (far == grid() + 1.0).all()
    with pytest.raises(ValueError, match=r"please call tensor\.contiguous\(\)"):
        add(FakeTensor(shared, contiguous=False), 1.0)


def test_torch(arch):
    torch = pytest.importorskip("torch")
    a = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    add(a, 2.0)
    assert (a.numpy() == grid() + 2.0).all()
    with pytest.raises(ValueError, match=r"please call tensor\.contiguous\(\)"):
        add(a.t(), 1.0)
    f = qd.ndarray(qd.f32, (2, 3))
    f.from_torch(a)
    assert torch.equal(torch.from_dlpack(f.to_dlpack()).cpu(), a)


def test_a_second_library(arch):
    xp = pytest.importorskip("array_api_strict")
    a = xp.asarray(grid())
    add(a, 2.0)
    assert (np.from_dlpack(a) == grid() + 2.0).all()
    n = qd.ndarray(qd.f32, (2, 3))
    n.from_numpy(grid())
    assert xp.all(xp.from_dlpack(host_memory(n)) == xp.asarray(grid()))


@pytest.mark.parametrize(
    "make", [lambda: qd.ndarray(qd.f32, (2, 3)), lambda: qd.field(qd.f32, (2, 3))], ids=["ndarray", "field"]
)
def test_memory_of_ours(arch, make):
    ours = make()
    ours.from_numpy(grid())
    view = np.from_dlpack(host_memory(ours))
    assert (view == grid()).all() and view.shape == (2, 3)
    ours[1, 2] = 50.0
    assert view[1, 2] == 50.0
    assert "versioned" not in repr(ours.to_dlpack()) and "versioned" in repr(ours.to_dlpack(versioned=True))
    assert ours.__dlpack_device__()[0] == 1
    assert np.from_dlpack(ours, copy=True).sum() == 60.0


@pytest.mark.parametrize("dtype", ["i32", "i64", "f32", "f64", "u8", "i16", "f16"])
def test_types_through_dlpack(arch, dtype):
    ours = qd.ndarray(getattr(qd, dtype), 3)
    ours.fill(5)
    view = np.from_dlpack(host_memory(ours))
    assert view.dtype == qd.lang.util.to_numpy_type(getattr(qd, dtype)) and view.tolist() == [5, 5, 5]


def test_vectors_through_dlpack(arch):
    ours = qd.Vector.ndarray(3, qd.f32, 2)
    ours.from_numpy(grid())
    assert (np.from_dlpack(host_memory(ours)) == grid()).all()


def test_pickle_after_kernels(arch):
    ours = qd.ndarray(qd.f32, (2, 3))
    ours.from_numpy(grid())
    add(ours, 2.0)
    twin = pickle.loads(pickle.dumps(ours))
    assert (twin.to_numpy() == grid() + 2.0).all() and twin.shape == (2, 3)
    add(twin, 1.0)
    assert (ours.to_numpy() == grid() + 2.0).all()


def test_an_axis_of_more_than_31_bits(arch):
    """The memory is never touched but at its end, so the array costs nothing."""
    a = np.zeros(2**31 + 100, np.int8)

    @qd.kernel
    def k(a: qd.types.NDArray[qd.i8, 1]) -> qd.i64:
        n = a.shape[0]
        for i in range(n - 5, n):
            a[i] += 1
        a[n - 1] += 7
        return n

    assert k(a) == len(a) and a[-6:].tolist() == [0, 1, 1, 1, 1, 8]
    assert k(np.zeros(8, np.int8)) == 8

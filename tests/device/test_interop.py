"""PyTorch, CuPy and Numba arrays on the GPU, both ways, without a copy and in order. Needs a GPU; what isn't installed is skipped."""

import numpy as np
import pytest
from array_kernels import add

import quadrants as qd

N = 1 << 22


@pytest.fixture(autouse=True)
def runtime(tmp_path):
    qd.init(arch=qd.cuda, enable_fallback=False, offline_cache_file_path=str(tmp_path), log_level="warn")
    yield
    qd.reset()


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    return torch


@qd.kernel
def slow(a: qd.types.ndarray(), times: qd.i32):
    for at in qd.grouped(a):
        v = a[at]
        for _ in range(times):
            v = v * 1.0000001 + 1e-9
        a[at] = v + 1.0


@qd.kernel
def rows(a: qd.types.NDArray[qd.math.vec3, 1]):
    for i in a:
        a[i] = a[i] * 2.0 + qd.math.vec3(i)


def test_tensors_are_arguments(torch):
    t = torch.zeros(4, 3, device="cuda")
    address = t.data_ptr()
    add(t, 2.0)
    rows(t)
    assert t.data_ptr() == address
    want = 4.0 + torch.arange(4, device="cuda", dtype=torch.float32)[:, None].expand(4, 3)
    assert torch.equal(t, want)
    with pytest.raises(ValueError, match="contiguous"):
        add(t.t(), 1.0)


@pytest.mark.parametrize("other", [False, True], ids=["default stream", "another stream"])
def test_kernels_and_torch_are_in_order(torch, other):
    with torch.cuda.stream(torch.cuda.Stream() if other else torch.cuda.current_stream()):
        t = torch.zeros(N, device="cuda")
        for k in range(20):
            t += 1
            slow(t, 50)
            t *= 1
        torch.cuda.current_stream().synchronize()
        assert 39.9 < float(t.min()) <= float(t.max()) < 40.1


def test_a_stream_of_ours_waits_too(torch):
    t = torch.zeros(N, device="cuda")
    with qd.create_stream() as s:
        for _ in range(20):
            t += 1
            slow(t, 50, qd_stream=s)
        assert 39.9 < float(t.min()) <= float(t.max()) < 40.1


def test_views_are_live_without_a_wait(torch):
    f, a = qd.field(qd.f32, N), qd.Vector.ndarray(3, qd.f32, 1000)

    @qd.kernel
    def grow():
        for i in f:
            v = f[i]
            for _ in range(50):
                v = v * 1.0000001 + 1e-9
            f[i] = v + 1.0

    view = f.to_torch(copy=False)
    assert view.is_cuda and view.shape == (N,)
    for _ in range(20):
        grow()
        view += 1
    assert 39.9 < float(view.min()) and abs(f[N - 1] - 40) < 0.1
    rows(a)
    seen = torch.from_dlpack(a)
    assert seen.is_cuda and torch.equal(seen.cpu(), torch.from_numpy(a.to_numpy()))
    seen[5] = 7
    assert a[5].to_list() == [7, 7, 7]
    del seen, view


def test_copies_on_the_device(torch):
    a = qd.ndarray(qd.f32, (100, 7))
    t = torch.rand(100, 7, device="cuda")
    a.from_torch(t)
    assert np.array_equal(a.to_numpy(), t.cpu().numpy())
    back = a.to_torch(device="cuda")
    assert back.is_cuda and torch.equal(back, t)
    back += 1
    assert np.array_equal(a.to_numpy(), t.cpu().numpy())
    assert not a.to_torch().is_cuda
    a.from_torch(t.t().contiguous().t())
    assert torch.equal(a.to_torch(device="cuda"), t)


def test_memory_that_is_gone_is_not_written(torch):
    for _ in range(20):
        t = torch.zeros(N, device="cuda")
        slow(t, 200)
        del t
        other = torch.zeros(N, device="cuda")  # torch's allocator gives it the same memory
        assert float(other.max()) == 0.0


def test_cupy():
    cupy = pytest.importorskip("cupy")
    c = cupy.zeros((4, 3), np.float32)
    add(c, 2.0)
    rows(c)
    assert np.array_equal(cupy.asnumpy(c), 4 + np.arange(4, dtype=np.float32)[:, None] + np.zeros((4, 3), np.float32))
    with cupy.cuda.Stream(non_blocking=True):
        d = cupy.zeros(N, np.float32)
        for _ in range(20):
            d += 1
            slow(d, 50)
        assert 39.9 < float(d.min()) <= float(d.max()) < 40.1
    a = qd.ndarray(qd.f32, 4)
    cupy.from_dlpack(a)[...] = 3
    assert a.to_numpy().tolist() == [3] * 4


def test_numba():
    cuda = pytest.importorskip("numba.cuda")
    if not cuda.is_available():
        pytest.skip("Numba sees no GPU")
    d = cuda.to_device(np.zeros(8, np.float32))
    add(d, 2.0)
    assert d.copy_to_host().tolist() == [2.0] * 8


def test_speed_of_a_call_with_a_tensor(torch):
    """No limit: shows the cost."""
    import time

    t = torch.zeros(64, device="cuda")
    add(t, 1.0)
    qd.sync()
    began = time.perf_counter()
    for _ in range(1000):
        add(t, 1.0)
    qd.sync()
    print(f"{(time.perf_counter() - began) * 1e3:.1f} us a call")
    assert float(t[0]) == 1001.0

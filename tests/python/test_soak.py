"""500 cycles of `init` and `reset` with fields, arrays, kernels, profiler and other backends in between leak nothing."""

import pytest

PROGRAM = """
import gc, os, sys

def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def measure():
    gc.collect()
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), resident()

@qd.kernel
def fill(a: qd.types.NDArray[qd.f32, 1], v: qd.f32) -> qd.f32:
    for i in a:
        a[i] = v
    return v

@qd.kernel(graph=True)
def loop(c: qd.types.NDArray[qd.i32, 0]):
    while qd.graph.do_while(c):
        c[()] -= 1

CYCLES, SETTLED = 500, 100
out = sys.stdout
sys.stdout = open(os.devnull, "w")
for cycle in range(CYCLES + 1):
    other = "reference" if cycle % 10 == 3 else ARCH
    qd.init(arch=other, offline_cache_file_path=CACHE, kernel_profiler=cycle % 7 == 0, debug=cycle % 5 == 0,
            log_level="error")
    f = qd.field(qd.f32, shape=1000)
    m = qd.Matrix.field(3, 3, qd.f64, shape=(10, 10))
    n = qd.ndarray(qd.f32, 10000)
    c = qd.ndarray(qd.i32, ())
    c.fill(2)
    host = np.zeros(100, np.float32)

    @qd.kernel
    def store():
        for i in f:
            f[i] = i

    store()
    assert fill(host, 2.0) == 2.0 and fill(n, 3.0) == 3.0
    loop(c)
    assert f[9] == 9.0 and host[5] == 2.0 and n[9999] == 3.0 and c[()] == 0
    view = n.to_numpy(copy=None)
    m.fill(1.0)
    if cycle % 2:
        del f, m, n, c, view
    qd.reset()
    if cycle == SETTLED:
        before = measure()
after = measure()
sys.stdout = out
print(before, after)
assert after[0] <= before[0], f"file descriptors: {before[0]} after {SETTLED} cycles, {after[0]} after {CYCLES}"
assert after[1] <= before[1], f"threads: {before[1]} then {after[1]}"
grown = (after[2] - before[2]) / (CYCLES - SETTLED)
assert grown < 8192, f"memory: {grown:.0f} bytes a cycle"
"""


@pytest.mark.slow
def test_init_and_reset_leak_nothing(run_script):
    assert run_script(PROGRAM, timeout=100).returncode == 0

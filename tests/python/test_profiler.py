"""`qd.init(kernel_profiler=True)` and `qd.profiler`: counts, times, tables, and what happens with it off."""

import json
import time

import numpy as np
import pytest

import quadrants as qd


@qd.kernel
def work(a: qd.types.NDArray[qd.f32, 1], rounds: qd.i32) -> qd.i32:
    for i in a:
        x = a[i]
        for _ in range(rounds):
            x = x * 0.5 + 1.0
        a[i] = x
    return rounds


@qd.kernel
def quick(a: qd.types.NDArray[qd.f32, 1]):
    for i in a:
        a[i] = 0.0


def test_counts_and_times(init, capsys):
    init(kernel_profiler=True)
    a = np.ones(64, np.float32)
    began = time.perf_counter()
    for _ in range(3):
        assert work(a, 200) == 200
    wall = time.perf_counter() - began
    quick(a)
    seen = qd.profiler.query_kernel_profiler_info("work")
    assert seen.counter == 3 and 0.0 < seen.min <= seen.avg <= seen.max
    assert seen.avg * 3 <= wall * 1e3
    total = qd.profiler.get_kernel_profiler_total_time()
    other = qd.profiler.query_kernel_profiler_info("quick")
    assert total == pytest.approx((3 * seen.avg + other.avg) / 1e3)
    assert qd.profiler.query_kernel_profiler_info("no such kernel").counter == 0
    capsys.readouterr()
    qd.profiler.print_kernel_profiler_info()
    table = capsys.readouterr().out
    assert (
        "Kernel Profiler(count, default) @ " in table
        and "3x |" in table
        and "ms] work" in table
        and "ms] quick" in table
    )
    qd.profiler.print_kernel_profiler_info("trace")
    assert "Number of records:  4" in capsys.readouterr().out
    qd.profiler.clear_kernel_profiler_info()
    assert qd.profiler.get_kernel_profiler_total_time() == 0.0
    quick(a)
    assert qd.profiler.query_kernel_profiler_info("quick").counter == 1


def test_time_grows_with_the_work(init):
    """True times: a launch of a hundred times the work takes longer, and a compile is no part of it."""
    init(kernel_profiler=True)
    a = np.ones(64, np.float32)
    work(a, 1)
    for _ in range(5):
        work(a, 1)
    small = qd.profiler.query_kernel_profiler_info("work")
    qd.profiler.clear_kernel_profiler_info()
    work(a, 3000)
    assert qd.profiler.query_kernel_profiler_info("work").min > small.min


def test_other_calls_are_timed_too(init):
    init(kernel_profiler=True)
    a = np.ones((4, 4), np.float32)

    @qd.kernel
    def plane(a: qd.types.NDArray[qd.f32, 2]):
        for i, j in a:
            a[i, j] += 1.0

    plane(np.asfortranarray(a))
    plane(a, qd_stream=qd.create_stream())
    plane(a)
    assert (a == 3.0).all() and qd.profiler.query_kernel_profiler_info("plane").counter == 3


def test_a_runtime_has_its_own_times(init):
    init(kernel_profiler=True)
    a = np.ones(4, np.float32)
    quick(a)
    init(kernel_profiler=True)
    assert qd.profiler.query_kernel_profiler_info("quick").counter == 0
    quick(a)
    assert qd.profiler.query_kernel_profiler_info("quick").counter == 1
    init()
    quick(a)
    assert qd.profiler.get_kernel_profiler_total_time() == 0.0


def test_off(init):
    init()
    assert qd.profiler.print_kernel_profiler_info() is None
    assert qd.profiler.query_kernel_profiler_info("quick").counter == 0
    assert qd.profiler.clear_kernel_profiler_info() is None
    qd.reset()
    with pytest.raises(qd.QuadrantsRuntimeError, match="qd.init"):
        qd.profiler.print_kernel_profiler_info()


def test_bad_mode_and_toolkits(init):
    init(kernel_profiler=True)
    with pytest.raises(ValueError, match="'count' or 'trace', found 'sum'"):
        qd.profiler.print_kernel_profiler_info("sum")
    assert qd.profiler.set_kernel_profiler_toolkit("cupti") is False
    qd.profiler.set_kernel_profiler_metrics()
    with qd.profiler.collect_kernel_profiler_metrics():
        quick(np.ones(4, np.float32))
    with pytest.raises(qd.QuadrantsSyntaxError, match="not supported yet"):
        qd.profiler.get_predefined_cupti_metrics("global_access")


def test_timeline(init, tmp_path):
    init(kernel_profiler=True)
    for _ in range(3):
        quick(np.ones(4, np.float32))
    qd.lang.misc.timeline_save(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())
    assert [e["name"] for e in events] == ["quick"] * 3 and all(e["dur"] >= 0 for e in events)
    assert events[0]["ts"] <= events[1]["ts"] <= events[2]["ts"]
    qd.lang.misc.timeline_clear()
    qd.lang.misc.timeline_save(str(tmp_path / "trace.json"))
    assert json.loads((tmp_path / "trace.json").read_text()) == []


def test_sandbox(run_script):
    import os

    done = run_script("folder = qd.lang.misc.prepare_sandbox(); import os; assert os.path.isdir(folder); print(folder)")
    assert not os.path.exists(done.stdout.splitlines()[-1])


def test_memory_and_compiles(init, capsys):
    init()
    f, n = qd.field(qd.f32, 1000), qd.ndarray(qd.f64, 500)
    f[0] = n[0]
    quick(np.ones(4, np.float32))
    capsys.readouterr()
    qd.profiler.print_memory_profiler_info()
    out = capsys.readouterr().out
    assert "1 buffers             4000 B" in out and "Total: 8000 B" in out
    qd.profiler.print_scoped_profiler_info()
    assert capsys.readouterr().out.rstrip().endswith("quick")
    qd.profiler.clear_scoped_profiler_info()
    qd.profiler.print_scoped_profiler_info()
    assert "quick" not in capsys.readouterr().out

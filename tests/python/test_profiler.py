"""`qd.init(kernel_profiler=True)` and `qd.profiler`: counts, times, tables, and what happens with it off."""

import json
import threading
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


@qd.kernel
def tasks(a: qd.types.NDArray[qd.f32, 1], n: qd.i32, x: qd.template()) -> qd.i32:
    total = n * 2
    for i in a:
        a[i] = i
    qd.loop_config(name="second")
    for i in range(n):
        x[i] += 1.0
    return total


def _rows(text):
    """Of a printed table: name to count."""
    return {
        line.rsplit("ms] ")[1]: int(line.split(" s")[1].split("x")[0]) for line in text.splitlines() if "ms] " in line
    }


def test_a_row_for_each_task(init, capsys):
    init(kernel_profiler=True)
    x, a = qd.field(qd.f32, 8), np.ones(64, np.float32)
    for _ in range(3):
        assert tasks(a, 8, x) == 16
    quick(a)
    capsys.readouterr()
    qd.profiler.print_kernel_profiler_info()
    table = capsys.readouterr().out
    assert f"Kernel Profiler(count, default) @ {qd.cfg.arch.name.upper()} " in table
    rows = _rows(table)
    assert {name: rows[name] for name in ("tasks_0_range_for", "tasks_1_second_range_for", "quick_0_range_for")} == {
        "tasks_0_range_for": 3, "tasks_1_second_range_for": 3, "quick_0_range_for": 1,
    }  # fmt: skip
    serial = [name for name in rows if name.endswith("_serial")]
    assert serial and all(name.startswith("tasks_") for name in serial) and f"number of results: {len(rows)}" in table
    qd.profiler.print_kernel_profiler_info("trace")
    trace = capsys.readouterr().out
    assert f"Number of records:  {3 * (len(rows) - 1) + 1}" in trace
    names = [line.rsplit("] ")[1] for line in trace.splitlines() if "ms |" in line]
    assert names == 3 * names[: len(rows) - 1] + ["quick_0_range_for"]
    seen, second = (qd.profiler.query_kernel_profiler_info(name) for name in ("tasks", "tasks_1_second_range_for"))
    assert seen.counter == second.counter == 3 and seen.avg > second.avg and seen.max >= seen.avg >= seen.min > 0.0
    assert qd.profiler.query_kernel_profiler_info("second").counter == 0


def test_counts_and_times(init):
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
    qd.profiler.clear_kernel_profiler_info()
    assert qd.profiler.get_kernel_profiler_total_time() == 0.0
    quick(a)
    assert qd.profiler.query_kernel_profiler_info("quick").counter == 1


def test_time_grows_with_the_work(init):
    """True times: a task of a hundred times the work takes longer, and a compile is no part of it."""
    init(kernel_profiler=True)
    a = np.ones(64, np.float32)
    for _ in range(5):
        work(a, 1)
    small = qd.profiler.query_kernel_profiler_info("work")
    qd.profiler.clear_kernel_profiler_info()
    work(a, 3000)
    assert qd.profiler.query_kernel_profiler_info("work").min > small.min


def test_kinds_and_arguments_are_summed_up(init):
    """Rows are by name: another template argument is the same task."""
    init(kernel_profiler=True)
    a, x, y = np.ones(8, np.float32), qd.field(qd.f32, 8), qd.field(qd.f32, 4)
    for target in (x, y, x):
        tasks(a, 4, target)
    assert qd.profiler.query_kernel_profiler_info("tasks_1_second_range_for").counter == 3


def test_threads(init):
    init(kernel_profiler=True)

    def run():
        a = np.ones(64, np.float32)
        for _ in range(50):
            work(a, 3)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert qd.profiler.query_kernel_profiler_info("work").counter == 200


def test_a_launch_that_fails_leaves_the_profiler_usable(init):
    init(kernel_profiler=True, debug=True)
    a = np.ones(4, np.float32)

    @qd.kernel
    def outside(a: qd.types.NDArray[qd.f32, 1]):
        for i in range(8):
            a[i] = 1.0
        for i in a:
            a[i] = 2.0

    with pytest.raises(qd.QuadrantsAssertionError):
        outside(a)
    quick(a)
    assert qd.profiler.query_kernel_profiler_info("quick").counter == 1


def test_names_of_loops_are_text(init):
    init()

    @qd.kernel
    def k():
        qd.loop_config(name=5)
        for _ in range(3):
            pass

    with pytest.raises(qd.QuadrantsTypeError, match="name must be a string, found 5 of type int"):
        k()


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
    assert qd.profiler.print_kernel_profiler_info() is None and qd.profiler.get_kernel_profiler_total_time() == 0.0
    with pytest.raises(TypeError, match="found 5"):
        qd.profiler.query_kernel_profiler_info(5)


def test_bad_mode_and_toolkits(init):
    init(kernel_profiler=True)
    with pytest.raises(ValueError, match="'count' or 'trace', found 'sum'"):
        qd.profiler.print_kernel_profiler_info("sum")
    assert qd.profiler.set_kernel_profiler_toolkit("cupti") is False
    qd.profiler.set_kernel_profiler_metrics()
    with qd.profiler.collect_kernel_profiler_metrics():
        quick(np.ones(4, np.float32))
    counters = qd.profiler.get_predefined_cupti_metrics("global_access")
    assert (
        counters[0].name == "dram__bytes.sum"
        and counters[0].val_format.format(counters[0].scale * (3 << 20)).strip() == "3.000 MB"
    )
    qd.profiler.set_kernel_profiler_metrics(counters)
    assert qd.profiler.get_predefined_cupti_metrics() is None


def test_timeline(init, tmp_path):
    init(kernel_profiler=True)
    for _ in range(3):
        quick(np.ones(4, np.float32))
    qd.lang.misc.timeline_save(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())
    assert [e["name"] for e in events] == ["quick_0_range_for"] * 3 and all(e["dur"] >= 0 for e in events)
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

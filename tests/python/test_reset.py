"""`qd.reset` and a second `qd.init`: what dies, what survives, and what happens in a forked process."""

import os
import subprocess
import sys

import numpy as np
import pytest

import quadrants as qd


@qd.kernel
def double(a: qd.types.NDArray[qd.i32, 1]):
    for i in range(a.shape[0]):
        a[i] *= 2


def test_reset_is_idempotent(arch):
    qd.reset()
    qd.reset()
    assert qd.cfg is None


def test_objects_of_an_earlier_runtime_are_refused(arch, init):
    f, v, a = qd.field(qd.f32, 3), qd.Vector.field(2, qd.f32, 3), qd.ndarray(qd.f32, 3)
    builder = qd.FieldsBuilder()
    init()
    assert a.shape is None and a.dtype is None and a.grad is None
    for use in (lambda: f[0], lambda: v[0], lambda: a[0], f.to_numpy, a.to_numpy, lambda: f.fill(1), lambda: a.fill(1)):
        with pytest.raises(qd.QuadrantsRuntimeError, match="reset"):
            use()
    with pytest.raises(qd.QuadrantsRuntimeError, match="reset"):
        builder.dense(qd.i, 3)


def test_kernels_refuse_arrays_of_an_earlier_runtime(arch, init):
    old = qd.ndarray(qd.i32, 4)
    double(old)
    init()
    double(qd.ndarray(qd.i32, 4))
    with pytest.raises(
        qd.QuadrantsRuntimeTypeError, match='argument "a" of kernel "double" belongs to a runtime that was reset'
    ):
        double(old)


def test_views_outlive_the_runtime(arch, init):
    v, a = qd.Vector.field(2, qd.i32, 3), qd.ndarray(qd.i64, (64, 64))
    views = [v.to_numpy(copy=None), a.to_numpy(copy=None)]
    if arch != "cuda":  # there, an element asks the device
        views.append(v[1])
    v[1] = [5, 6]
    a.fill(7)
    expected = [np.array(view) for view in views]
    del v, a
    for _ in range(3):
        init()
        for other in [qd.ndarray(qd.i64, (64, 64)) for _ in range(20)]:  # would lie where freed memory was
            other.fill(-1)
    assert all((np.array(view) == before).all() for view, before in zip(views, expected))
    del views
    assert qd.lang.impl.get_runtime().shared == []


def test_kernels_survive(arch, init):
    for _ in range(3):
        a = np.arange(4, dtype=np.int32)
        double(a)
        if arch != "null":
            assert a.tolist() == [0, 2, 4, 6]
        init()


def test_the_report_starts_anew(arch, init):
    double(np.zeros(4, np.int32))
    assert [row["kernel"] for row in qd.cache_report().rows] == ["double"]
    init()
    assert qd.cache_report().rows == [] and not qd.cache_report().warm


def test_the_default_builder_is_new(arch, init):
    qd.root.dense(qd.i, 3)
    init()
    f = qd.field(qd.f32)
    qd.root.dense(qd.i, 4).place(f)
    assert f.shape == (4,)


def test_options_do_not_leak(arch, init):
    init(debug=True, default_fp=qd.f64)
    init()
    assert qd.cfg.debug is False and qd.cfg.default_fp is qd.f32


@pytest.fixture
def run(tmp_path):
    """Runs a program in a fresh process that says nothing on standard error, and gives what it printed."""
    return lambda code: _run(code, os.environ | {"XDG_CACHE_HOME": str(tmp_path)})


def _run(code: str, environment: dict[str, str]) -> str:
    # Python 3.12 warns of any fork in a process with threads.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_after_init(arch, run):
    out = run(f"""
import os, quadrants as qd
qd.init(arch={arch!r}, log_level="error")
f = qd.field(qd.i32, 3)
child = os.fork()
if child == 0:
    try:
        f[0]
    except RuntimeError as error:
        print("refused:", "spawn" in str(error) and "qd.init() again" in str(error), flush=True)
    try:
        qd.init(arch={arch!r}, log_level="error", enable_fallback=False)
        g = qd.field(qd.i32, 3)
        g[1] = 4
        print("again:", g[1], flush=True)
    except RuntimeError as error:
        print("driver:", "forked" in str(error) and "spawn" in str(error), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
f[0] = 7
print("parent:", f[0], flush=True)
""")
    again = "driver: True" if arch == "cuda" else "again: 4"  # NVIDIA's driver does not start twice
    assert "refused: True" in out and again in out and "parent: 7" in out


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_before_init(arch, run):
    out = run(f"""
import os, sys, quadrants as qd
child = os.fork()
qd.init(arch={arch!r}, log_level="error")
f = qd.field(qd.i32, 3)
f[0] = 7
sys.stdout.write(f"value: {{f[0]}};")
sys.stdout.flush()
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    os._exit(0)
""")
    assert out.count("value: 7;") == 2


def test_nothing_is_said_at_exit(arch, run):
    assert "done" in run(f"""
import quadrants as qd
qd.init(arch={arch!r}, log_level="error")
a = qd.ndarray(qd.f32, 3)
f = qd.field(qd.f32, 3)
print("done")
""")

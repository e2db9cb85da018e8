"""What a process lives through: interrupts, forks, threads, exit; and the debug dumps."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from program_text import child_environment, load

PROGRAM = """
@qd.kernel
def work(a: qd.types.NDArray[qd.f32, 1]):
    for i in range(a.shape[0]):
        a[i] = a[i] + 1.5
    for i in range(a.shape[0]):
        a[i] = a[i] * 3.0
"""


# ------------------------------------------------------------------------------------------------------------ dumps
def test_print_ir(init, capfd):
    with pytest.warns(UserWarning, match="DUMP_IR_CACHE_MISMATCH"):
        init(print_ir=True)
    capfd.readouterr()
    load(PROGRAM)["work"](np.zeros(2, np.float32))
    out = capfd.readouterr().out
    assert "work" in out and out.count("parallel") >= 4, "the kernel before the split, and each of its two tasks"


DUMPING = "qd.init(arch=ARCH, offline_cache=False, src_ll_cache=False, log_level='error', debug_dump_path={folder!r})\n"
SHOWN = PROGRAM + "a = np.zeros(2, np.float32)\nwork(a)\nprint('VALUE', a[1])\n"


def test_dump_ir_writes_a_file_per_stage_and_task(run_script, arch_name, tmp_path):
    folder = tmp_path / "ir"
    run_script(DUMPING.format(folder=str(folder)) + SHOWN, env={"QD_DUMP_IR": "1"})
    names = sorted(path.name for path in folder.iterdir())
    kernel = [name for name in names if name == "work.kir"]
    tasks = [name for name in names if name.endswith(".kir") and name != "work.kir"]
    assert kernel and len(tasks) == 2, names
    assert "parallel" in (folder / "work.kir").read_text()
    assert sum("1.5" in (folder / name).read_text() for name in tasks) == 1, "a task holds its own loop only"
    if arch_name == "cpu":
        assert len([name for name in names if name.endswith(".ll")]) == 2, names


def test_kernel_asm(run_script, arch_name, tmp_path):
    if arch_name != "cpu":
        pytest.skip("only cpu makes assembly")
    folder = tmp_path / "ir"
    text = DUMPING.format(folder=str(folder)).replace("log_level", "print_kernel_asm=True, log_level")
    run_script(text + SHOWN)
    assembly = list(folder.glob("*.s"))
    assert len(assembly) == 2 and all("ret" in path.read_text() for path in assembly)


def test_load_ir_takes_the_edited_dump(run_script, arch_name, tmp_path):
    if arch_name != "cpu":
        pytest.skip("only LLVM backends load IR")
    folder = tmp_path / "ir"
    text = DUMPING.format(folder=str(folder)) + SHOWN
    assert "VALUE 4.5" in run_script(text, env={"QD_DUMP_IR": "1"}).stdout
    edited = [path for path in folder.glob("*.ll") if "1.500000e+00" in path.read_text()]
    assert len(edited) == 1
    edited[0].write_text(edited[0].read_text().replace("1.500000e+00", "2.500000e+00"))
    assert "VALUE 7.5" in run_script(text, env={"QD_LOAD_IR": "1"}).stdout
    edited[0].write_text("this is no IR")
    broken = run_script(text, env={"QD_LOAD_IR": "1"}, check=False)
    assert broken.returncode == 1 and "does not parse" in broken.stderr
    for path in folder.glob("*.ll"):
        path.unlink()
    missing = run_script(text.replace("log_level='error'", "log_level='warn'"), env={"QD_LOAD_IR": "1"})
    assert "VALUE 4.5" in missing.stdout and "is not there to be loaded" in missing.stdout + missing.stderr


def test_load_ir_needs_caches_off(run_script):
    done = run_script("qd.init(arch=ARCH, offline_cache_file_path=CACHE)\n", env={"QD_LOAD_IR": "1"}, check=False)
    assert "ValueError: Caching must be disabled when using QD_LOAD_IR" in done.stderr


# ------------------------------------------------------------------------------------------------------- interrupts
def interrupt(program: str, arch_name: str, tmp_path: Path) -> tuple[str, float]:
    """Runs a program, sends it Ctrl-C when it says "ready"; its output and the seconds that it then took."""
    head = (  # a shell's background jobs, and so a CI run, begin with Ctrl-C ignored
        "import signal, sys, numpy as np, quadrants as qd\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"qd.init(arch={arch_name!r}, offline_cache=False, log_level='error')\n"
    )
    script = tmp_path / "interrupted.py"
    script.write_text(head + program)
    child = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        bufsize=1,
        env=child_environment(),
    )
    assert child.stdout is not None
    lines = []
    for line in child.stdout:
        lines.append(line)
        if line.startswith("ready"):
            break
    time.sleep(0.3)  # into the compile, or the launch
    began = time.perf_counter()
    child.send_signal(signal.SIGINT)
    try:
        rest, _ = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        child.kill()
        raise AssertionError("the process did not end within a minute of its interrupt") from None
    return "".join(lines) + rest, time.perf_counter() - began


AFTER = """
print("ready", flush=True)
try:
    long(np.zeros(64, np.float32))
    print("it ended by itself")
except KeyboardInterrupt:
    print("interrupted")
@qd.kernel
def small(a: qd.types.NDArray[qd.f32, 1]):
    for i in range(a.shape[0]):
        a[i] += 2
a = np.zeros(3, np.float32)
small(a)
print("usable", a.sum())
"""


def test_interrupt_of_a_compile(arch_name, tmp_path):
    if arch_name != "cpu":
        pytest.skip("the interpreter compiles nothing")
    body = "".join(f"        x = qd.sin(x) * {k % 97}.5 + qd.exp(x) / (x + {k % 89}.25)\n" for k in range(150))
    loops = "".join(
        f"    for i in range(a.shape[0]):\n        x = a[i] + {k}\n{body}        a[i] = x\n" for k in range(24)
    )
    text = f"@qd.kernel\ndef long(a: qd.types.NDArray[qd.f32, 1]):\n{loops}"
    out, seconds = interrupt(text + AFTER, arch_name, tmp_path)
    assert "interrupted" in out and "usable 6.0" in out, out
    assert seconds < 30


def test_interrupt_of_a_launch(arch_name, tmp_path):
    if arch_name == "cuda":
        pytest.skip("the device runs what it was given to its end")
    rows, turns = (4000, 2_000_000) if arch_name == "cpu" else (64, 2_000_000)
    text = f"""
@qd.kernel
def long(a: qd.types.NDArray[qd.f32, 1]):
    for i in range({rows} if a.shape[0] > 0 else 0):
        x = 0.5
        for k in range({turns}):
            x = qd.sin(x) + 1
        a[0] = x
long(np.zeros(0, np.float32))
"""
    out, seconds = interrupt(text + AFTER, arch_name, tmp_path)
    assert "interrupted" in out and "usable 6.0" in out, out
    assert seconds < 30


@pytest.mark.parametrize("where", ["serial", "one iteration", "all iterations", "a function"])
def test_interrupt_of_a_loop_without_end(arch_name, tmp_path, where):
    if arch_name == "cuda":
        pytest.skip("the device runs what it was given to its end")
    loop = "while a[0] == 0:\n{0}    a[1] += 1"
    body = {
        "serial": "    " + loop.format("    "),
        "one iteration": "    for i in range(1):\n        " + loop.format("        "),
        "all iterations": "    for i in range(100000):\n        " + loop.format("        "),
        "a function": "    wait(a)",
    }[where]
    text = f"@qd.func\ndef wait(a):\n    {loop.format('    ')}\n"
    text += f"@qd.kernel\ndef long(a: qd.types.NDArray[qd.f32, 1]):\n{body}\n"
    text += "done = np.ones(2, np.float32)\nlong(done)\nlong(done)\n"
    out, seconds = interrupt(text + AFTER, arch_name, tmp_path)
    assert "interrupted" in out and "usable 6.0" in out, out
    assert seconds < 30


def test_a_signal_handler_that_launches(run_script, arch_name):
    """It runs in the middle of a long launch, on the same thread: neither launch sees the other."""
    if arch_name not in ("cpu", "reference"):
        pytest.skip("no handler runs while a GPU is waited for")
    done = run_script("""
        import signal
        qd.init(arch=ARCH, offline_cache=False, log_level="error")
        rounds = 100_000 if ARCH == "cpu" else 1000
        @qd.kernel
        def total(a: qd.types.NDArray[qd.f64, 1], n: qd.i32) -> qd.f64:
            s = 0.0
            for i in a:
                y = qd.u32(i)
                for _ in range(n):
                    for _ in range(10):
                        y = y * 1664525 + 1013904223
                s += a[i] + y % 2 if n > 0 else a[i]
            return s
        size = 300_000 if ARCH == "cpu" else 300
        small, large, seen = np.ones(size), np.ones(1000), []
        assert total(small, 0) == size
        def handler(*_):
            if qd.lang.impl.get_runtime().context.launching:  # else it came between two launches
                seen.append(total(small, 0))
                try:
                    qd.reset()
                except qd.QuadrantsRuntimeError as error:
                    assert "signal handler" in str(error)
                else:
                    seen.append("reset")
            signal.setitimer(signal.ITIMER_REAL, 0.07)
        expected = total(large, rounds)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.07)
        while not seen:
            value = total(large, rounds)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert set(seen) == {size} and value == expected, (seen, value, expected)
    """)
    assert done.returncode == 0


# --------------------------------------------------------------------------------------------- forks, threads, exit
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_kernel_call_in_a_forked_child(run_script):
    done = run_script(
        "qd.init(arch=ARCH, offline_cache_file_path=CACHE, log_level='error')\n"
        + PROGRAM
        + """
import os
a = np.zeros(2, np.float32)
work(a)
child = os.fork()
if child == 0:
    try:
        work(a)
        print("it ran", flush=True)
    except RuntimeError as error:
        print("refused:", error, flush=True)
    os._exit(7)
status = os.waitpid(child, 0)[1]
work(a)
print("child", os.waitstatus_to_exitcode(status), "parent", a[0])
""",
        env={"PYTHONWARNINGS": "ignore::DeprecationWarning"},  # 3.12 warns of any fork in a process with threads
    )
    assert "refused: This process was forked after qd.init()" in done.stdout
    assert "spawn" in done.stdout and "child 7 parent 18.0" in done.stdout and done.stderr == ""


def test_kernels_first_called_from_many_threads(arch):
    k = load(PROGRAM)["work"]
    own = [load(PROGRAM.replace("1.5", f"{n}.0"))["work"] for n in range(8)]
    arrays = [np.zeros(100, np.float32) for _ in range(16)]
    failures = []
    start = threading.Barrier(8)

    def run(n):
        try:
            start.wait()
            for _ in range(20):
                k(arrays[n])
                own[n](arrays[8 + n])
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not failures and not any(t.is_alive() for t in threads)
    for n in range(8):
        shared, mine = np.float32(0), np.float32(0)
        for _ in range(20):
            shared, mine = (shared + np.float32(1.5)) * np.float32(3), (mine + np.float32(n)) * np.float32(3)
        np.testing.assert_allclose(arrays[n], shared, rtol=1e-5)
        np.testing.assert_allclose(arrays[8 + n], mine, rtol=1e-5)


def test_init_in_one_thread_use_in_another(arch_name, init):
    thread = threading.Thread(target=init)
    thread.start()
    thread.join()
    a = np.zeros(2, np.float32)
    load(PROGRAM)["work"](a)
    assert a.tolist() == [4.5, 4.5]


ENDS = {
    "falls off the end": ("", 0),
    "sys.exit": ("import sys\nsys.exit(3)", 3),
    "an exception": ("raise ValueError('of the program')", 1),
    "a daemon thread launches on": (
        "import threading, time\ndef on():\n    while True:\n        work(a)\n"
        "threading.Thread(target=on, daemon=True).start()\ntime.sleep(0.1)",
        0,
    ),
    "a module keeps everything": ("import sys\nsys.keep = [work, a, f, n, qd]", 0),
    "os._exit": ("import os, sys\nsys.stdout.flush()\nos._exit(5)", 5),
}


@pytest.mark.parametrize("name", ENDS)
def test_exit(run_script, name):
    end, code = ENDS[name]
    done = run_script(
        "qd.init(arch=ARCH, offline_cache_file_path=CACHE, log_level='warn')\n"
        + PROGRAM
        + "a = np.zeros(2, np.float32)\nf = qd.field(qd.f32, 3)\nn = qd.ndarray(qd.f32, 3)\nwork(a)\nwork(n)\nf[1] = 2.0\n"
        + f"print('last words')\n{end}\n",
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert done.stdout.endswith("last words\n")
    if name == "an exception":
        assert done.stderr.rstrip().endswith("ValueError: of the program")
    else:
        assert done.stderr == ""

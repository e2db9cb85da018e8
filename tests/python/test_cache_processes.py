"""The cache between processes and threads: kills, `offline_cache=False` to the system call, a runtime that is reset."""

import os
import random
import shutil
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from program_text import load

import quadrants as qd

FOREVER = """
    import itertools, sys
    from program_text import load
    qd.init(arch=getattr(qd, ARCH), enable_fallback=False, offline_cache_file_path=CACHE, log_level="warn",
            per_offload_cache=True)
    first = int(sys.argv[1])
    for n in itertools.count(first):
        k = load(f"@qd.kernel\\ndef k(x: qd.types.ndarray()):\\n    for i in x: x[i] += {n}\\n    for i in x: x[i] *= 2\\n")["k"]
        x = np.ones(4, np.int32)
        sys.stdout.write("<")
        sys.stdout.flush()
        k(x)
        sys.stdout.write(">")
        sys.stdout.flush()
        assert (x == 2 * (n + 1)).all()
    """


@pytest.fixture
def script(tmp_path, arch_name):
    """Path of a program's text, and its environment."""

    def write(text):
        path = tmp_path / "program.py"
        head = (
            f"import numpy as np\nimport quadrants as qd\nARCH = {arch_name!r}\nCACHE = {str(tmp_path / 'cache')!r}\n"
        )
        path.write_text(head + textwrap.dedent(text))
        here = os.path.dirname(os.path.abspath(__file__))
        paths = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
        return str(path), {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}

    return write


def test_fifty_kills(script, tmp_path, arch_name):
    """Killed while a kernel is compiled and published; then everything verifies, and the next run is right."""
    if arch_name != "cpu":
        pytest.skip("one backend is enough: tests/core/crowd_test.cpp kills a thousand")
    path, env = script(FOREVER)
    choice, inside, tries = random.Random(3), 0, 0
    while inside < 50 and tries < 150:
        workers = []
        for _ in range(2):  # one per core
            workers.append(subprocess.Popen([sys.executable, path, str(1000 * tries)], env=env, stdout=subprocess.PIPE))
            tries += 1
        for worker in workers:
            while (byte := worker.stdout.read(1)) != b"<":  # behind the greeting: it compiles
                assert byte, "the program ended by itself"
        time.sleep(choice.random() * 0.02)
        for worker in workers:
            worker.kill()
            inside += worker.stdout.read()[-1:] != b">"
            worker.wait()
    assert inside >= 50
    for entry in qd._native.cache_list(str(tmp_path / "cache"), True):
        assert entry["problem"] == "", entry
    ok = FOREVER.replace("itertools.count(first)", "range(5)")
    path, env = script(ok)
    subprocess.run([sys.executable, path, "0"], env=env, check=True, timeout=60, stdout=subprocess.DEVNULL)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("offline", [True, False])
def test_offline_cache_off_to_the_system_call(script, tmp_path, offline):
    """A whole program: nothing below the root, or below a temporary folder, is opened, created, asked about or removed."""
    text = """
        import sys
        qd.init(arch=getattr(qd, ARCH), enable_fallback=False, offline_cache_file_path=CACHE,
                offline_cache=sys.argv[1] == "True", log_level="warn")
        f = qd.field(qd.f32, shape=8)
        @qd.kernel
        def k(x: qd.types.ndarray()) -> qd.f32:
            for i in f: f[i] = x[i] * 2.0
            return f[3]
        assert k(np.ones(8, np.float32)) == 2.0
        qd.reset()
        """
    path, env = script(text)
    env["TMPDIR"] = str(tmp_path / "temporary")
    os.mkdir(env["TMPDIR"])
    log = tmp_path / "calls"
    command = ["strace", "-f", "-qq", "-e", "trace=%file", "-o", str(log), sys.executable, path, str(offline)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    if "ptrace" in done.stderr and done.returncode:
        pytest.skip("no ptrace here")
    assert done.returncode == 0, done.stderr
    root, temporary = str(tmp_path / "cache"), env["TMPDIR"]
    calls = [line for line in log.read_text().splitlines() if root in line or temporary in line]
    assert bool(calls) == offline, calls[:5]  # on: seen, so the test can see


def test_threads_and_resets(init):
    """Sixteen threads call the same and different kernels while another resets: right results, or the documented error."""
    init()
    text = "@qd.kernel\ndef k(n: qd.i32) -> qd.i32:\n    s = 0\n    for i in range(4):\n        s += n + {0}\n    return s\n"
    shared = load(text.format(7))["k"]
    wrong, done = [], threading.Event()

    def work(number):
        own = load(text.format(number))["k"]
        for turn in range(30):
            for kernel, constant in ((shared, 7), (own, number)):
                try:
                    result = kernel(turn)
                    if result != 4 * (turn + constant):
                        wrong.append((number, turn, result))
                except RuntimeError as error:
                    if "reset" not in str(error) and "qd.init()" not in str(error):
                        wrong.append((number, turn, error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()

    def reset():
        while not done.wait(0.05):
            init()

    resetter = threading.Thread(target=reset)
    resetter.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    done.set()
    resetter.join(60)
    assert not resetter.is_alive()
    assert not wrong, wrong[:3]

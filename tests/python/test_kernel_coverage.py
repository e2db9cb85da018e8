"""Coverage of kernels: lines and branches in coverage.py's format, and the pytest plugin that turns it on."""

import sys

import pytest
from program_text import child_environment

import quadrants as qd

coverage = pytest.importorskip("coverage")

PROGRAM = '''
@qd.func
def helper(x):
    y = 0
    if x > 2:
        y = 5
    return y

@qd.real_func
def real(x: qd.i32) -> qd.i32:
    if x == 9:
        return 1
    return 0

@qd.kernel
def k(n: qd.i32) -> qd.i32:
    """A docstring is no statement."""
    s = 0
    for i in range(n):
        if i == 100:
            s += 1
        else:
            s += helper(i) + real(i)
    qd.loop_config(serialize=True)
    for i in range(n):
        if i == 2:
            break
    while s < 0:
        s += 1
    if qd.static(n is None):
        s = 3
    for j in qd.static(range(2)):
        s += j
    return s

@qd.kernel
def never():
    for i in range(3):
        pass

@qd.kernel(graph=True)
def turns(c: qd.types.NDArray[qd.i32, 0]):
    while qd.graph.do_while(c):
        c[()] -= 1

qd.init(arch=ARCH, offline_cache_file_path=CACHE)
assert k(5) == 11
qd.reset()
qd.init(arch=ARCH, offline_cache_file_path=CACHE)
c = qd.ndarray(qd.i32, ())
c.fill(2)
turns(c)
'''


@pytest.fixture
def measure(run_script, tmp_path):
    def run(**env):
        run_script(PROGRAM, env={"QD_KERNEL_COVERAGE": "1", **env})
        found = sorted(tmp_path.glob("_qd_kcov.*"))
        text = (tmp_path / "program.py").read_text().splitlines()
        if not found:
            return None, text
        data = coverage.CoverageData(basename=str(found[0]))
        data.read()
        assert {file.rpartition("/")[2] for file in data.measured_files()} <= {"program.py"}
        return data, text

    return run


UNREACHED = ["s += 1", "return 1", "s = 3", "pass"]


def test_lines(measure):
    """Each statement that ran, and none that did not: with the cache cold, and again when kernels come from it."""
    for _ in range(2):
        data, text = measure()
        (file,) = data.measured_files()
        reached = [text[line - 1].strip() for line in data.lines(file)]
        assert not data.has_arcs()
        assert [line for line in UNREACHED if line in reached] == []
        for line in ("y = 0", "y = 5", "return y", "if x == 9:", "return 0", "s = 0", "for i in range(n):", "break",
                     "while s < 0:", "s += j", "return s", "while qd.graph.do_while(c):", "c[()] -= 1"):  # fmt: skip
            assert line in reached, line
        assert '"""A docstring is no statement."""' not in reached


BRANCHES = {
    "if x > 2:": {"y = 5", "return y"},
    "if x == 9:": {"return 0"},
    "for i in range(n):": {"if i == 100:", "qd.loop_config(serialize=True)", "if i == 2:"},
    "if i == 100:": {"s += helper(i) + real(i)"},
    "if i == 2:": {"break", "for i in range(n):"},
    "while s < 0:": {"if qd.static(n is None):"},
    "if qd.static(n is None):": {"for j in qd.static(range(2)):"},
    "for j in qd.static(range(2)):": {"s += j", "return s"},
    "while qd.graph.do_while(c):": {"c[()] -= 1", "end"},
}


def test_branches(measure):
    data, text = measure(_QD_KCOV_ARC="1")
    (file,) = data.measured_files()
    assert data.has_arcs()
    taken = {}
    for line, to in data.arcs(file):
        if line != to:
            taken.setdefault(text[line - 1].strip(), set()).add(text[to - 1].strip() if to > 0 else "end")
    assert taken == BRANCHES


def test_off_and_bounded(measure, run_script):
    assert measure(QD_KERNEL_COVERAGE="0")[0] is None
    data, _ = measure(QD_COVERAGE_MAX_PROBES="3")
    assert sum(len(data.lines(file)) for file in data.measured_files()) <= 5  # 3 probes, and the host's own lines
    done = run_script(PROGRAM, env={"QD_KERNEL_COVERAGE": "1", "QD_COVERAGE_MAX_PROBES": "many"}, check=False)
    assert "ValueError: QD_COVERAGE_MAX_PROBES='many': accepted are integers from 0" in done.stderr


def test_results_are_the_same(init, monkeypatch):
    def run():
        init(debug=True)
        x = qd.field(qd.f32, 64)

        @qd.kernel
        def k(n: qd.i32) -> qd.f32:
            total = 0.0
            for i in x:
                x[i] = i * 0.5 if i % 3 else 1.0
                total += x[i]
            for i in range(n):
                if i > 40:
                    x[i] += 1.0
            return total

        return k(64), x.to_numpy().tolist()

    plain = run()
    monkeypatch.setenv("QD_KERNEL_COVERAGE", "1")
    monkeypatch.setattr("quadrants.lang.kernel_coverage._found", set())
    monkeypatch.setattr("quadrants.lang.kernel_coverage._handed_over", True)
    assert run() == plain
    qd.reset()  # what was found is dropped here, and not written when the suite ends


SUITE = """
import subprocess, sys
import quadrants as qd
from kernels import k

def test_here():
    qd.init(arch={arch!r}, offline_cache=False)
    assert k(3) == 3

def test_child():
    code = "import quadrants as qd; from kernels import k; qd.init(arch={arch!r}, offline_cache=False); assert k(-1) == 0"
    subprocess.run([sys.executable, "-c", code], check=True)
"""
KERNELS = """import quadrants as qd

@qd.kernel
def k(n: qd.i32) -> qd.i32:
    s = 0
    if n < 0:
        s = 0
    else:
        s = n
    if n == 77:
        s += 1
    return s
"""


@pytest.mark.parametrize("extra", [[], ["--cov-branch"], ["-n", "2"]], ids=["lines", "branches", "xdist"])
def test_plugin(arch_name, tmp_path, extra):
    pytest.importorskip("pytest_cov")
    (tmp_path / "test_suite.py").write_text(SUITE.format(arch=arch_name))
    (tmp_path / "kernels.py").write_text(KERNELS)
    import subprocess

    path = child_environment()["PYTHONPATH"]
    env = child_environment(
        HOME=str(tmp_path), PYTHONPATH=f"{path}:{tmp_path}", COVERAGE_FILE=str(tmp_path / ".coverage")
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "quadrants.pytest_plugin",
        "--cov=kernels",
        "--cov-report=term-missing",
    ]
    done = subprocess.run(
        [*command, *extra, "test_suite.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("kernels.py")]
    missing = row.partition("%")[2].split(", ")
    assert [one.strip() for one in missing] == ["11"], row  # the line that no process reached
    assert list(tmp_path.glob("_qd_kcov.*")) == []

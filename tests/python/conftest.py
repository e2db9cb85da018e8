"""Fixtures of the Python suite. `--arch cpu,reference` picks the backends; each test that asks for `arch` runs on each."""

import os
import subprocess
import sys
import textwrap

import pytest
from program_text import child_environment

DEFAULT = "cpu,reference"


def pytest_addoption(parser):
    parser.addoption("--arch", default=os.environ.get("QD_TEST_ARCHS", DEFAULT), help="backends, comma-separated")


def pytest_generate_tests(metafunc):
    if "arch_name" in metafunc.fixturenames:
        metafunc.parametrize("arch_name", metafunc.config.getoption("--arch").split(","), scope="function")


@pytest.fixture
def init(arch_name, tmp_path):
    """Call it to start a runtime with options of your own: `init(debug=True)`. Its cache lies in the test's own
    folder, or in that of QD_TEST_CACHE: two runs of the suite on one folder with QD_DEBUG_CACHE_VERIFY=1 compare every hit."""
    import quadrants as qd

    def start(**options):
        options.setdefault("offline_cache_file_path", os.environ.get("QD_TEST_CACHE") or str(tmp_path / "cache"))
        options.setdefault("log_level", "warn")
        qd.init(arch=arch_name, enable_fallback=False, **options)
        return arch_name

    yield start
    qd.reset()


@pytest.fixture
def again(init):
    """Starts the next runtime on the same cache."""

    def start(**options):
        import quadrants as qd

        qd.reset()
        init(**options)

    return start


@pytest.fixture
def arch(init):
    """A runtime on the test's backend; its value is the backend's name."""
    return init()


@pytest.fixture
def team_init(init, arch_name):
    """As `init`, for tests of threads that work together: those of a CPU don't."""
    if arch_name == "cpu":
        pytest.skip("threads of a CPU work alone: test_simt.py, test_refused_on_a_cpu")
    return init


@pytest.fixture
def team(team_init):
    return team_init()


@pytest.fixture
def run_script(tmp_path, arch_name):
    """Runs Python text in a fresh process on the test's backend and gives what it printed; `check=False` to allow failure."""

    def run(
        text: str,
        *args: str,
        check: bool = True,
        env: dict[str, str] | None = None,
        timeout: float = 120,
        name: str = "program.py",
    ):
        script = tmp_path / name
        head = (
            f"import numpy as np\nimport quadrants as qd\nARCH = {arch_name!r}\nCACHE = {str(tmp_path / 'cache')!r}\n"
        )
        script.write_text(head + textwrap.dedent(text))
        full = child_environment(HOME=str(tmp_path), **(env or {}))
        done = subprocess.run(
            [sys.executable, str(script), *args],
            env=full,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=tmp_path,
        )
        if check and done.returncode:
            raise AssertionError(f"exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    return run

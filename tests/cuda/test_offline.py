"""`offline_cache=False` on the cuda backend, to the system call: a whole program over the fake driver."""

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import quadrants as qd
qd.init(arch=qd.cuda, enable_fallback=False, offline_cache_file_path=sys.argv[1], offline_cache=sys.argv[2] == "True", log_level="warn")
f = qd.field(qd.f32, shape=8)
@qd.kernel
def k():
    for i in f: f[i] = i * 2.0
    for i in f: f[i] += 1.0
k()
qd.reset()
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("offline", [True, False])
def test_nothing_below_the_root_or_a_temporary_folder(tmp_path, offline):
    """Nothing is opened, created, asked about or removed there; with the cache on something is, so the test can see."""
    program, log, root, temporary = (tmp_path / name for name in ("program.py", "calls", "cache", "temporary"))
    program.write_text(PROGRAM)
    temporary.mkdir()
    env = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(temporary)}
    trace = ["strace", "-f", "-qq", "-e", "trace=%file", "-o", str(log)]
    command = [*trace, sys.executable, str(program), str(root), str(offline)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    if "ptrace" in done.stderr and done.returncode:
        pytest.skip("no ptrace here")
    assert done.returncode == 0, done.stderr
    calls = [line for line in log.read_text().splitlines() if str(root) in line or str(temporary) in line]
    assert bool(calls) == offline, calls[:5]
    if offline:
        assert {p.name for p in root.iterdir()} >= {"artifact", "plan", "source"}

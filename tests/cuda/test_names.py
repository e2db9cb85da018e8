"""What a tool sees of kernels, over the fake driver: a tool of ours (nvtx_tool.cpp) notes ranges, the driver functions."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, os, sys
import quadrants as qd

qd.init(arch=qd.cuda, enable_fallback=False, offline_cache_file_path=sys.argv[1], log_level="warn")
x = qd.field(qd.f32, 100)

@qd.kernel
def relax_everything(scale: qd.f32):
    for i in x:
        x[i] *= scale
    qd.loop_config(name="second half")
    for i in x:
        x[i] += 1.0

relax_everything(0.5)
relax_everything(0.25)
driver = ctypes.CDLL(os.environ["QD_CUDA_DRIVER"])
driver.fake_calls.restype = ctypes.c_char_p
print(*[line for line in driver.fake_calls().decode().splitlines() if line.startswith("cuModuleGetFunction")], sep="\\n")
"""


def run(tmp_path, **env):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    clean = {k: v for k, v in os.environ.items() if k not in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH")}
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "cache")], env={**clean, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return sorted({line.split()[1] for line in done.stdout.splitlines() if line.startswith("cuModuleGetFunction")})


@pytest.fixture
def assembler():
    path = os.environ.get("QD_TEST_PTXAS", "")
    if not path:
        pytest.skip("no ptxas: there is no finished code to rename functions in")
    return path


def test_functions_carry_kernel_and_loop_while_a_tool_is_attached(tmp_path, assembler):
    plain = run(tmp_path, QD_FAKE_PTXAS=assembler)
    assert len(plain) == 2 and all(name.startswith("qd_") for name in plain)
    # From the same cache: code is the same with a tool and without.
    named = run(tmp_path, QD_FAKE_PTXAS=assembler, CUDA_INJECTION64_PATH="/a/tool.so")
    assert named == ["relax_everything_0", "relax_everything_1_second_half"]
    assert run(tmp_path, QD_FAKE_PTXAS=assembler) == plain


def test_kernels_are_ranges(tmp_path):
    tool = os.environ.get("QD_NVTX_TOOL", "")
    if not tool:
        pytest.skip("built without NVTX")
    log = tmp_path / "ranges.txt"
    run(tmp_path, NVTX_INJECTION64_PATH=tool, QD_TOOL_LOG=str(log))
    assert log.read_text().split() == ["+relax_everything", "-"] * 2

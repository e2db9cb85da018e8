"""Kernels of thousands of statements: right results, and none of the passes that would take longer than all others."""

import platform

import numpy as np
import pytest
from program_text import load

import quadrants as qd

STEPS = 3000
UNROLLED = """
@qd.kernel
def k(a: qd.types.NDArray[qd.f32, 1]):
    for i in a:
        x = a[i]
        for j in qd.static(range(STEPS)):
            x = x * 0.5 + j
        a[i] = x
"""
STORES = """
@qd.kernel
def k(a: qd.types.NDArray[qd.f32, 1]):
    for j in qd.static(range(STEPS)):
        a[j % 8] = a[(j + 1) % 8] * 0.5 + j
"""
BRANCHES = "@qd.kernel\ndef k(a: qd.types.NDArray[qd.f32, 1]):\n    for i in a:\n        x = a[i]\n" + "".join(
    f"        if i > {j % 8}:\n            x = x * 0.5 + {j}.0\n" for j in range(STEPS // 4)
)
BRANCHES += "        a[i] = x\n"


def unrolled(a):
    for j in range(STEPS):
        a[:] = a * np.float32(0.5) + np.float32(j)


def stores(a):
    for j in range(STEPS):
        a[j % 8] = a[(j + 1) % 8] * np.float32(0.5) + np.float32(j)


def branches(a):
    for j in range(STEPS // 4):
        chosen = np.arange(8) > j % 8
        a[chosen] = a[chosen] * np.float32(0.5) + np.float32(j)


@pytest.mark.parametrize(
    "text, expected",
    [(UNROLLED, unrolled), (STORES, stores), (BRANCHES, branches)],
    ids=["unrolled", "stores", "branches"],
)
def test_results(init, text, expected):
    init(unrolling_limit=0, fast_math=False)
    a = np.arange(8, dtype=np.float32)
    b = a.copy()
    load(text, STEPS=STEPS)["k"](a)
    expected(b)
    assert np.allclose(a, b, rtol=1e-6)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads assembly of x86")
@pytest.mark.parametrize("steps, vectors", [(20, True), (STEPS, False)])
def test_long_chains_are_not_vectorised(tmp_path, steps, vectors):
    """The vectoriser's time is the sum of the lengths of all chains of operands."""
    qd.init(arch=qd.cpu, unrolling_limit=0, offline_cache=False, print_kernel_asm=True, debug_dump_path=str(tmp_path))
    load(UNROLLED, STEPS=steps)["k"](np.ones(8, np.float32))
    qd.reset()
    (assembly,) = [path.read_text() for path in tmp_path.glob("*.s")]
    multiplied = [line for line in assembly.splitlines() if "mul" in line or "fmadd" in line]
    assert any("ps" in line.split()[0] for line in multiplied) is vectors

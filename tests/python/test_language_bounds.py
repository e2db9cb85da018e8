"""Bounds of loops beyond the signed range: no iteration is lost, and the index counts as the bounds do."""

import numpy as np
import pytest
from program_text import load

import quadrants as qd

TEXT = """
@qd.kernel
def k(low: {type}, high: {type}, seen: qd.types.NDArray[qd.u64, 1]) -> qd.i32:
    runs = 0
    {config}
    for i in {loop}:
        seen[qd.cast(i - low, qd.i32)] = i
        runs += 1
    return runs
"""
U64 = [
    (2**63 - 2, 2**63 + 3),
    (2**63 + 2, 2**63 + 5),
    (2**64 - 3, 2**64 - 1),
    (2**32 - 2, 2**32 + 2),
    (0, 4),
    (5, 3),
    (2**64 - 1, 1),
]
U32 = [(2**31 - 2, 2**31 + 3), (2**32 - 3, 2**32 - 1), (0, 4), (5, 3)]
BOUNDS = [("qd.u64", *pair) for pair in U64] + [("qd.u32", *pair) for pair in U32]


@pytest.mark.parametrize("config", ["pass", "qd.loop_config(serialize=True)"])
@pytest.mark.parametrize("loop", ["range(low, high)", "qd.ndrange((low, high))"])
def test_unsigned_bounds(arch, loop, config):
    for kind, low, high in BOUNDS:
        k = load(TEXT.format(type=kind, config=config, loop=loop))["k"]
        seen = np.zeros(8, np.uint64)
        expected = list(range(low, high))
        assert k(low, high, seen) == len(expected), (kind, low, high)
        assert seen.tolist() == expected + [0] * (8 - len(expected)), (kind, low, high)


ROWS = {
    # name: (loop, iterations of the first eleven that run)
    "to an unsigned end": ("range(n)", 11),
    "from a constant": ("range(2**62 - 1, n)", 11),
    "from beyond the signed range": ("range(qd.u64(2**63 + 1), n)", 4),
    "from a negative number": ("range(-3, n)", 11),
    "signed and unsigned": ("range(m, n)", 11),
    "signed, from beyond": ("range(n, m)", 0),
    "constants": ("range(qd.u64(2**63 - 2), qd.u64(2**63 + 2))", 4),
}


@pytest.mark.parametrize("name", ROWS)
def test_bounds_that_are_far_apart(arch, name):
    loop, expected = ROWS[name]
    text = """
        @qd.kernel
        def k(n: qd.u64, m: qd.i64) -> qd.i32:
            runs = 0
            qd.loop_config(serialize=True)
            for i in {loop}:
                runs += 1
                if runs > 10:
                    break
            return runs
        """
    assert load(text.replace("{loop}", loop))["k"](2**63 + 5, -5) == expected


def test_groups_of_unsigned_indices(arch):
    @qd.kernel
    def k(low: qd.u64, high: qd.u64, out: qd.types.NDArray[qd.u64, 2]):
        for at in qd.grouped(qd.ndrange((low, high), 2)):
            out[qd.cast(at[0] - low, qd.i32), at[1]] = at[0]

    out = np.zeros((3, 2), np.uint64)
    k(2**63 - 1, 2**63 + 2, out)
    assert out.tolist() == [[2**63 - 1 + i] * 2 for i in range(3)]

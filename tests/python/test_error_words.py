"""What a program holds, used as what it is not: the error is of the language, at the line, and in its words alone."""

import re

import pytest
from program_text import load

import quadrants as qd

HEAD = """
S = qd.types.struct(x=qd.i32)
F = S.field(shape=4)
G = qd.field(qd.i32, 4)
V = qd.Vector.field(3, qd.i32, 4)
W = qd.Vector([0.5] * 20)
@qd.kernel
def k(a: qd.types.NDArray[qd.i32, 1], i: qd.i32, b: qd.BufferView):
    v = qd.Vector([1, 2, 3])
    w = qd.Vector([1.0] * 20)
    m = qd.Matrix([[1, 2], [3, 4]])
    t = S(1)
"""
THINGS = (
    "v[i] w[i] m[i,0] V[0][i] F[0] F[0].x F F.x G G[0] V V[0] v.x G.parent() qd.ndrange(3) range(3) qd.grouped(G) t t.x W "
    "qd.static v.dot qd.frexp(1.5) a[1:] a b[i] b"
).split()
USES = [
    "{}()", "{}.foo", "{}['q']", "q = {} + 'a'", "q = {} + None", "q = -{}", "for q in {}: pass", "if {}: pass", "q = qd.sin({})",
    "{}.foo = 1", "G[0] = {}", "q = [1, 2][{}]",
]  # fmt: skip
OURS = re.compile(
    r"\b(Value|Var|Acc|AccStruct|Mat|MatVar|Elem|Slot|Rec|RecVar|Bundle|View|Node|Parent|Big|Places|ElementMembers|Range|Grouped|Frexp)\b"
)


@pytest.mark.parametrize("thing", THINGS)
def test_words(arch, thing):
    a = qd.ndarray(qd.i32, 4)
    refused = 0
    for use in USES:
        line = use.format(thing)
        try:
            load(f"{HEAD}    {line}\n")["k"](a, 1, a[1:3])
        except qd.QuadrantsCompilationError as e:
            refused += 1
            message = str(e).rsplit("^\n", 1)[-1]
            assert not OURS.search(message), f"{line}: {message}"
            assert f"\n    {line}\n" in str(e), f"{line}: {e}"
    assert refused > 4

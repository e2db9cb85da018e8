"""Standard-library dataclasses as arguments of kernels and functions."""

import dataclasses

import numpy as np
import pytest
from program_text import load

import quadrants as qd
from quadrants.lang.exception import QuadrantsRuntimeTypeError, QuadrantsSyntaxError

HEAD = """
import dataclasses
@dataclasses.dataclass({options})
class Inner:
    a: qd.types.ndarray(qd.f32, 1)
    n: qd.i32
@dataclasses.dataclass({options})
class Outer:
    x: qd.types.NDArray[qd.f32, 1]
    inner: Inner
    f: qd.template
    s: float
    v: qd.types.vector(2, qd.f32)
    t: qd.types.struct(b=qd.i32)
    unused: qd.types.NDArray[qd.i32, 1]
    @qd.func
    def scaled(self, y):
        return self.s * y
@qd.func
def read(i: Inner, k):
    return i.a[k] * i.n
@qd.func
def both(o: Outer, k):
    return read(o.inner, k) + o.s
F = qd.field(qd.f32, 3)
F[0] = 9.0
def make(**changes):
    a, x = qd.ndarray(qd.f32, 3), qd.ndarray(qd.f32, 3)
    a.fill(2.0)
    members = dict(x=x, inner=Inner(a, 3), f=F, s=0.5, v=qd.Vector([1.0, 2.0]), t=qd.Struct(b=7), unused=None)
    return Outer(**{{**members, **changes}})
"""
ROWS = {
    # name: (body, value of the kernel)
    "scalar": ("r = o.s", 0.5),
    "nested scalar": ("r = o.inner.n", 3),
    "nested array": ("r = o.inner.a[1] + o.inner.a.shape[0]", 5),
    "field": ("r = o.f[0]", 9),
    "vector": ("r = o.v[1] + o.v.sum()", 5),
    "struct": ("r = o.t.b", 7),
    "method": ("r = o.scaled(4)", 2),
    "function": ("r = both(o, 1)", 6.5),
    "nested function": ("r = read(o.inner, 0)", 6),
    "alias": ("i = o.inner\nr = i.n", 3),
    "first read in a branch": ("if r == 0:\n    r = o.inner.a[0]\nr += o.inner.a[1] + o.inner.n", 7),
    "shape first read in a loop": ("for j in range(2):\n    r += o.x.shape[0]\nr += o.x.shape[0]", 9),
    "loop over a member": ("for j in o.x:\n    o.x[j] = o.s + j\nr = o.x[2]", 2.5),
    "loop bound": ("for j in range(o.inner.n):\n    o.x[j] += o.s\nr = o.x[0] + o.x[2]", 1),
    "static": ("if qd.static(o.f.shape[0] == 3):\n    r = 4", 4),
}


@pytest.mark.parametrize("options", ["", "frozen=True"])
@pytest.mark.parametrize("name", ROWS)
def test_member(arch, name, options):
    body, expected = ROWS[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    head = HEAD.format(options=options)
    space = load(f"{head}\n@qd.kernel\ndef k(o: Outer) -> qd.f32:\n    r = 0.0\n{lines}    return r\n")
    assert space["k"](space["make"]()) == expected


def count(kernel):
    """Counts specialisations of a kernel."""
    made, specialise = [], kernel._primal._compile

    def compile_(*args):
        made.append(args)
        return specialise(*args)

    kernel._primal._compile = compile_
    return made


def test_specialised_by_kind_of_members(arch):
    head = HEAD.format(options="")
    space = load(f"{head}\n@qd.kernel\ndef k(o: Outer) -> qd.f32:\n    return o.inner.a[0] + o.s + o.f[0]\n")
    k, make, made = space["k"], space["make"], count(space["k"])
    o = make()
    assert k(o) == 11.5 and k(make()) == 11.5
    o.s = 1.5
    assert k(o) == 12.5
    o.inner.a = qd.ndarray(qd.f32, 7)
    assert k(o) == 10.5
    o.unused = "anything"
    assert k(o) == 10.5 and len(made) == 1
    o.f = qd.field(qd.f32, 3)
    assert k(o) == 1.5 and len(made) == 2
    o.inner.a = np.array([4, 5], np.float32)
    assert k(o) == 5.5 and len(made) == 3


def test_two_parameters_and_keywords(arch):
    head = HEAD.format(options="frozen=True")
    space = load(
        f"{head}\n@qd.kernel\ndef k(n: qd.i32, a: Inner, b: Inner) -> qd.f32:\n    return n + a.n * 10 + b.n * 100 + b.a[0]\n"
    )
    Inner, k = space["Inner"], space["k"]
    x = qd.ndarray(qd.f32, 2)
    x[0] = 0.5
    assert k(1, Inner(x, 2), Inner(x, 3)) == 321.5 and k(b=Inner(x, 4), n=1, a=Inner(x, 2)) == 421.5


@pytest.mark.parametrize(
    "wrong, kind, text",
    [
        ("3", QuadrantsRuntimeTypeError, r"Argument \(0,\).*required type Outer.*parameter 'o' of kernel 'k'"),
        ("make().inner", QuadrantsRuntimeTypeError, "required type Outer"),
        ("make(inner=Inner(3, 3))", QuadrantsRuntimeTypeError, "o.inner.a"),
        ("make(inner=make())", QuadrantsRuntimeTypeError, "required type Inner"),
        ("make(inner=Inner(qd.ndarray(qd.i32, 3), 3))", ValueError, "dtype=f32"),
    ],
)
def test_wrong_objects(arch, wrong, kind, text):
    space = load(f"{HEAD.format(options='')}\n@qd.kernel\ndef k(o: Outer) -> qd.f32:\n    return o.inner.a[0]\n")
    for _ in range(2):
        with pytest.raises(kind, match=text):
            space["k"](eval(wrong, space))
        assert space["k"](space["make"]()) == 2


@pytest.mark.parametrize("line", ["o.s = 3.0", "o.inner.n += 1", "o.v[0] = 1.0", "o = 3"])
def test_members_cannot_be_assigned(arch, line):
    space = load(f"{HEAD.format(options='')}\n@qd.kernel\ndef k(o: Outer):\n    {line}\n")
    with pytest.raises(QuadrantsSyntaxError, match="immutable"):
        space["k"](space["make"]())


def test_text_annotations(arch):
    space = load(
        "from __future__ import annotations\nimport dataclasses\n@dataclasses.dataclass\nclass P:\n    n: qd.i32\n"
        "    @qd.func\n    def twice(self):\n        return self.n * 2\n"
        "@qd.kernel\ndef k(p: P) -> qd.i32:\n    return p.twice()\n"
    )
    assert space["k"](space["P"](4)) == 8


def test_inheritance(arch):
    space = load(
        "import dataclasses\n@dataclasses.dataclass\nclass P:\n    n: qd.i32\n    @qd.func\n    def g(self):\n        return 1\n"
        "@dataclasses.dataclass\nclass Q(P):\n    m: qd.i32\n    @qd.func\n    def g(self):\n        return self.m\n"
        "@qd.kernel\ndef k(p: P) -> qd.i32:\n    return p.n + p.g()\n"
    )
    assert space["k"](space["P"](4)) == 5 and space["k"](space["Q"](4, 10)) == 14 and space["k"](space["P"](5)) == 6


def test_many_members(arch):
    fields = [(f"m{i}", qd.types.ndarray(qd.i32, 1)) for i in range(40)]
    cls = dataclasses.make_dataclass("State", fields, frozen=True)
    arrays = [qd.ndarray(qd.i32, 2) for _ in fields]
    for i, a in enumerate(arrays):
        a.fill(i)
    lines = "".join(f"        s.m{i}[j] += s.m{i + 1}[j]\n" for i in range(39))
    space = load(f"@qd.kernel\ndef k(s: State):\n    for j in range(2):\n{lines}", State=cls)
    space["k"](cls(*arrays))
    assert [a[0] for a in arrays] == [2 * i + 1 for i in range(39)] + [39]

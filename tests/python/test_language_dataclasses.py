"""Standard-library dataclasses as arguments of kernels and functions."""

import dataclasses

import numpy as np
import pytest
from program_text import compiles, load

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


OF_THE_CLASS = {
    # name: (expression, value)
    "constant": ("p.K", 7),
    "inherited constant": ("p.BASE", 11),
    "enumeration": ("p.MODE.value", 2),
    "nested class": ("p.Inside.Z", 4),
    "static method": ("p.add1(3)", 4),
    "device function, static": ("p.add2(3)", 5),
    "class method": ("p.of_class(3)", 10),
    "method": ("p.method(3)", 8),
    "method of a method": ("p.twice_removed(3)", 14),
    "inherited method": ("p.base(2)", 3),
    "property": ("p.double", 10),
    "property that is a device function": ("p.triple", 15),
    "property of a property": ("p.six_times", 30),
    "property of a member": ("p.inner.q3", 18),
    "Python method": ("p.plain(3)", 8),
    "Python function": ("outside(p, 3)", 8),
    "called on the class": ("P.method(p, 3)", 8),
    "class": ("type(p).K + p.__class__.K", 14),
    "getattr": ("getattr(p, 'n') + getattr(p, 'nope', 2)", 7),
    "hasattr": ("1 if qd.static(hasattr(p, 'n') and not hasattr(p, 'nope') and isinstance(p, P)) else 0", 1),
}
PEOPLE = """
import dataclasses, enum
class Mode(enum.IntEnum):
    A = 1
    B = 2
@dataclasses.dataclass
class Base:
    m: qd.i32
    BASE = 11
    @qd.func
    def base(self, k):
        return self.m + k
@dataclasses.dataclass
class In:
    q: qd.i32
    @property
    def q3(self):
        return self.q * 3
@dataclasses.dataclass
class P(Base):
    n: qd.i32
    inner: In
    K = 7
    MODE = Mode.B
    class Inside:
        Z = 4
    @staticmethod
    def add1(k):
        return k + 1
    @staticmethod
    @qd.func
    def add2(k):
        return k + 2
    @classmethod
    def of_class(cls, k):
        return k + cls.K
    @qd.func
    def method(self, k):
        return self.n + k
    @qd.func
    def twice_removed(self, k):
        return self.method(k) + self.inner.q
    @property
    def double(self):
        return self.n * 2
    @property
    @qd.func
    def triple(self):
        return self.n * 3
    @property
    def six_times(self):
        return self.triple * 2
    def plain(self, k):
        return self.n + k
    def sets(self):
        self.n = 3
    def __post_init__(self):
        self.extra = 5
    def __len__(self):
        return 3
    def __add__(self, other):
        return 3
def outside(p, k):
    return p.n + k
"""


@pytest.mark.filterwarnings("ignore:Calling non-quadrants")
@pytest.mark.parametrize("name", OF_THE_CLASS)
def test_what_the_class_has(arch, name):
    expression, expected = OF_THE_CLASS[name]
    space = load(f"{PEOPLE}\n@qd.kernel\ndef k(p: P) -> qd.i32:\n    return {expression}\n")
    P, In = space["P"], space["In"]
    assert space["k"](P(1, 5, In(6))) == expected


WRONG = [
    ("p.sets()", qd.QuadrantsTypeError, "'n' is assigned by a Python function"),
    ("p.nope", AttributeError, "'P' has no member 'nope'.*the members m, n, inner"),
    ("p.extra", AttributeError, "'P' has no member 'extra'"),
    ("p + 1", qd.QuadrantsTypeError, "for '.': 'P' and 'i32'"),
    ("p == p", qd.QuadrantsTypeError, "cannot be compared"),
    ("p[0]", qd.QuadrantsTypeError, "'P' cannot be indexed"),
    ("p(1)", qd.QuadrantsTypeError, "'P' is not callable"),
    ("len(p)", qd.QuadrantsTypeError, "'P' has no len"),
    ("qd.sqrt(p)", qd.QuadrantsTypeError, "'P'"),
    ("1 if p else 2", qd.QuadrantsTypeError, "a 'P' is no condition"),
    ("p", QuadrantsRuntimeTypeError, r"Return \(type=P\)"),
    ("str(p)", qd.QuadrantsTypeError, r"str\(\) of a P"),
]


@pytest.mark.filterwarnings("ignore:Calling non-quadrants")
@pytest.mark.parametrize("expression, kind, text", WRONG, ids=[row[0] for row in WRONG])
def test_what_such_an_object_is_not(arch, expression, kind, text):
    space = load(f"{PEOPLE}\n@qd.kernel\ndef k(p: P) -> qd.i32:\n    return {expression}\n")
    with pytest.raises(kind, match=text):
        space["k"](space["P"](1, 5, space["In"](6)))


WRONG_MEMBERS = [
    # member given, how the error speaks of it
    ("s='a'", "o.s"), ("s=None", "o.s"), ("s=1j", "o.s"), ("s=10**400", "o.s"), ("s=[1.0]", "o.s"),
    ("v=3.0", "o.v"), ("v=[1.0, 2.0, 3.0]", "o.v"), ("v=None", "o.v"),
    ("t=qd.Struct(c=1)", "o.t"), ("t=qd.Struct(b=1.5)", "o.t.b"), ("t={'b': 'x'}", "o.t.b"),
    ("inner=Inner(a, 2.5)", "o.inner.n"), ("inner=Inner(a, 2**70)", "o.inner.n"), ("inner=Inner(3, 3)", "o.inner.a"),
    ("inner=Inner(qd.ndarray(qd.i32, 3), 3)", "o.inner.a"), ("inner=Inner(qd.ndarray(qd.f32, (3, 3)), 3)", "o.inner.a"),
    ("inner=3", "o.inner"), ("x=np.zeros(3)", "o.x"), ("x=np.zeros(6, np.float32)[::2]", "o.x"), ("x=3", "o.x"),
]  # fmt: skip


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("wrong, where", WRONG_MEMBERS, ids=[row[0] for row in WRONG_MEMBERS])
def test_wrong_members_are_named(arch, wrong, where, later):
    space = load(
        f"{HEAD.format(options='')}a = qd.ndarray(qd.f32, 3)\n@qd.kernel\ndef k(z: qd.i32, o: Outer) -> qd.f32:\n"
        "    return o.x[0] + o.s + o.v[0] + o.t.b + o.inner.a[0] + o.inner.n\n"
    )
    if later:
        space["k"](0, space["make"]())
    value = eval(f"make({wrong})", space)
    with pytest.raises((QuadrantsRuntimeTypeError, ValueError)) as error:
        space["k"](0, value)
    text = str(error.value)
    assert f"'{where}'" in text or f'"{where}"' in text
    assert "Argument" not in text or "Argument (1,)" in text


def test_specialised_by_kind_of_members(arch):
    head = HEAD.format(options="")
    space = load(f"{head}\n@qd.kernel\ndef k(o: Outer) -> qd.f32:\n    return o.inner.a[0] + o.s + o.f[0]\n")
    k, make, made = space["k"], space["make"], compiles(space["k"])
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


@pytest.mark.parametrize(
    "line", ["if o: pass", "x = o[0]", "x = o + 1", "x = o()", "x = -o", "o.inner.a[0] = o", "for x in o: pass"]
)
def test_whole_objects_are_no_values(arch, line):
    """Refused in the words of the language, at the line."""
    space = load(f"{HEAD.format(options='')}\n@qd.kernel\ndef k(o: Outer):\n    {line}\n")
    with pytest.raises(qd.QuadrantsCompilationError, match="Outer") as caught:
        space["k"](space["make"]())
    assert "Bundle" not in str(caught.value) and "^" in str(caught.value)


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


def test_annotations_that_no_member_can_have(arch):
    space = load(
        "import dataclasses\n@dataclasses.dataclass\nclass P:\n    n: qd.i32\n    text: str\n"
        "@qd.kernel\ndef k(a: qd.i32, p: P) -> qd.i32:\n    return p.text\n"
    )
    with pytest.raises(QuadrantsSyntaxError, match=r"\(argument 1\).*<class 'str'>, of \"p.text\" of \"k\""):
        space["k"](1, space["P"](2, "a"))

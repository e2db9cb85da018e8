"""`@qd.data_oriented` classes: methods of all kinds, members of all kinds, cycles, many objects, numbers as arguments."""

import gc
import warnings
import weakref

import pytest
from program_text import compiles, load

import quadrants as qd
from quadrants.lang.exception import QuadrantsSyntaxError

CLASS = """
class Nested:
    def __init__(self, n):
        self.n = n
@qd.data_oriented
class Part:
    def __init__(self, n):
        self.n, self.x = n, qd.field(qd.i32, 3)
    @qd.func
    def get(self, i):
        return self.x[i] + self.n
@qd.data_oriented
class C:
    K = 4
    def __init__(self, n):
        self.n, self.f, self.on = n, 1.5, True
        self.x, self.a = qd.field(qd.i32, 4), qd.ndarray(qd.i32, 4)
        self.part, self.me, self.plain = Part(n), self, Nested(n)
        self.parts, self.table, self.name = [Part(1), Part(2)], {"k": 6}, "c"
        self.part.owner = self
    @property
    def twice(self):
        return self.n * 2
    @staticmethod
    @qd.func
    def plus(a):
        return a + 1
    @classmethod
    @qd.func
    def of_class(cls, a):
        return a + cls.K
    @qd.func
    def scaled(self, a):
        return a * self.n
    @qd.func
    def virtual(self):
        return 1
    @staticmethod
    @qd.kernel
    def static_kernel(a: qd.i32) -> qd.i32:
        return a * 2
    @classmethod
    @qd.kernel
    def class_kernel(cls) -> qd.i32:
        return cls.K
    @property
    @qd.kernel
    def value(self) -> qd.i32:
        return self.n
    @qd.kernel
    def k(self) -> qd.f32:
        r = 0.0
{body}
        return r
@qd.data_oriented
class D(C):
    @qd.func
    def virtual(self):
        return 2
"""
ROWS = {
    # name: (body that computes r for C(3), value)
    "number": ("r = self.n", 3),
    "class attribute": ("r = self.K", 4),
    "property": ("r = self.twice", 6),
    "staticmethod": ("r = self.plus(5)", 6),
    "classmethod": ("r = self.of_class(5)", 9),
    "method": ("r = self.scaled(5)", 15),
    "member object": ("r = self.part.n", 3),
    "method of a member": ("self.part.x[1] = 7\nr = self.part.get(1)", 10),
    "cycle": ("r = self.me.me.n + self.part.owner.part.n", 6),
    "plain object": ("r = self.plain.n", 3),
    "list of objects": ("for p in qd.static(self.parts):\n    r += p.n\nr += self.parts[1].n", 5),
    "dict": ("r = self.table['k']", 6),
    "text": ("if qd.static(self.name == 'c'):\n    r = 8", 8),
    "field": ("for i in self.x:\n    self.x[i] += self.n + i\nr = self.x[2]", 5),
    "ndarray": ("for i in self.a:\n    self.a[i] += self.n + i\nr = self.a[2]", 5),
    "loop bound": ("for i in range(self.n):\n    r += 1", 3),
    "unrolled": ("for i in qd.static(range(self.n)):\n    r += i", 3),
    "condition": ("if self.on:\n    r = self.f", 1.5),
}


def make(body="r = self.n", head=CLASS):
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return load(head.replace("{body}", lines))


@pytest.mark.parametrize("name", ROWS)
def test_member(arch, name):
    body, expected = ROWS[name]
    space = make(body)
    assert space["C"](3).k() == expected and space["D"](3).k() == expected


def test_kinds_of_kernels(arch):
    space = make("r = self.virtual()")
    C, D = space["C"], space["D"]
    c, d = C(3), D(4)
    assert c.static_kernel(4) == C.static_kernel(4) == 8 and c.class_kernel() == C.class_kernel() == 4
    assert c.value == 3 and d.value == 4 and c.k() == 1 and d.k() == 2 and C.k(c) == 1


def test_changes_are_seen(arch):
    space = make("r = self.n * 1000 + self.part.n * 100 + self.K * 10 + self.parts[0].n + self.a.shape[0]")
    c = space["C"](1)
    assert c.k() == 1145
    c.n = 2
    assert c.k() == 2145
    c.part.n = 3
    assert c.k() == 2345
    space["C"].K = 5
    assert c.k() == 2355
    c.parts[0].n = 2
    assert c.k() == 2356
    c.a = qd.ndarray(qd.i32, 9)
    assert c.k() == 2361
    c.parts = [c.part]
    assert c.k() == 2362


def test_arrays_of_many_objects(arch):
    space = make("for i in self.a:\n    self.a[i] += self.n\nr = self.a[0]")
    objects = [space["C"](n) for n in (1, 2, 1, 3)]
    for _ in range(2):
        for c in objects:
            c.k()
    assert [c.a[0] for c in objects] == [2, 4, 2, 6]


def test_new_objects_compile_nothing(arch):
    space = make("for i in self.a:\n    self.a[i] += self.n\nr = self.x[0]")
    space["C"](1).k()
    seen = space["C"].k._primal.per_offload_cache_observations
    assert seen.tasks_recompiled > 0
    for _ in range(3):
        space["C"](1).k()
        assert seen.tasks_recompiled == 0


def test_objects_are_not_kept_alive(arch):
    space = make("r = self.me.n + self.part.owner.n")
    c = space["C"](3)
    assert c.k() == 6
    alive = weakref.ref(c)
    del c
    gc.collect()
    assert alive() is None


def test_template_arguments(arch):
    space = make()
    k = load("@qd.kernel\ndef k(c: qd.template(), d: qd.Template) -> qd.i32:\n    return c.n * 10 + d.part.n\n")["k"]
    assert k(space["C"](3), space["C"](4)) == 34


def test_without_the_decorator(arch):
    space = load("class C:\n    @qd.kernel\n    def k(self) -> qd.i32:\n        return 1\n")
    with pytest.raises(QuadrantsSyntaxError, match="Please decorate class C with @qd.data_oriented"):
        space["C"]().k()


def test_members_cannot_be_assigned(arch):
    with pytest.raises(QuadrantsSyntaxError, match="immutable"):
        make("self.n = 4")["C"](3).k()


def test_plain_method_warns(arch):
    space = load(
        "@qd.data_oriented\nclass C:\n    def helper(self):\n        return 3\n    @qd.kernel\n    def k(self) -> qd.i32:\n        return self.helper()\n"
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert space["C"]().k() == 3
    assert any('Calling non-quadrants function "helper"' in str(w.message) for w in seen)


# --------------------------------------------------------------------------------------------- numbers as arguments
LIFTED = """
@qd.data_oriented(template_primitives=False)
class Part:
    def __init__(self, n):
        self.n = n
@qd.data_oriented
class Baked:
    def __init__(self, n):
        self.n = n
@qd.data_oriented(template_primitives=False)
class C:
    def __init__(self, n):
        self.n, self.f, self.on, self.name = n, 1.5, True, "c"
        self.part, self.baked = Part(n), Baked(n)
    @qd.func
    def scaled(self, x):
        return x * self.n
    @qd.kernel
    def k(self) -> qd.f32:
        r = 0.0
{body}
        return r
@qd.data_oriented
class Owner:
    def __init__(self, n):
        self.part = Part(n)
    @qd.kernel
    def k(self) -> qd.i32:
        return self.part.n
"""


def test_lifted_numbers(arch):
    body = "if r == 0:\n    r += self.n * 1000\nfor i in range(self.n):\n    r += self.f\nif self.on:\n    r += self.scaled(100)\nr += self.part.n"
    space = make(body, LIFTED)
    C = space["C"]
    made = compiles(C.k)

    def expected(c):
        return c.n * 1000 + c.n * c.f + c.on * 100 * c.n + c.part.n

    c = C(2)
    for name, value in (("n", 2), ("n", 5), ("f", 2.5), ("on", False), ("n", 0), ("on", True)):
        setattr(c, name, value)
        assert c.k() == expected(c)
    c.part.n = 70
    assert c.k() == expected(c) and len(made) == 1
    c.n = 2.5  # a number of another type: compiled again
    with pytest.warns(SyntaxWarning, match="bound of range from f32"):
        assert c.k() == 2500 + 2 * c.f + 250 + 70 and len(made) == 2


def test_lifted_numbers_change_their_type(arch):
    space = make("r = self.n / 2 + self.f", LIFTED)
    c = space["C"](3)
    made = compiles(space["C"].k)
    assert c.k() == 3
    c.n = 2.5
    assert c.k() == 2.75 and len(made) == 2
    c.f = 1
    assert c.k() == 2.25 and len(made) == 3
    c.n, c.f = 3, 1.5
    assert c.k() == 3 and len(made) == 3


def test_each_class_decides(arch):
    space = make("r = self.part.n * 10 + self.baked.n", LIFTED)
    c = space["C"](3)
    made = compiles(space["C"].k)
    assert c.k() == 33
    c.part.n = 4
    assert c.k() == 43 and len(made) == 1
    c.baked.n = 5
    assert c.k() == 45 and len(made) == 2
    o = space["Owner"](3)
    made = compiles(space["Owner"].k)
    assert o.k() == 3
    o.part.n = 8
    assert o.k() == 8 and len(made) == 1
    o.part = space["Part"](9)
    assert o.k() == 9


@pytest.mark.parametrize(
    "body",
    ["for i in qd.static(range(self.n)):\n    r += i", "if qd.static(self.on):\n    r = 1", "r = qd.static(self.n)"],
)
def test_lifted_numbers_are_not_static(arch, body):
    with pytest.raises(QuadrantsSyntaxError, match="template_primitives=False.*cannot be used inside qd.static"):
        make(body, LIFTED)["C"](3).k()


def test_text_stays_static(arch):
    assert make("if qd.static(self.name == 'c'):\n    r = 8", LIFTED)["C"](3).k() == 8


OPERATORS = [
    ("v + n", 7), ("n + v", 502), ("v * n", 10), ("v(n)", 11), ("v[n]", 3), ("-v", -5), ("int(v < n)", 0),
    ("int(v == n)", 0), ("(v + n) * v[1]", 28), ("v + qd.Vector([n, 1])[0]", 7),
]  # fmt: skip


@pytest.mark.parametrize("expression, expected", OPERATORS)
def test_operators_of_objects(arch, expression, expected):
    """Special methods that are functions of the language are inlined where kernels use the operator."""
    methods = {
        "__add__": "self.x + o", "__radd__": "self.x * 100 + o", "__mul__": "self.x * o", "__call__": "self.x * o + 1",
        "__getitem__": "self.x - o", "__lt__": "self.x < o", "__eq__": "self.x == o",
    }  # fmt: skip
    text = "@qd.data_oriented\nclass V:\n    def __init__(self, x):\n        self.x = x\n"
    text += "".join(f"    @qd.func\n    def {name}(self, o):\n        return {e}\n" for name, e in methods.items())
    text += "    @qd.func\n    def __neg__(self):\n        return -self.x\n    __hash__ = object.__hash__\n"
    text += f"v = V(5)\n@qd.kernel\ndef k(n: qd.i32) -> qd.i32:\n    return {expression}\n"
    assert load(text)["k"](2) == expected

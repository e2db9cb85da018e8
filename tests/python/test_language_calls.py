"""Device functions, arguments by value and by reference, classes, calls of Python at compile time."""

import warnings

import numpy as np
import pytest
from program_text import load

import quadrants as qd

ROWS = {
    # name: (program with a kernel `k() -> i32`, value)
    "value": ("@qd.func\ndef f(x, y: qd.i32 = 5):\n    x += y\n    return x", "a = 1\nr = f(a) * 100 + a", 601),
    "keywords": ("@qd.func\ndef f(x, y):\n    return x * 10 + y", "r = f(y=1, x=2)", 21),
    "starred": ("@qd.func\ndef f(x, y, z):\n    return x * 100 + y * 10 + z", "t = (2, 3)\nr = f(1, *t)", 123),
    "several results": ("@qd.func\ndef f(x):\n    return x, x + 1", "a, b = f(4)\nr = a * 10 + b", 45),
    "cast of argument": ("@qd.func\ndef f(x: qd.i32):\n    return x", "r = f(2.9)", 2),
    "cast of result": ("@qd.func\ndef f(x) -> qd.i32:\n    return x * 1.5", "r = f(3)", 4),
    "annotations that are no types": (
        "import typing\n@qd.func\ndef f(x) -> qd.Vector:\n    return qd.Vector([x, 2])\n"
        "@qd.func\ndef g(x) -> typing.Tuple:\n    return x, 3\n@qd.func\ndef h(x) -> tuple:\n    return x, 4",
        "r = f(1).sum() * 100 + g(2)[1] * 10 + h(3)[1]",
        334,
    ),
    "reference": ("@qd.func\ndef f(x: qd.template()):\n    x += 5", "a = 1\nf(a)\nr = a", 6),
    "reference through two": (
        "@qd.func\ndef g(x: qd.Template):\n    x = 7\n@qd.func\ndef f(x: qd.template()):\n    g(x)",
        "a = 1\nf(a)\nr = a",
        7,
    ),
    "reference to vector": (
        "@qd.func\ndef f(v: qd.template()):\n    v[1] = 8",
        "a = qd.Vector([1, 2])\nf(a)\nr = a[1]",
        8,
    ),
    "vector by value": (
        "@qd.func\ndef f(v):\n    v[1] = 8\n    return v.sum()",
        "a = qd.Vector([1, 2])\nr = f(a) * 10 + a[1]",
        92,
    ),
    "static early return": (
        "@qd.func\ndef f(c: qd.template()):\n    if qd.static(c > 0):\n        return 1\n    return 2",
        "r = f(1) * 10 + f(0)",
        12,
    ),
    "atomic on argument": ("@qd.func\ndef f(x):\n    o = qd.atomic_add(x, 2)\n    return x * 10 + o", "r = f(3)", 53),
    "function as argument": (
        "@qd.func\ndef add(x, y):\n    return x + y\n@qd.func\ndef f(op: qd.template(), x):\n    return op(x, 4)",
        "r = f(add, 3)",
        7,
    ),
    "functions in a list": (
        "@qd.func\ndef one(x):\n    return x + 1\n@qd.func\ndef two(x):\n    return x * 2\nOPS = [one, two]",
        "r = 3\nfor op in qd.static(OPS):\n    r = op(r)",
        8,
    ),
    "loop in function": (
        "@qd.func\ndef f(n):\n    s = 0\n    for i in range(n):\n        s += i\n    return s",
        "r = f(5)",
        10,
    ),
    "typed vectors": (
        "V = qd.types.vector(2, qd.f32)\n@qd.func\ndef f(v: V) -> V:\n    return v * 2.0",
        "r = int(f([1, 2]).sum())",
        6,
    ),
    "pyfunc": ("@qd.pyfunc\ndef f(x):\n    return x * 3", "r = f(4)", 12),
    "nested calls": ("@qd.func\ndef f(x):\n    return x + 1", "r = f(f(f(0)))", 3),
    "python at compile time": ("import math\nN = 9", "r = int(math.sqrt(N))", 3),
    "enum": ("import enum\nclass E(enum.IntEnum):\n    A = 3", "r = E.A + 1", 4),
    "constant array": ("T = np.array([[1, 2], [3, 4]])", "r = 0\nfor i in qd.static(range(2)):\n    r += T[i, 1]", 6),
    "python matrix": ("M = qd.Vector([4, 5])", "r = M[0] * 10 + M.y", 45),
    "filter": ("", "a = list(filter(None, [0, 5, 0, 6]))\nr = a[0] * 10 + a[1]", 56),
    "map": ("@qd.func\ndef sq(x):\n    return x * x", "a = list(map(sq, [1, 2, 3]))\nr = a[0] + a[1] + a[2]", 14),
}


@pytest.mark.parametrize("name", ROWS)
def test_call(arch, name):
    before, body, expected = ROWS[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        assert load(f"{before}\n@qd.kernel\ndef k() -> qd.i32:\n{lines}    return r\n")["k"]() == expected


@pytest.mark.parametrize("name", ROWS)
def test_call_inside_a_loop(arch, name):
    before, body, expected = ROWS[name]
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    text = f"{before}\n@qd.kernel\ndef k(out: qd.types.NDArray[qd.i32, 1]):\n    for step in range(2):\n{lines}        out[step] = r\n"
    out = np.zeros(2, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        load(text)["k"](out)
    assert out.tolist() == [expected, expected]


def test_fields_and_arrays_through_functions(arch):
    @qd.func
    def put(x: qd.template(), i, value):
        x[i] = value

    @qd.func
    def get(x: qd.types.ndarray(), i):
        return x[i] + x.shape[0]

    @qd.kernel
    def k(f: qd.template(), a: qd.types.NDArray[qd.i32, 1]):
        for i in f:
            put(f, i, get(a, i))
            put(a, i, -1)

    f, a = qd.field(qd.i32, shape=3), np.array([1, 2, 3], np.int32)
    k(f, a)
    assert f.to_numpy().tolist() == [4, 5, 6] and a.tolist() == [-1, -1, -1]
    g = qd.field(qd.i32, shape=3)
    k(g, a)
    assert g.to_numpy().tolist() == [2, 2, 2]


def test_pyfunc_and_func_outside(arch):
    @qd.pyfunc
    def twice(x):
        return 2 * x

    @qd.func
    def inner(x):
        return x

    assert twice(4) == 8
    with pytest.raises(qd.QuadrantsSyntaxError, match="cannot be called from Python-scope"):
        inner(1)


def test_data_oriented(arch):
    @qd.data_oriented
    class Base:
        scale = 3

        def __init__(self, n):
            self.n = n
            self.f = qd.field(qd.i32, shape=n)
            self.inner = {"k": 2}

        @property
        def area(self):
            return self.n * self.n

        @qd.func
        def value(self, i, k=1):
            return i * self.scale + self.area * k

        @qd.kernel
        def run(self, add: qd.i32) -> qd.i32:
            for i in self.f:
                self.f[i] = self.value(i) + add + self.inner["k"]
            return self.value(1, k=0)

    class Child(Base):
        scale = 5

    b, c = Base(3), Child(2)
    assert b.run(1) == 3 and c.run(add=0) == 5
    assert b.f.to_numpy().tolist() == [12, 15, 18]
    assert c.f.to_numpy().tolist() == [6, 11]


def test_data_oriented_is_needed(arch):
    class Plain:
        @qd.kernel
        def run(self):
            pass

    with pytest.raises(qd.QuadrantsSyntaxError, match="Please decorate class Plain with @qd.data_oriented"):
        Plain().run()


def test_annotations_as_text(arch):
    k = load(
        """
        from __future__ import annotations
        Row = qd.types.NDArray[qd.i32, 1]

        @qd.kernel
        def k(a: Row, n: int) -> qd.i32:
            for i in range(n):
                a[i] = i
            return a[n - 1]
        """
    )["k"]
    assert k(np.zeros(4, np.int32), 3) == 2


def test_requires_top_level(arch):
    @qd.func(requires_top_level=True)
    def whole(a: qd.template()):
        for i in range(2):
            a[i] = i + 1

    @qd.kernel
    def good(a: qd.types.NDArray[qd.i32, 1]):
        whole(a)

    @qd.kernel
    def bad(a: qd.types.NDArray[qd.i32, 1]):
        for _ in range(1):
            whole(a)

    a = np.zeros(2, np.int32)
    good(a)
    assert a.tolist() == [1, 2]
    with pytest.raises(qd.QuadrantsSyntaxError, match="top level"):
        bad(a)


def test_gradient_arrays(arch):
    """Gradients of array arguments, captured arrays and fields are arrays like others; snapshots of them stay."""
    f = qd.field(qd.f32, shape=3, needs_grad=True)

    @qd.kernel
    def k(a: qd.types.ndarray(dtype=qd.f32, ndim=1, needs_grad=True), b: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        g = a.grad[0]
        for i in range(b.shape[0]):
            b.grad[i] = i + 1.0
            f.grad[i] = 2.0
        for i in range(a.shape[0]):
            a[i] = g + f.grad[i] * 10.0

    a, b = qd.ndarray(qd.f32, shape=3, needs_grad=True), qd.ndarray(qd.f32, shape=3, needs_grad=True)
    a.grad.fill(5.0)
    k(a, b)
    assert a.to_numpy().tolist() == [25.0] * 3 and b.grad.to_numpy().tolist() == [1.0, 2.0, 3.0]
    k(a, a)
    assert a.to_numpy().tolist() == [25.0] * 3 and a.grad.to_numpy().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(qd.QuadrantsSyntaxError, match="no gradient"):
        k(a, qd.ndarray(qd.f32, shape=3))


def test_gradients_wanted_of_numpy_arrays(arch):
    """An array that can't have a gradient fits; what reads one is refused where it does."""

    @qd.kernel
    def k(a: qd.types.ndarray(dtype=qd.f32, ndim=1, needs_grad=True)):
        for i in a:
            a[i] += 1.0

    x = np.zeros(3, np.float32)
    k(x)
    assert x.tolist() == [1.0] * 3
    with pytest.raises(ValueError, match="needs_grad=True"):
        k(qd.ndarray(qd.f32, shape=3))


PARAMETERS = [
    ("V", "p[0] = 7.0", [7, 2]),
    ("V", "p[0] += 4.0", [5, 2]),
    ("V", "p.y = 9.0", [1, 9]),
    ("V", "p.xy = p.yx", [2, 1]),
    ("V", "p[0], p[1] = p[1], p[0]", [2, 1]),
    ("V", "p.fill(3.0)", [3, 3]),
    ("V", "qd.atomic_add(p[1], 5.0)", [1, 7]),
    ("V", "f(p)", [9, 2]),
    ("V", "for i in range(2):\n        p[i] = i", [0, 1]),
    ("M", "p[1, :] = qd.Vector([5.0, 6.0])", [[1, 2], [5, 6]]),
    ("S", "p.x += 4", {"x": 5, "y": 2}),
]


@pytest.mark.parametrize("kind, body, expected", PARAMETERS)
def test_parts_of_a_kernel_parameter_are_its_own_copy(arch, kind, body, expected):
    space = load(
        "V = qd.types.vector(2, qd.f32)\nM = qd.types.matrix(2, 2, qd.f32)\nS = qd.types.struct(x=qd.i32, y=qd.i32)\n"
        f"@qd.func\ndef f(v: qd.template()):\n    v[0] = 9.0\n@qd.kernel\ndef k(p: {kind}) -> {kind}:\n    {body}\n    return p\n"
    )
    given = {"V": qd.Vector([1.0, 2.0]), "M": qd.Matrix([[1.0, 2.0], [3.0, 4.0]]), "S": space["S"](1, 2)}[kind]
    before = given.to_dict() if kind == "S" else given.to_list()
    got = space["k"](given)
    assert (got.to_dict() if kind == "S" else got.to_list()) == expected
    assert (given.to_dict() if kind == "S" else given.to_list()) == before


OPTIONAL = [
    "qd.Tensor | None", "None | qd.Tensor", "typing.Optional[qd.Tensor]", "qd.Template | None", "qd.template() | None",
    "qd.types.NDArray[qd.f32, 1] | None", "qd.types.NDArray | None", "typing.Optional[qd.types.NDArray[qd.f32, 1]]",
    "'qd.Tensor | None'",
]  # fmt: skip


@pytest.mark.parametrize("annotation", OPTIONAL)
def test_optional_arguments(arch, annotation):
    kernel = load(
        f"import typing\n@qd.func\ndef f(y: {annotation}, i):\n    r = 0.0\n    if qd.static(y is not None):\n        r = y[i]\n"
        f"    return r\n@qd.kernel\ndef k(x: qd.types.NDArray[qd.f32, 1], y: {annotation}):\n    for i in x:\n"
        "        x[i] = f(y, i)\n        if qd.static(y is None):\n            x[i] -= 1\n"
    )["k"]
    x, y = np.zeros(2, np.float32), qd.field(qd.f32, 2) if "emplate" in annotation else qd.ndarray(qd.f32, 2)
    y.fill(5)
    for given, expected in ((None, -1), (y, 5), (None, -1), (y, 5)):
        kernel(x, given)
        assert x.tolist() == [expected] * 2


# An ordinary function, a call of it with n = 3 and x = 2.5, and the value.
ORDINARY = [
    ("def f(x):\n    return x * 2 + 1", "f(x)", 6.0),
    ("f = lambda a, b: a * b - 1", "f(x, n)", 6.5),
    ("def f(a, b):\n    return qd.sqrt(a * a + b * b)", "f(x, 6.0)", 6.5),
    ("def f(a):\n    return abs(-a) + a**2 - 1 / a + a % 2 + a // 2", "f(x)", 2.5 + 6.25 - 0.4 + 0.5 + 1.0),
    ("def f(a):\n    return (a & 1) | (a << 2) ^ (a >> 1)", "f(n)", 13),
    ("def f(a):\n    return qd.max(a, 1.0) + qd.select(a > 2, 5.0, 7.0)", "f(x)", 7.5),
    ("def f(v):\n    return v.norm_sqr() + v[0] + v.y", "f(qd.Vector([x, 3.0]))", 6.25 + 9 + 5.5),
    ("def f(a):\n    return qd.Vector([a, a * 2])", "f(x).sum()", 7.5),
    ("def f(a):\n    return qd.math.vec3(a, 1.0, 2.0)", "f(x).sum()", 5.5),
    ("@qd.func\ndef g(a):\n    return a * 10\ndef f(a):\n    return g(a) + g(2)", "f(x)", 45.0),
    ("@qd.pyfunc\ndef g(a):\n    return a * 10\ndef f(a):\n    return g(a)", "f(x)", 25.0),
    ("def f(a, k=3):\n    return [a * i for i in range(k)]", "f(x, k=3)[2]", 5.0),
    ("def f(m):\n    return (m @ m).trace() + m.transpose()[0, 1]", "f(qd.Matrix([[x, 1.0], [2.0, 3.0]]))", 21.25),
    ("def f(v):\n    return sum(v) + len(v)", "f(qd.Vector([x, 3.0]))", 7.5),
    ("def f(d):\n    return d['a'] * 2", "f({'a': x})", 5.0),
    ("def f(a):\n    return a[0] + a[1]", "f(arr)", 9.0),
    ("class C:\n    k = 4\n    def f(self, a):\n        return a * self.k\nc = C()", "c.f(x)", 10.0),
]


@pytest.mark.parametrize("before, call, expected", ORDINARY)
def test_ordinary_functions_compute_with_values_of_the_kernel(arch, before, call, expected):
    text = f"{before}\n@qd.kernel\ndef k(n: qd.i32, x: qd.f32, arr: qd.types.NDArray[qd.f32, 1]) -> qd.f64:\n    return {call}\n"
    with pytest.warns(SyntaxWarning, match="Calling non-quadrants function"):
        got = load(text)["k"](3, 2.5, np.array([4, 5], np.float32))
    assert got == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("body", ["a if a > 0 else -a", "int(a)", "float(a)", "[4, 5, 6][a]", "max(a, 1)"])
def test_ordinary_functions_cannot_ask_for_the_value(arch, body):
    text = f"def f(a):\n    return {body}\n@qd.kernel\ndef k(n: qd.i32) -> qd.f64:\n    return f(n)\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        with pytest.raises(qd.QuadrantsTypeError, match="Decorate the function with @qd.func"):
            load(text)["k"](3)

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

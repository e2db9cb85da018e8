"""Real functions: recursion, early returns, references, arrays and fields, all kinds of results."""

import warnings

import numpy as np
import pytest
from program_text import load

from quadrants.lang.exception import QuadrantsCompilationError, QuadrantsSyntaxError, QuadrantsTypeError

ROWS = {
    # name: (functions, body that computes r, value)
    "recursion": ("@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    if n < 2:\n        return n\n    return f(n - 1) + f(n - 2)", "r = f(10)", 55),
    "mutual recursion through an argument": ("@qd.real_func\ndef f(n: qd.i32, odd: qd.u1) -> qd.i32:\n    if n == 0:\n        return qd.cast(odd, qd.i32)\n    return f(n - 1, not odd)", "r = f(7, False)", 1),
    "return from a loop": ("@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    for i in range(100):\n        if i * i >= n:\n            return i\n    return -1", "r = f(50) * 1000 + f(20000)", 7999),
    "return from a while": ("@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    while True:\n        n += 1\n        if n % 7 == 0:\n            return n", "r = f(10)", 14),
    "return from nested loops": ("@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    for i in range(10):\n        for j in range(10):\n            if i * j == n:\n                return i * 10 + j\n    return 0", "r = f(42)", 67),
    "return from an unrolled loop": ("@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    for i in qd.static(range(5)):\n        if i == n:\n            return i * 10\n    return -1", "r = f(3) + f(9)", 29),
    "return that ends an unrolled loop": ("@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    for i in qd.static(range(5)):\n        return n + i\n    return 0", "r = f(3)", 3),
    "returns in both branches": ("@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    if n > 0:\n        return 1\n    else:\n        return 2", "r = f(1) * 10 + f(0)", 12),
    "reference": ("@qd.real_func\ndef f(x: qd.ref(qd.i32), y: qd.i32) -> qd.i32:\n    x += y\n    return x * 2", "a = 1\nb = f(a, 5)\nr = a * 100 + b", 612),
    "reference to a vector": ("V = qd.types.vector(2, qd.f32)\n@qd.real_func\ndef f(v: qd.ref(V)):\n    v[1] = 4.0\n    v.x += 1.0", "a = qd.Vector([1.0, 2.0])\nf(a)\nr = a[0] * 10 + a[1]", 24),
    "reference to a struct": ("T = qd.types.struct(a=qd.i32, b=qd.f32)\n@qd.real_func\ndef f(t: qd.ref(T)):\n    if t.a > 0:\n        t.b = 5.0\n        return\n    t.b = 6.0", "s = T(a=1)\nt = T(a=0)\nf(s)\nf(t)\nr = s.b * 10 + t.b", 56),
    "reference to an element": ("X = qd.field(qd.i32, 3)\n@qd.real_func\ndef f(x: qd.ref(qd.i32)):\n    x = x + 7", "X[1] = 2\nf(X[1])\nr = X[1]", 9),
    "vector by value": ("V = qd.types.vector(3, qd.i32)\n@qd.real_func\ndef f(v: V) -> V:\n    v[0] = 9\n    return v * 2", "a = V(1, 2, 3)\nr = f(a).sum() * 10 + a[0]", 281),
    "matrix of 25": ("M = qd.types.matrix(5, 5, qd.f32)\n@qd.real_func\ndef f(m: M, s: qd.f32) -> M:\n    return m * s", "r = f(M(1.0), 2.0).sum()", 50),
    "struct": ("V = qd.types.vector(2, qd.f32)\nT = qd.types.struct(a=qd.i32, v=V)\n@qd.real_func\ndef f(n: qd.i32) -> T:\n    if n > 3:\n        return T(a=n)\n    return T(a=0, v=qd.Vector([1.0, 2.0]))", "r = f(5).a * 10 + f(1).v.y", 52),
    "tuple": ("@qd.real_func\ndef f(n: qd.i32) -> (qd.i32, qd.f32):\n    return n, 2.5", "a, b = f(3)\nr = a + b", 5.5),
    "no result": ("X = qd.field(qd.i32, ())\n@qd.real_func\ndef f(n: qd.i32):\n    X[None] += n", "f(3)\nf(4)\nr = X[None]", 7),
    "cast of argument and result": ("@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    return n * 1.5", "r = f(3.9)", 4),
    "default and keyword": ("@qd.real_func\ndef f(a: qd.i32, b: qd.i32 = 5) -> qd.i32:\n    return a * 10 + b", "r = f(b=2, a=1) * 100 + f(3)", 1235),
    "template": ("@qd.real_func\ndef f(k: qd.template(), n: qd.i32) -> qd.i32:\n    if qd.static(k == 0):\n        return n\n    return n * k", "r = f(0, 5) * 100 + f(3, 5)", 515),
    "fields of two calls": ("X = qd.field(qd.i32, 2)\nY = qd.field(qd.i32, 2)\n@qd.real_func\ndef f(x: qd.template(), i: qd.i32) -> qd.i32:\n    x[i] += 2\n    return x[i]", "Y[0] = 10\nr = f(X, 0) * 100 + f(Y, 0) + f(X, 0)", 216),
    "helper inside": ("@qd.func\ndef g(x):\n    return x + 1\n@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    m = g(n)\n    return g(m)", "r = f(3)", 5),
    "inside a helper": ("@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    if n > 2:\n        return 1\n    return 0\n@qd.func\ndef g(x):\n    y = f(x)\n    return y + 5", "r = g(3)", 6),
    "in a parallel loop": ("X = qd.field(qd.i32, 50)\n@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    s = 0\n    for i in range(n):\n        if i > 10:\n            return -1\n        s += i\n    return s", "for i in X:\n    X[i] = f(i)\nfor i in range(50):\n    r += X[i]", 181),
    "random control flow": ("@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    c = 0\n    while n != 1:\n        if n % 2 == 0:\n            n //= 2\n            c += 1\n            continue\n        n = 3 * n + 1\n        c += 1\n        if c > 1000:\n            break\n    return c", "r = f(27)", 111),
}  # fmt: skip


def parallel_sum():
    """What "in a parallel loop" adds up to."""
    return sum(sum(range(n)) if n <= 11 else -1 for n in range(50))


@pytest.mark.parametrize("name", ROWS)
def test_value(arch, name):
    before, body, expected = ROWS[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    k = load(f"{before}\n@qd.kernel\ndef k() -> qd.f32:\n    r = 0.0\n{lines}    return r\n")["k"]
    assert k() == (parallel_sum() if name == "in a parallel loop" else expected)


@pytest.mark.parametrize("annotation", ["qd.types.ndarray(qd.i32, 2)", "qd.template()", "qd.Tensor"])
def test_arrays(arch, annotation):
    k = load(
        f"@qd.real_func\ndef f(a: {annotation}, i: qd.i32) -> qd.i32:\n"
        "    for j in range(a.shape[1]):\n        if a[i, j] == 0:\n            a[i, j] = 5\n            return j\n    return -1\n"
        "@qd.kernel\ndef k(a: qd.types.ndarray(qd.i32, 2), b: qd.types.ndarray(qd.i32, 2)) -> qd.i32:\n"
        "    s = 0\n    if b.shape[0] > 1:\n        s = f(a, 1) * 10\n    return s + f(b, 0)\n"
    )["k"]
    a, b = np.zeros((2, 3), np.int32), np.ones((4, 2), np.int32)
    a[1, 0], b[0, 1] = 1, 0
    assert k(a, b) == 11
    assert a.tolist() == [[0, 0, 0], [1, 5, 0]] and b[0].tolist() == [1, 5]


def test_rows_of_an_array_that_is_first_read_in_a_branch(arch):
    k = load(
        "import dataclasses\n@dataclasses.dataclass\nclass S:\n    a: qd.types.ndarray(qd.i32, 2)\n"
        "@qd.kernel\ndef k(s: S, n: qd.i32) -> qd.i32:\n    r = 0\n    if n > 0:\n        r += s.a[1, 1]\n"
        "    for i in range(n):\n        r += s.a[i, 0]\n    return r * 10 + s.a[0, 1]\n"
    )
    s = k["S"](np.array([[1, 2], [3, 4]], np.int32))
    assert k["k"](s, 2) == 82 and k["k"](s, 0) == 2


def test_methods_of_classes(arch):
    space = load(
        "@qd.data_oriented\nclass C:\n    def __init__(self):\n        self.n = 3\n"
        "    @qd.real_func\n    def f(self, x: qd.i32) -> qd.i32:\n        if x > self.n:\n            return 1\n        return 0\n"
        "    @qd.kernel\n    def k(self) -> qd.i32:\n        return self.f(4) * 10 + self.f(2)\n"
    )
    assert space["C"]().k() == 10


def test_one_function_however_often_it_is_called(arch):
    space = load(
        "@qd.real_func\ndef f(n: qd.i32) -> qd.i32:\n    if n > 3:\n        return 1\n    return n\n"
        "@qd.kernel\ndef k(n: qd.i32) -> qd.i32:\n    r = 0\n    for i in qd.static(range(20)):\n        r += f(n + i)\n    return r\n"
    )
    from quadrants.lang import impl
    from quadrants.lang.frontend import driver

    walk = driver.walk(space["k"]._primal, [0], impl.get_runtime())
    assert walk.builder.text().count("call") == 20 and walk.builder.text().count("func") <= 3
    assert space["k"](0) == 0 + 1 + 2 + 3 + 16


ERRORS = {
    "no type of a parameter": ("@qd.real_func\ndef f(x) -> qd.i32:\n    return x", "f(1)", QuadrantsSyntaxError, "type annotated"),
    "no type of the result": ("@qd.real_func\ndef f(x: qd.i32):\n    return x", "f(1)", QuadrantsSyntaxError, "annotated with a return type"),
    "no return": ("@qd.real_func\ndef f(x: qd.i32) -> qd.i32:\n    x += 1", "f(1)", QuadrantsSyntaxError, "does not have a return statement"),
    "reference to a number": ("@qd.real_func\ndef f(x: qd.ref(qd.i32)):\n    x += 1", "f(1)", QuadrantsTypeError, "is a reference"),
    "vector for a scalar": ("@qd.real_func\ndef f(x: qd.i32):\n    x += 1", "f(qd.Vector([1, 2]))", QuadrantsTypeError, '"x" of "f" takes i32, got'),
    "missing": ("@qd.real_func\ndef f(x: qd.i32):\n    x += 1", "f()", QuadrantsSyntaxError, "Missing argument 'x'"),
    "array for a number": ("X = qd.field(qd.i32, 2)\n@qd.real_func\ndef f(x: qd.i32):\n    x += 1", "f(X)", QuadrantsTypeError, '"x" of "f" takes i32, got field'),
    "too many results": ("@qd.real_func\ndef f(x: qd.i32) -> qd.i32:\n    return x, x", "f(1)", QuadrantsCompilationError, "cannot be converted into required type i32"),
    "vector as a scalar result": ("@qd.real_func\ndef f(x: qd.i32) -> qd.i32:\n    return qd.Vector([x, 1])", "f(1)", QuadrantsCompilationError, "cannot be converted into required type i32"),
    "return of nothing": ("@qd.real_func\ndef f(x: qd.i32) -> qd.i32:\n    if x > 1:\n        return\n    return 1", "f(1)", QuadrantsSyntaxError, "needs a value behind `return`"),
}  # fmt: skip


def test_a_missing_return_is_shown_at_the_function(arch):
    text = "\n" * 5 + "@qd.real_func\ndef f(x: qd.i32) -> qd.i32:\n    x += 1\n@qd.kernel\ndef k():\n    f(1)\n"
    with pytest.raises(QuadrantsSyntaxError) as caught:
        load(text)["k"]()
    at = [line for line in str(caught.value).splitlines() if line.startswith("File")]
    assert at[-1].endswith("in f:") and "line 7," in at[-1], str(caught.value)


@pytest.mark.parametrize("name", ERRORS)
def test_errors(arch, name):
    before, body, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        load(f"{before}\n@qd.kernel\ndef k():\n    {body}\n")["k"]()


def test_outside_kernels(arch):
    with pytest.raises(QuadrantsSyntaxError, match="cannot be called from Python-scope"):
        load("@qd.real_func\ndef f(x: qd.i32) -> qd.i32:\n    return x\n")["f"](1)


def test_other_spellings(arch):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        space = load(
            "@qd.func(is_real_function=True)\ndef f(n: qd.i32) -> qd.i32:\n    if n > 0:\n        return 1\n    return 2\n"
            "@qd.experimental.real_func\ndef g(n: qd.i32) -> qd.i32:\n    if n > 0:\n        return 1\n    return 2\n"
            "@qd.kernel\ndef k() -> qd.i32:\n    return f(1) * 10 + g(0)\n"
        )
    assert space["k"]() == 12 and any(w.category is DeprecationWarning for w in seen)

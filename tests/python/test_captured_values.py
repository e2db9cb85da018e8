"""Captured values: what changed between two calls takes effect, what didn't change compiles nothing."""

import numpy as np
import pytest
from program_text import load

import quadrants as qd

# name: (lines before the kernel, expression, change, value before, value after)
ROWS = {
    "int": ("N = 3", "N", "N = 4", 3, 4),
    "float": ("X = 0.5", "X * 2.0", "X = 1.5", 1, 3),
    "bool": ("FLAG = True", "1 if qd.static(FLAG) else 2", "FLAG = False", 1, 2),
    "type": ("N = 3", "N / 2 * 10", "N = 5.0", 15, 25),
    "string": ("MODE = 'fast'", "1 if qd.static(MODE == 'fast') else 2", "MODE = 'slow'", 1, 2),
    "function": (
        "@qd.func\ndef f(x):\n    return x + 1\n@qd.func\ndef g(x):\n    return x + 10\nF = f",
        "F(1)",
        "F = g",
        2,
        11,
    ),
    "in a function": ("N = 3\n@qd.func\ndef f(x):\n    return x + N", "f(1)", "N = 7", 4, 8),
    "attribute": ("class C:\n    n = 3\nc = C()", "c.n", "c.n = 5", 3, 5),
    "nested attribute": ("class C:\n    pass\nc = C()\nc.d = C()\nc.d.n = 3", "c.d.n", "c.d.n = 5", 3, 5),
    "rebound owner": ("class C:\n    n = 3\nc = C()", "c.n", "d = C()\nd.n = 8\nc = d", 3, 8),
    "number of an enum": (
        "import enum\nclass A(enum.IntEnum):\n    X = 3\n    Y = 4\nM = A.X",
        "M.value * 10 + M + A.Y.value + len(M.name)",
        "M = A.Y",
        38,
        49,
    ),
    "list": ("L = [1, 2]", "L[0] + L[1]", "L[1] = 5", 3, 6),
    "list grows": ("L = [1, 2]", "len(L)", "L.append(5)", 2, 3),
    "dict": ("D = {'a': 1}", "D['a']", "D['a'] = 4", 1, 4),
    "array": ("A = np.array([1, 2])", "A[1]", "A[1] = 9", 2, 9),
    "matrix": ("M = qd.Vector([1, 2])", "M[1]", "M[1] = 9", 2, 9),
    "builtin shadowed": ("", "abs(-3)", "abs = lambda x: 7", 3, 7),
    "default argument": ("N = 3\n@qd.func\ndef f(x, y=2):\n    return x * y + N", "f(2)", "N = 4", 7, 8),
    "list in a tuple": ("T = ([1],)", "T[0][0]", "T[0][0] = 6", 1, 6),
    "attribute of a Python function": ("def g():\n    pass\ng.n = 3", "g.n", "g.n = 5", 3, 5),
    "getattr": ("class C:\n    n = 3\nc = C()", "getattr(c, 'n')", "c.n = 5", 3, 5),
}  # fmt: skip
# Reads that make a kernel be parsed in every process: what isn't there, and what ordinary Python functions read, which run
# while the kernel is compiled.
UNRECORDED = {
    "items of a dict": ("D = {'a': 1}", "[v for _, v in D.items()][-1]", "D['b'] = 4", 1, 4),
    "getattr with a default": ("class C:\n    pass\nc = C()", "getattr(c, 'n', 3)", "c.n = 5", 3, 5),
    "hasattr": ("class C:\n    pass\nc = C()", "1 if qd.static(hasattr(c, 'n')) else 2", "c.n = 5", 2, 1),
    "global of a Python function": ("N = 3\ndef f(x):\n    return x * N", "f(1)", "N = 7", 3, 7),
    "of a function it calls": ("N = 3\ndef g(x):\n    return x * N\ndef f(x):\n    return g(x)", "f(1)", "N = 7", 3, 7),
    "function it calls": ("def g(x):\n    return x\ndef f(x):\n    return g(x)", "f(1)", "g = lambda x: x + 4", 1, 5),
    "attribute in a Python function": ("class C:\n    n = 3\ndef f(x):\n    return x * C.n", "f(1)", "C.n = 7", 3, 7),
    "list in a Python function": ("L = [3]\ndef f(x):\n    return x * L[0]", "f(1)", "L[0] = 7", 3, 7),
    "comprehension": ("N = 3\ndef f(x):\n    return [x * N for _ in range(1)][0]", "f(1)", "N = 7", 3, 7),
    "object given to a Python function": ("class C:\n    n = 3\nc = C()\ndef f(o):\n    return o.n", "f(c)", "c.n = 7", 3, 7),
    "default of a Python function": ("class C:\n    n = 3\nc = C()\ndef f(o=c):\n    return o.n", "f()", "c.n = 7", 3, 7),
    "Python method": (
        "class C:\n    n = 3\n    def g(self, x):\n        return x * self.p\n    @property\n    def p(self):\n"
        "        return self.n\n    def f(self, x):\n        return self.g(x)\nc = C()",
        "c.f(1)", "c.n = 7", 3, 7,
    ),
    "function given to a builtin": ("N = 2\ndef f(x):\n    return x * N", "sorted([1, 2, 3], key=f)[0]", "N = -1", 1, 3),
    "partial": ("import functools\nN = 3\ndef g(x, y):\n    return x * y * N\nf = functools.partial(g, 1)", "f(1)", "N = 7", 3, 7),
    "cache": ("import functools\nN = 3\n@functools.lru_cache\ndef f():\n    return N", "f()", "N = 7\nf.cache_clear()", 3, 7),
    "class method": ("class C:\n    n = 3\n    @classmethod\n    def f(cls):\n        return cls.n", "C.f()", "C.n = 7", 3, 7),
    "super": (
        "N = 3\nclass B:\n    def f(self):\n        return N\nclass C(B):\n    def f(self):\n        return super().f()\nc = C()",
        "c.f()", "N = 7", 3, 7,
    ),
    "attribute of a function": ("def f():\n    return f.n\nf.n = 3", "f()", "f.n = 7", 3, 7),
    "module imported inside": (
        "import sys, types\nm = types.ModuleType('a_module_of_tests')\nm.n = 3\nsys.modules[m.__name__] = m\n"
        "def f():\n    import a_module_of_tests\n    return a_module_of_tests.n",
        "f()", "m.n = 7", 3, 7,
    ),
    "operator": ("class C:\n    n = 3\n    def __add__(self, x):\n        return x * self.n\nc = C()", "c + 1", "c.n = 7", 3, 7),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Calling non-quadrants")
@pytest.mark.parametrize("name", [*ROWS, *UNRECORDED])
def test_change_takes_effect(arch, name):
    before, expression, change, first, second = {**ROWS, **UNRECORDED}[name]
    space = load(f"{before}\n@qd.kernel\ndef k() -> qd.f32:\n    return {expression}\n")
    assert space["k"]() == first
    assert space["k"]() == first
    exec(change, space)  # noqa: S102
    assert space["k"]() == second


@pytest.mark.filterwarnings("ignore:Calling non-quadrants")
def test_what_a_python_function_changes_itself_is_no_guard(arch):
    """Two specialisations would otherwise make each other stale, call after call."""
    space = load("""
        N, L = 0, []
        def f(x):
            global N
            N += 1
            L.append(N)
            return x
        @qd.kernel
        def k(a: qd.template(), x: qd.i32) -> qd.i32:
            return f(x) + a
        """)
    for _ in range(3):
        assert (space["k"](1, 5), space["k"](2, 5)) == (6, 7)
    assert space["N"] == len(space["L"]) == 2


@pytest.mark.filterwarnings("ignore:Calling non-quadrants")
@pytest.mark.parametrize("lines", [
    "import logging\nlog = logging.getLogger('t')\ndef f(x):\n    log.info('x')\n    return x",
    "import re\ndef f(x):\n    re.compile('a' * len(re._cache))\n    return x",
    "L = []\nL.append(L)\ndef f(x):\n    L\n    return x",
])  # fmt: skip
def test_libraries_are_not_looked_into(arch, lines):
    """What changes inside of them makes nothing stale; a list that holds itself is guarded as the same one."""
    k = load(f"{lines}\n@qd.kernel\ndef k(x: qd.i32) -> qd.i32:\n    return f(x)\n")["k"]
    made, compile_ = [], k._primal._compile
    k._primal._compile = lambda *args: (made.append(args), compile_(*args))[1]
    for n in range(3):
        assert k(n) == n
    assert len(made) == 1


def test_a_list_that_holds_itself(arch):
    space = load("L = [1]\nL.append(L)\n@qd.kernel\ndef k() -> qd.i32:\n    return L[0]\n")
    with pytest.raises(qd.QuadrantsTypeError, match="holds itself"):
        space["k"]()


def test_closures(arch):
    def build(n):
        def change(m):
            nonlocal n
            n = m

        @qd.kernel
        def k() -> qd.i32:
            return n

        return k, change

    (k, change), (other, _) = build(1), build(2)
    assert (k(), other()) == (1, 2)
    change(5)
    assert (k(), other()) == (5, 2)


def test_fields_by_identity(arch):
    space = load("@qd.kernel\ndef k():\n    F[None] = F[None] + 1\n")
    f, g = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=())
    for target in (f, g, g, f):
        space["F"] = target
        space["k"]()
    assert (f[None], g[None]) == (2, 2)


def test_data_oriented_attributes(arch):
    @qd.data_oriented
    class C:
        def __init__(self, n):
            self.n = n
            self.a = qd.ndarray(qd.i32, shape=(2,))

        @qd.kernel
        def k(self) -> qd.i32:
            for i in self.a:
                self.a[i] += 1
            return self.n

    c, d = C(1), C(2)
    assert [c.k(), d.k(), c.k()] == [1, 2, 1]
    c.n = 7
    old, c.a = c.a, qd.ndarray(qd.i32, shape=(3,))
    assert c.k() == 7
    assert c.a.to_numpy().tolist() == [1, 1, 1] and old.to_numpy().tolist() == [2, 2]


def test_templates_are_part_of_the_key(arch):
    @qd.kernel
    def k(n: qd.template(), x: qd.i32) -> qd.i32:
        r = x
        for i in qd.static(range(n)):
            r += 1
        return r

    assert [k(n, 10) for n in (1, 2, 1, 3)] == [11, 12, 11, 13]


def test_unchanged_calls_compile_once(arch):
    calls = []

    @qd.kernel
    def k(a: qd.types.ndarray(), n: qd.i32):
        for i in a:
            a[i] += n

    compile_ = k._primal._compile
    k._primal._compile = lambda *args: (calls.append(1), compile_(*args))[1]
    for n in range(4):
        k(np.zeros(3 + n, np.int32), n)
    assert len(calls) == 1
    k(np.zeros(3, np.float32), 1)
    k(np.zeros((3, 3), np.float32), 1) if False else None
    assert len(calls) == 2


def test_kernels_survive_reset(init):
    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in a:
            a[i] += 1

    a = np.zeros(2, np.int32)
    for _ in range(3):
        init()
        k(a)
        k(a)
    assert a.tolist() == [6, 6]

"""The source tier: a second runtime with the same cache loads what did not change, and nothing that did."""

import os
import shutil
import textwrap
import warnings

import numpy as np
import pytest
from program_text import load
from test_captured_values import ROWS

import quadrants as qd
from quadrants.lang import source_tier


def observed(kernel):
    """(key made, validated, loaded, stored) of the kernel's last compile."""
    seen = kernel._primal.src_ll_cache_observations
    return seen.cache_key_generated, seen.cache_validated, seen.cache_loaded, seen.cache_stored


LOADED, STORED, NEITHER = (True, True, True, False), (True, False, False, True), (True, False, False, False)


@pytest.mark.parametrize("name", ROWS)
def test_captured_values(arch, again, name):
    before, expression, change, first, second = ROWS[name]
    text = f"{before}\n@qd.kernel\ndef k() -> qd.f32:\n    return {expression}\n"
    space = load(text)
    assert space["k"]() == first
    assert observed(space["k"]) == STORED
    again()
    space = load("\n\n" + text)  # elsewhere, further down: neither place counts
    assert space["k"]() == first
    assert observed(space["k"]) == LOADED
    exec(change, space)  # noqa: S102
    assert space["k"]() == second
    assert not observed(space["k"])[2]
    known = observed(space["k"])[3]
    again()
    assert space["k"]() == second
    assert observed(space["k"])[2] == known


# A program defines `run()`, which calls `k` and gives a number; `change` (lines) is applied to a fresh copy of it.
PROGRAMS = {
    "field": (
        "f = qd.field(qd.f32, shape=8)\nN = 8",
        "    for i in range(8): f[i] = i * 2.0",
        "k(); return f.to_numpy().sum()",
        {"f = qd.field(qd.f32, shape=8)": "f = qd.field(qd.f32, shape=9)"},
    ),
    "offset of a field": (
        "f = qd.field(qd.f32, shape=8, offset=2)",
        "    for i in range(2, 10): f[i] = i * 2.0",
        "k(); return f.to_numpy().sum()",
        {"offset=2": "offset=1"},
    ),
    "two fields or one": (
        "f = qd.field(qd.f32, shape=8)\ng = qd.field(qd.f32, shape=8)",
        "    for i in range(8):\n        f[i] = 1.0\n        g[i] += 1.0",
        "k(); return f.to_numpy().sum() + 100 * g.to_numpy().sum()",
        {"g = qd.field(qd.f32, shape=8)": "g = f"},
    ),
    "vector field": (
        "f = qd.Vector.field(3, qd.f32, shape=4)",
        "    for i in range(4): f[i] = qd.Vector([1.0, 2.0, 3.0])",
        "k(); return f.to_numpy().sum()",
        {"shape=4)": "shape=4, layout=qd.Layout.SOA)"},
    ),
    "text of a function": (
        "@qd.func\ndef h(x):\n    return x + 1\nf = qd.field(qd.f32, shape=4)",
        "    for i in range(4): f[i] = h(i)",
        "k(); return f.to_numpy().sum()",
        {"return x + 1": "return x + 2"},
    ),
    "function of a function": (
        "@qd.func\ndef g(x):\n    return x * 3\n@qd.func\ndef h(x):\n    return g(x) + 1\nf = qd.field(qd.f32, shape=4)",
        "    for i in range(4): f[i] = h(i)",
        "k(); return f.to_numpy().sum()",
        {"return x * 3": "return x * 4"},
    ),
    "default of a function": (
        "D = 5\n@qd.func\ndef h(x, y=D):\n    return x + y\nf = qd.field(qd.f32, shape=4)",
        "    for i in range(4): f[i] = h(i)",
        "k(); return f.to_numpy().sum()",
        {"D = 5": "D = 6"},
    ),
    "annotation of a function": (
        "T = qd.f32\n@qd.func\ndef h(x: T):\n    return x\nf = qd.field(qd.f32, shape=4)",
        "    for i in range(4): f[i] = h(i + 0.5)",
        "k(); return f.to_numpy().sum()",
        {"T = qd.f32": "T = qd.i32"},
    ),
    "functions in a list": (
        "@qd.func\ndef g(x):\n    return x * 3\n@qd.func\ndef h(x):\n    return x + 1\nL = [g, h]\nf = qd.field(qd.f32, shape=4)",
        "    for i in range(4): f[i] = L[0](i)",
        "k(); return f.to_numpy().sum()",
        {"L = [g, h]": "L = [h, g]"},
    ),
    "text of the kernel": (
        "f = qd.field(qd.f32, shape=4)",
        "    for i in range(4): f[i] = 3.0",
        "k(); return f.to_numpy().sum()",
        {"= 3.0": "= 4.0"},
    ),
    "object": (
        "class C: pass\nc = C()\nc.d = C()\nc.d.f = qd.field(qd.f32, shape=4)\nc.n = 7",
        "    for i in range(4): c.d.f[i] = c.n",
        "k(); return c.d.f.to_numpy().sum()",
        {"c.n = 7": "c.n = 8"},
    ),
    "enum": (
        "import enum\nclass E(enum.IntEnum):\n    A = 4\nf = qd.field(qd.f32, shape=4)",
        "    for i in range(4): f[i] = E.A",
        "k(); return f.to_numpy().sum()",
        {"A = 4": "A = 5"},
    ),
    "captured ndarray": (
        "a = qd.ndarray(qd.f32, 4)",
        "    for i in range(4): a[i] = 2.5",
        "k(); return a.to_numpy().sum()",
        {"qd.ndarray(qd.f32, 4)": "qd.ndarray(qd.i32, 4)"},
    ),
}


def program(name, changed=False):
    before, body, run, change = PROGRAMS[name]
    text = f"{before}\n@qd.kernel\ndef k():\n{body}\ndef run():\n    {run}\n"
    if changed:
        for old, new in change.items():
            assert old in text
            text = text.replace(old, new)
    return load(text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(arch, again, name):
    space = program(name)
    first = space["run"]()
    assert observed(space["k"]) == STORED
    again()
    space = program(name)
    assert space["run"]() == first
    assert observed(space["k"]) == LOADED
    again(src_ll_cache=False)
    space = program(name, changed=True)
    second = space["run"]()
    assert observed(space["k"]) == (False, False, False, False)
    again()
    space = program(name, changed=True)
    assert space["run"]() == second
    assert observed(space["k"]) == STORED


RETURNS = [
    ("None", "return"), ("qd.f32", "return 2.5"), ("(qd.i32,)", "return 7"), ("(qd.i32,)", "return 7,"),
    ("(qd.i32, qd.f32)", "return 7, 0.5"), ("qd.types.vector(2, qd.f32)", "return qd.Vector([1.0, 2.0])"),
    ("tuple[bool, qd.types.vector(2, qd.i32)]", "return True, qd.Vector([1, 2])"),
]  # fmt: skip


@pytest.mark.parametrize("declared, body", RETURNS)
def test_results(arch, again, declared, body):
    text = f"@qd.kernel\ndef k() -> {declared}:\n    {body}\n"
    first = load(text)["k"]()
    again()
    k = load(text)["k"]
    assert repr(k()) == repr(first)
    assert observed(k) == LOADED


METHODS = """
    @qd.data_oriented
    class C:
        def __init__(self, n):
            self.n, self.f = n, qd.field(qd.f32, shape=n)
        @qd.func
        def twice(self, x):
            return x * 2 + self.n
        @qd.kernel
        def k(self, c: qd.f32) -> qd.f32:
            s = 0.0
            for i in qd.static(range(self.n)):
                s += self.twice(c)
            self.f[0] = s
            return s
"""


def test_methods_of_several_objects(arch, again):
    for expected in (STORED, LOADED):
        cls = load(METHODS)["C"]
        for n in (3, 5):  # one list of names, two sets of values
            c = cls(n)
            assert c.k(1.5) == n * (3 + n)
            assert c.f[0] == n * (3 + n)
            assert observed(cls.k) == expected
        again()


DATACLASS = """
    import dataclasses
    @dataclasses.dataclass
    class Inner:
        a: qd.types.ndarray()
        n: qd.template()
    @dataclasses.dataclass
    class State:
        x: qd.types.ndarray()
        c: qd.i32
        inner: Inner
        unused: object = None
        def twice(self): pass
    @qd.func
    def step(s: State, i):
        s.x[i] += s.c * s.inner.n
        s.inner.a[i] = s.x[i]
    @qd.kernel
    def k(s: State):
        for i in range(4):
            step(s, i)
"""


def test_dataclass_arguments(arch, again):
    """What a kernel reads of an argument counts, by kind or, for templates, by value; what it doesn't read does not."""
    for round_, unused in ((STORED, 1), (LOADED, "other")):
        space = load(DATACLASS)
        for dtype, c, n, expected in (
            (np.int32, 2, 3, round_), (np.int32, 5, 3, None), (np.int32, 2, 4, round_), (np.float32, 2, 3, round_),
        ):  # fmt: skip
            x, a = np.ones(4, dtype), np.zeros(4, dtype)
            space["k"](space["State"](x, c, space["Inner"](a, n), unused))
            assert (x == 1 + c * n).all() and (a == x).all()
            if expected is not None:
                assert observed(space["k"]) == expected
        again()


def test_arguments_of_the_class_decorator_count(arch, again):
    """With template_primitives=False the numbers are arguments, and using them in qd.static is an error."""
    load(METHODS)["C"](3).k(1.5)
    again()
    cls = load(METHODS.replace("@qd.data_oriented", "@qd.data_oriented(template_primitives=False)"))["C"]
    with pytest.raises(qd.QuadrantsSyntaxError, match="template_primitives"):
        cls(3).k(1.5)


def test_templates_and_arrays(arch, again):
    text = "@qd.kernel\ndef k(x: qd.types.ndarray(), t: qd.template(), c: qd.i32) -> qd.f32:\n    x[0] += t\n    return x[0] + c\n"
    for expected in (STORED, LOADED):
        k = load(text)["k"]
        for x, t in ((np.zeros(2, np.float32), 3), (np.zeros(2, np.int32), 3), (np.zeros(2, np.float32), 4)):
            assert k(x, t, 10) == t + 10
            assert observed(k) == expected
            assert x[0] == t
        again()


NOT_KEPT = {
    "a Python function": "def p(): return 3\n@qd.kernel\ndef k() -> qd.i32:\n    return qd.static(p())",
    "the clock": "import time\n@qd.kernel\ndef k() -> qd.f64:\n    return qd.static(time.time())",
    "random numbers": "@qd.kernel\ndef k() -> qd.f64:\n    return qd.static(np.random.rand())",
    "an object that answers for itself": (
        "class C:\n    n = 3\n    def __bool__(self): return False\nc = C()\n@qd.kernel\ndef k() -> qd.i32:\n    return c.n"
    ),
    "printing at compile time": "@qd.kernel\ndef k() -> qd.i32:\n    qd.static_print(3)\n    return 3",
    "hash": "@qd.kernel\ndef k() -> qd.i32:\n    return qd.static(hash('a') % 1000)",
}


@pytest.mark.parametrize("what", NOT_KEPT)
def test_what_cannot_be_recorded_is_not_kept(init, what, capfd):
    init(log_level="debug")
    k = load(NOT_KEPT[what])["k"]
    k()
    assert observed(k) == NEITHER
    lines = [line for line in capfd.readouterr().err.splitlines() if "is parsed in every process" in line]
    assert len(lines) == 1 and 'kernel "k"' in lines[0]


def test_messages_follow_the_text(init):
    """Positions are those of the process that launches, not of the one that compiled."""
    text = "@qd.func\ndef f(x):\n    assert x < 3, 'too large'\n    return x\n@qd.kernel\ndef k(n: qd.i32):\n    print('n is', n)\n    f(n)\n"
    for gap, expected in ((0, STORED), (9, LOADED)):
        init(debug=True)
        k = load("\n" * gap + text)["k"]
        with pytest.raises(AssertionError, match=f"line {8 + gap}, in k:(.|\n)*line {3 + gap}, in f:"):
            k(5)
        assert observed(k) == expected
        qd.reset()


WARNINGS = {
    # what warns while a kernel is parsed: (decorator, lines, warning, text, line of it)
    "unrolling": ("", "for i in qd.static(range(40)):\n    s += i", SyntaxWarning, "unrolling more than 32", 5),
    "real bound of range": ("", "for i in range(2.5):\n    s += i", SyntaxWarning, "bound of range from f32 to i32", 5),
    "constant in a kernel with fastcache": ("(fastcache=True)", "s += SIZE", UserWarning, "PURE.VIOLATION", 3),
    "deprecated name": (
        "(graph=True)",
        "with qd.graph_parallel_context():\n    with qd.graph_parallel():\n        s += 1",
        DeprecationWarning,
        "use qd.graph.parallel_context",
        5,
    ),
    "lost precision": ("", "s += helper(1.5)", "log", "Assign may lose precision: i32 <- f32", 12),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_warnings_are_given_again(arch, again, name, monkeypatch):
    """A kernel that comes from the cache warns as often, and of the same line, as one that was parsed."""
    decorator, body, kind, text, line = WARNINGS[name]
    lines = "".join(f"    {one}\n" for one in body.splitlines())
    body = f"SIZE = 3\n@qd.kernel{decorator}\ndef k() -> qd.i32:\n    s = 0\n{lines}    return s\n"
    body += "\n" * (8 - body.count("\n")) + "@qd.func\ndef helper(x):\n    r = 1\n    r = x + 0.25\n    return r\n"
    logged, results = [], []
    monkeypatch.setattr(qd._logging, "warn", logged.append)
    for expected in (STORED, LOADED):
        k = load(body)["k"]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results.append(k())
        if decorator != "(graph=True)":
            assert observed(k) == expected
        if kind == "log":
            told = [one for one in logged if text in one]
            assert all(f"line {line}, in helper:" in one and "r = x + 0.25" in one for one in told)
        else:
            told = [one for one in caught if text in str(one.message) and one.category is kind and one.lineno == line]
        assert len(told) == (1 if kind != "log" else len(results)), (
            expected,
            [str(one.message) for one in caught],
            logged,
        )
        again()
    assert results[0] == results[1]


OPTIONS = {
    "default_fp": qd.f64,
    "default_ip": qd.i64,
    "fast_math": False,
    "debug": True,
    "short_circuit_operators": False,
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_the_front_end(init, name):
    text = "@qd.kernel\ndef k(n: qd.i32) -> qd.f64:\n    return (n * 3) / 7.0 if n > 1 and n < 9 else 1.0\n"
    for options, expected in (({}, STORED), ({name: OPTIONS[name]}, STORED), ({}, LOADED)):
        init(**options)
        k = load(text)["k"]
        k(5)
        assert observed(k) == expected
        qd.reset()


def test_options_that_do_not_matter(init):
    for options in ({}, {"random_seed": 7}, {"num_compile_threads": 1}, {"cpu_max_num_threads": 1}, {"opt_level": 2}):
        init(**options)
        k = load("@qd.kernel\ndef k() -> qd.i32:\n    return 3\n")["k"]
        k()
        assert observed(k) == (LOADED if options else STORED)
        qd.reset()


def test_front_end_reads_no_other_option(init, monkeypatch):
    """The options in the key are all that a walk asks for."""
    init()
    asked = set()

    class Noting(dict):
        def __getitem__(self, name):
            asked.add(name)
            return super().__getitem__(name)

        def get(self, name, default=None):
            asked.add(name)
            return super().get(name, default)

    runtime = qd.lang.impl.get_runtime()
    k = load(
        "@qd.kernel\ndef k() -> qd.f32:\n    s = 0.5\n    for i in qd.static(range(3)):\n        s += i\n    return s\n"
    )["k"]
    monkeypatch.setattr(runtime, "options", Noting(runtime.options))
    from quadrants.lang.frontend import driver

    driver.walk(k._primal, [], runtime)
    assert asked and asked <= set(source_tier.OPTIONS)


def test_offline_cache_off_has_no_source_tier(init, tmp_path):
    init(offline_cache=False)
    k = load("@qd.kernel\ndef k() -> qd.i32:\n    return 3\n")["k"]
    assert k() == 3
    assert observed(k) == (False, False, False, False)
    assert not (tmp_path / "cache").exists()


def test_verify_finds_what_is_not_recorded(init, monkeypatch):
    text = "N = 3\n@qd.kernel\ndef k() -> qd.i32:\n    return N\n"
    init(debug_cache_verify=True)
    assert load(text)["k"]() == 3
    qd.reset()
    init(debug_cache_verify=True)
    assert load(text)["k"]() == 3
    qd.reset()
    init(debug_cache_verify=True)
    monkeypatch.setattr(source_tier, "plan_key", lambda key, rec: source_tier._native.digest(key.digest))
    assert load(text)["k"]() == 3
    qd.reset()
    init(debug_cache_verify=True)
    with pytest.raises(RuntimeError, match="debug_cache_verify"):
        load(text.replace("N = 3", "N = 4"))["k"]()


def test_damaged_entries_are_misses(init, tmp_path):
    text = "N = 3\n@qd.kernel\ndef k() -> qd.i32:\n    return N\n"
    init()
    assert load(text)["k"]() == 3
    qd.reset()
    for tier in ("source", "plan"):
        for path in (tmp_path / "cache" / tier).rglob("*"):
            if path.is_file():
                data = bytearray(path.read_bytes())
                data[-20] ^= 1
                path.write_bytes(data)
    init()
    k = load(text)["k"]
    assert k() == 3
    assert observed(k) == STORED


def test_between_processes(run_script, tmp_path):
    """Another hash seed, another file, a cache that moved: hits; nothing is parsed and nothing of LLVM is loaded."""
    text = """
        import sys
        qd.init(arch=getattr(qd, ARCH), enable_fallback=False, offline_cache_file_path=CACHE + sys.argv[1], log_level="warn")
        C = {"a": 1, "b": 2}
        f = qd.field(qd.f32, shape=(4, 4))
        @qd.func
        def g(x): return x * C["b"]
        @qd.kernel
        def k(a: qd.types.ndarray()) -> qd.f32:
            for i, j in f: f[i, j] = g(i) + a[j]
            return f[3, 3]
        print(k(np.arange(4, dtype=np.float32)), vars(k._primal.src_ll_cache_observations)["cache_loaded"],
              qd.cache_report().warm, "quadrants.lang.frontend.exprs" in sys.modules)
        """
    assert run_script(text, "", env={"PYTHONHASHSEED": "1"}).stdout.splitlines()[-1].split()[:3] == [
        "9.0",
        "False",
        "False",
    ]
    shutil.move(tmp_path / "cache", tmp_path / "cache-moved")
    done = run_script(text, "-moved", env={"PYTHONHASHSEED": "2"}, name="elsewhere.py")
    assert done.stdout.splitlines()[-1].split() == ["9.0", "True", "True", "False"]


def test_an_upgrade_of_the_front_end_misses(run_script, tmp_path):
    """One changed line of the package's Python, in a file that the kernel does not even use."""
    here = os.path.dirname(os.path.abspath(qd.__file__))
    text = """
        qd.init(arch=getattr(qd, ARCH), enable_fallback=False, offline_cache_file_path=CACHE, log_level="warn")
        @qd.kernel
        def k() -> qd.i32:
            return 3
        print(k(), vars(k._primal.src_ll_cache_observations)["cache_loaded"], qd.cache_report().warm)
        """
    text = textwrap.dedent(text)
    copy = tmp_path / "new" / "quadrants"
    shutil.copytree(here, copy, symlinks=False, ignore=shutil.ignore_patterns("__pycache__", "plugins"))
    os.symlink(os.path.realpath(os.path.join(here, "plugins")), copy / "plugins")
    shutil.move(copy / "lang", tmp_path / "lang")  # in a build tree the folders are links
    os.symlink(tmp_path / "lang", copy / "lang")
    env = {"PYTHONPATH": str(tmp_path / "new")}
    assert run_script(text, env=env).stdout.splitlines()[-1].split() == ["3", "False", "False"]
    assert run_script(text, env=env).stdout.splitlines()[-1].split() == ["3", "True", "True"]
    with open(copy / "lang" / "frontend" / "matrices.py", "a") as file:
        file.write("# one line\n")
    assert run_script(text, env=env).stdout.splitlines()[-1].split() == [
        "3",
        "False",
        "True",
    ]  # parsed again, the code still there

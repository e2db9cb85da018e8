"""Options of `qd.init` do what their page says: one program each, with the option and without."""

import pytest
from program_text import load

import quadrants as qd


def outcome(init, text, **options):
    """What `R()` of a program gives, or the class and the text of what it raises."""
    init(**options)
    try:
        return load(text)["R"]()
    except Exception as error:  # noqa: BLE001 - its class is compared
        return type(error), str(error)


def kernel(body, head="@qd.kernel", returns="qd.i32", before=""):
    return f"{before}\n{head}\ndef k(x: qd.i32) -> {returns}:\n    {body}\nR = lambda: k(3)\n"


COUNT = "y = qd.field(qd.i32, ())"
TEMPLATE = "@qd.kernel\ndef k(x: qd.template()) -> qd.f32:\n    return x\nR = lambda: k(1.5)\n"
UNROLL = "s = 0\n    for i in qd.static(range(3)):\n        s += i\n    return s"
# option, value, program, what it gives with the option, what it gives without; an error is (class, part of its text)
VALUES = [
    ("default_ip", qd.i64, kernel("q = 1\n    return q << (x + 37)", returns="qd.i64"), 1 << 40, 1 << 8),
    ("default_fp", qd.f64, kernel("return 0.1", returns="qd.f64"), 0.1, 0.10000000149011612),
    ("raise_on_templated_floats", True, TEMPLATE, (ValueError, "Floats as templates"), 1.5),
    ("raise_on_templated_floats", True, kernel("return G", before="G = 2.5", returns="qd.f32"),
     (ValueError, 'global "G" is 2.5'), 2.5),
    ("check_out_of_bound", True, kernel("return y[x]", before="y = qd.field(qd.i32, 3)"), (AssertionError, "of size"), None),
    ("debug", True, kernel("assert x < 2, 'too big'\n    return x"), (AssertionError, "too big"), 3),
    ("short_circuit_operators", False, kernel("r = 0\n    if x < 0 and qd.atomic_add(y[None], 1) >= 0:\n        r = 1\n    return y[None]",
                                              before=COUNT), 1, 0),
    ("print_full_traceback", True, kernel("return qd.static(1 // int('0')) + x"), (ZeroDivisionError, "division"), None),
]  # fmt: skip


@pytest.mark.parametrize(
    "option, value, text, changed, plain", VALUES, ids=[f"{n} {row[0]}" for n, row in enumerate(VALUES)]
)
def test_results(init, option, value, text, changed, plain):
    for options, expected in (({option: value}, changed), ({}, plain)):
        if expected is None:
            continue
        found = outcome(init, text, offline_cache=False, **options)
        if isinstance(expected, tuple):
            assert issubclass(found[0], expected[0]) and expected[1] in found[1], found
        else:
            assert found == expected


def test_tracebacks_of_the_front_end(init):
    """Without the option an error of Python's comes with the kernel's line, and is a compilation error."""
    found = outcome(init, kernel("return qd.static(1 // int('0')) + x"), offline_cache=False)
    assert issubclass(found[0], qd.QuadrantsSyntaxError.__mro__[1]) and "in k:" in found[1]
    plain = outcome(init, kernel("return qd.static(1 // int('0')) + x"), offline_cache=False, print_full_traceback=True)
    assert plain[0] is ZeroDivisionError


def test_kernels_that_are_not_pure(init, capfd):
    for options, said in (({"print_non_pure": True}, 1), ({}, 0)):
        outcome(init, kernel("return x"), offline_cache=False, **options)
        outcome(init, kernel("return x", head="@qd.kernel(fastcache=True)"), offline_cache=False, **options)
        assert capfd.readouterr().out.count("[NOT_PURE] Debug information: not pure: k") == said


def test_unrolling(init):
    with pytest.warns(SyntaxWarning, match="unrolling more than 2 iterations"):
        assert outcome(init, kernel(UNROLL), offline_cache=False, unrolling_limit=2) == 3
    import warnings

    for options in ({"unrolling_limit": 0}, {"unrolling_limit": 3}, {}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert outcome(init, kernel(UNROLL), offline_cache=False, **options) == 3


def test_seeds(init):
    text = "@qd.kernel\ndef k() -> qd.f32:\n    return qd.random()\nR = lambda: k()\n"
    drawn = [outcome(init, text, offline_cache=False, random_seed=seed) for seed in (1, 1, 2, 2**32 + 1)]
    assert drawn[0] == drawn[1] == drawn[3] != drawn[2]


def test_dumps(init, tmp_path, capfd):
    outcome(init, kernel("return x + 41"), offline_cache=False, print_ir=True)
    assert "func @k" in capfd.readouterr().out
    outcome(init, kernel("return x + 41"), offline_cache=False, gdb_trigger=True)
    assert "func @k" not in capfd.readouterr().out


NO_EFFECT = ["opt_level", "num_compile_threads", "cpu_max_num_threads", "fast_math", "advanced_optimization", "cfg_optimization",
             "flatten_if", "force_scalarize_matrix", "make_thread_local", "cache_loop_invariant_global_vars", "kernel_profiler"]  # fmt: skip


@pytest.mark.parametrize("option", NO_EFFECT)
def test_no_result_depends_on(init, option):
    text = "@qd.kernel\ndef k() -> qd.i32:\n    s = 0\n    for i in range(100):\n        if i % 3 == 0:\n            s += i\n    return s\nR = lambda: k()\n"
    values = (0, 1, 2) if option.endswith(("level", "threads")) else (False, True)
    assert {outcome(init, text, offline_cache=False, **{option: value}) for value in values} == {1683}


@pytest.mark.parametrize("text", ["@qd.pure\n@qd.kernel", "@qd.kernel(pure=True)"])
def test_old_names_of_fastcache_warn(arch, text):
    with pytest.warns(UserWarning, match="is deprecated; use qd.kernel\\(fastcache="):
        k = load(f"{text}\ndef k(x: qd.i32) -> qd.i32:\n    return x\n")["k"]
    assert k(3) == 3 and k._primal.fastcache

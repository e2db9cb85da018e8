"""print, assert and bounds checks: texts, positions, and that a failed access is not performed."""

import numpy as np
import pytest
from program_text import load

import quadrants as qd

PRINTS = [
    ("print(1, n, x)", "1 3 0.500000\n"),
    ("print('a', n, sep='-', end='!')", "a-3!"),
    ("print(f'n = {n}, x = {x:.2f}')", "n = 3, x = 0.50\n"),
    ("print(f'{n = }')", "n = 3\n"),
    ("print('{} and {b:.1f}'.format(n, b=x))", "3 and 0.5\n"),
    ("print('%d of %.3f' % (n, x))", "3 of 0.500\n"),
    ("print(qd.Vector([1, n]))", "[1, 3]\n"),
    ("print(qd.Matrix([[1, 2], [n, 4]]))", "[[1, 2], [3, 4]]\n"),
    ("print(n > 2)", "1\n"),
    ("print(qd.cast(n, qd.u8), qd.cast(-n, qd.i64), qd.cast(-1, qd.u64))", "3 -3 18446744073709551615\n"),
    ("print(qd.cast(x, qd.f64))", "0.500000000000\n"),
    ("print()", "\n"),
    ("print((n, x), [n, (1,)], ())", "[3, 0.500000] [3, [1]] []\n"),
    ("print({'a': n})", "{'a': 3}\n"),
    ("print(n, x, sep=None, end=None)", "3 0.500000\n"),
    # what is known without the kernel has Python's text in a formatted string, and its type's text elsewhere
    ("print(f'{1.5} {True} {[1, 2.5]}', '{}'.format(1e-7), '%s' % 3.0)", "1.5 True [1, 2.5] 1e-07 3.0\n"),
    ("print(1.5, True)", "1.500000 1\n"),
    ("qd.static_print(f'{1.5} {n}')", "1.5 i32\n"),
    ("for i in range(2):\n    if i == 1:\n        print('i', i)", "i 1\n"),
]


@pytest.mark.parametrize("body, expected", PRINTS)
def test_print(arch, capfd, body, expected):
    k = load("@qd.kernel\ndef k(n: qd.i32, x: qd.f32):\n" + "".join(f"    {line}\n" for line in body.splitlines()))["k"]
    capfd.readouterr()
    k(3, 0.5)
    assert capfd.readouterr().out == expected


SPECIFICATIONS = [  # type, value, specification: what C's printf shows
    ("i32", -7, "05", "-0007"), ("i32", -7, ".3d", "-007"), ("i32", -7, "-5i", "-7   "), ("i64", -(2**40), "lld", "-1099511627776"),
    ("u32", 3000, "u", "3000"), ("u32", 3000, "#x", "0xbb8"), ("u32", 3000, "#o", "05670"), ("u32", 3000, "+u", "3000"), ("u64", 2**63, "llX", "8000000000000000"),
    ("f32", 1.5, "10", "  1.500000"), ("f32", 1.5, "-8.2f", "1.50    "), ("f32", 1.5, "g", "1.5"), ("f32", 1.5, "a", "0x1.8p+0"), ("f32", -1.5, "A", "-0X1.8P+0"),
    ("f32", 1.96875, ".1a", "0x2.0p+0"), ("f64", 0.125, "f", "0.125000000000"), ("f64", 0.125, "e", "1.250000000000e-01"), ("f64", 0.125, ".3", "0.125"),
    ("u1", True, "u", "1"), ("i32", 1234567, ",", "1,234,567"), ("i32", -7, ">5", "   -7"), ("f32", 0.5, "%", "50.000000%"),
]  # fmt: skip


@pytest.mark.parametrize("dtype, value, spec, expected", SPECIFICATIONS)
def test_print_specifications(arch, capfd, dtype, value, spec, expected):
    k = load(f"@qd.kernel\ndef k(x: qd.{dtype}):\n    print(f'{{x:{spec}}}|', end='')\n")["k"]
    capfd.readouterr()
    k(value)
    assert capfd.readouterr().out == expected + "|"


@pytest.mark.parametrize(
    "dtype, spec", [("f32", ".2d"), ("i32", "x"), ("i32", "u"), ("u32", "d"), ("u8", "i"), ("u1", "d"), ("i64", ".2f")]
)
def test_print_specification_must_match(arch, dtype, spec):
    with pytest.raises(qd.QuadrantsTypeError, match=f"'{spec}' doesn't match '{dtype}'"):
        load(f"@qd.kernel\ndef k(x: qd.{dtype}):\n    print(f'{{x:{spec}}}')\n")["k"](1)


@pytest.mark.parametrize(
    "text, error, message",
    [
        ("'{:c}'.format(n)", qd.QuadrantsTypeError, "conversion 'c' is not supported"),
        ("'{:>2q}'.format(n)", qd.QuadrantsTypeError, "'>2q' is no format specification for 'i32'"),
        ("'{} {}'.format(n)", qd.QuadrantsSyntaxError, r"Expected 2 positional argument\(s\), but received 1 instead"),
        ("'{}'.format(n, n)", qd.QuadrantsSyntaxError, r"Expected 1 positional argument\(s\), but received 2 instead"),
        ("'{a}'.format(b=n)", qd.QuadrantsSyntaxError, "Keyword 'a' not found"),
        ("'{a}'.format(a=n, b=n)", qd.QuadrantsSyntaxError, "Keyword 'b' not used"),
        ("'{0} {}'.format(n, n)", qd.QuadrantsSyntaxError, "cannot be mixed"),
        ("'{'.format(n)", qd.QuadrantsSyntaxError, "Single '{' encountered"),
    ],
)
def test_bad_formats(arch, text, error, message):
    with pytest.raises(error, match=message):
        load(f"@qd.kernel\ndef k(n: qd.i32):\n    print({text})\n")["k"](1)


ASSERTS = [
    ("assert n > 5", "n > 5"),
    ("assert n > 5, 'too small'", "too small"),
    ("assert n > 5, f'n is {n}'", "n is 3"),
    ("assert n > 5, 'n is %d' % n", "n is 3"),
    ("for i in range(4):\n    assert i != 2, f'i is {i}'", "i is 2"),
]


@pytest.mark.parametrize("body, message", ASSERTS)
def test_assert(init, body, message):
    text = "@qd.kernel\ndef k(n: qd.i32):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    init(debug=True)
    with pytest.raises(qd.QuadrantsAssertionError) as caught:
        load(text)["k"](3)
    assert message in str(caught.value) and "in k:" in str(caught.value)
    init(debug=False)
    load(text)["k"](3)


def test_assert_that_holds(init):
    init(debug=True)
    a = np.zeros(3, np.int32)
    load("@qd.kernel\ndef k(a: qd.types.ndarray()):\n    for i in a:\n        assert i < 3\n        a[i] = i\n")["k"](a)
    assert a.tolist() == [0, 1, 2]


ACCESSES = [
    # statement in `for t in range(1)`, a part of the message
    ("a[n] = 7", "with indices (5)"),
    ("a[n - 6] = 7", "with indices (-1)"),
    ("a[0] = a[n + 4] + 7", "with indices (9)"),
    ("a[n] += 7", "with indices (5)"),
    ("qd.atomic_max(a[n], 7)", "with indices (5)"),
    ("a[0] = b[n - 4, n - 3]", "of size (2, 2) with indices (1, 2)"),
    ("f[n] = 7", "with indices (5)"),
    ("a[0] = f[n - 6]", "with indices (-1)"),
    ("v = qd.Vector([1, 2, 3])\n        v[n] = 7", "with indices (5)"),
    ("v = qd.Vector([1, 2, 3])\n        a[0] = v[n]", "with indices (5)"),
    ("v = qd.Vector.zero(qd.i32, 30)\n        v[n * 10] = 7", "with indices (50)"),
]


@pytest.mark.parametrize("option", ["debug", "check_out_of_bound"])
@pytest.mark.parametrize("statement, message", ACCESSES)
def test_bounds(init, option, statement, message):
    init(**{option: True})
    f = qd.field(qd.i32, shape=5)
    text = (
        "@qd.kernel\ndef k(a: qd.types.NDArray[qd.i32, 1], b: qd.types.NDArray[qd.i32, 2], n: qd.i32):\n"
        f"    for t in range(1):\n        {statement}\n"
    )
    whole = np.arange(100, 115, dtype=np.int32)
    a, b = whole[5:10], np.zeros((2, 2), np.int32)
    k = load(text, f=f)["k"]
    with pytest.raises(qd.QuadrantsAssertionError) as caught:
        k(a, b, 5)
    assert (
        message in str(caught.value)
        and "kernel=k" in str(caught.value)
        and f"line {4 + statement.count(chr(10))}, in k" in str(caught.value)
    )
    assert whole[:5].tolist() == [100, 101, 102, 103, 104] and whole[10:].tolist() == [110, 111, 112, 113, 114]


def test_inside_is_quiet(init):
    init(check_out_of_bound=True)
    f = qd.Matrix.field(2, 2, qd.f32, shape=(3, 3), offset=(-1, 0))

    @qd.kernel
    def k() -> qd.f32:
        s = 0.0
        for i, j in f:
            f[i, j] = qd.Matrix([[1.0, 2.0], [3.0, 4.0]])
            for p, q in qd.ndrange(2, 2):
                f[i, j][p, q] += 1.0
        for i, j in f:
            s += f[i, j].sum()
        return s

    assert k() == 9 * 14


def test_the_runtime_lives_on(init):
    init(debug=True)
    k = load("@qd.kernel\ndef k(a: qd.types.ndarray(), n: qd.i32):\n    for i in range(1):\n        a[n] = 1\n")["k"]
    a = np.zeros(3, np.int32)
    for n in (5, 1, -1, 2):
        if 0 <= n < 3:
            k(a, n)
        else:
            with pytest.raises(RuntimeError):
                k(a, n)
    assert a.tolist() == [0, 1, 1]


OVERFLOWS = [
    ("a + b", "i32", (2**31 - 1, 1), "Addition"),
    ("a + b", "i32", (2**30, 1), None),
    ("a + b", "u32", (2**32 - 1, 1), "Addition"),
    ("a - b", "i64", (-(2**63), 1), "Subtraction"),
    ("a - b", "u32", (0, 1), "Subtraction"),
    ("a * b", "i32", (65536, 65536), "Multiplication"),
    ("a * b", "i64", (2**40, 2**40), "Multiplication"),
    ("a * b", "i64", (2**30, 2**30), None),
    ("a << b", "i32", (1, 31), "Shift left"),
    ("a << b", "i32", (1, 30), None),
    ("a + b", "i8", (127, 1), "Addition"),
    ("a - b", "u8", (1, 2), "Subtraction"),
    ("a * b", "i16", (256, 256), "Multiplication"),
    ("a * b", "u16", (255, 256), None),
]


@pytest.mark.parametrize("expression, dtype, args, word", OVERFLOWS)
def test_overflow_is_printed(init, capfd, expression, dtype, args, word):
    text = f"@qd.kernel\ndef k(a: qd.{dtype}, b: qd.{dtype}) -> qd.{dtype}:\n    return {expression}\n"
    init(debug=True)
    k = load(text)["k"]
    capfd.readouterr()
    k(*args)
    out = capfd.readouterr().out
    if word is None:
        assert out == ""
    else:
        assert out.startswith(f"{word} overflow detected in File ") and "line 3, in k:" in out and expression in out


@pytest.mark.parametrize("dtype, statement, before, word", [
    ("i32", "x[0] += a", 2**31 - 1, "Addition"),
    ("i32", "x[0] += a", 5, None),
    ("i32", "x[0] -= a", -(2**31), "Subtraction"),
    ("u8", "qd.atomic_add(x[0], a)", 255, "Addition"),
    ("f32", "x[0] += a", 2**31 - 1, None),
])  # fmt: skip
def test_overflow_of_updates_is_printed(init, capfd, dtype, statement, before, word):
    """Updates of memory are atomic; that one overflows is seen from the old value."""
    init(debug=True)
    k = load(f"@qd.kernel\ndef k(x: qd.types.NDArray[qd.{dtype}, 1], a: qd.{dtype}):\n    {statement}\n")["k"]
    x = qd.ndarray(getattr(qd, dtype), 1)
    x[0] = before
    capfd.readouterr()
    k(x, 1)
    out = capfd.readouterr().out
    if word is None:
        assert out == ""
    else:
        assert out.startswith(f"{word} overflow detected in File ") and "line 3, in k:" in out and statement in out

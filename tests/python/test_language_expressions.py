"""Scalar expressions: operators, promotion, literals, casts, conditions. One row a case: expression, parameters, arguments, result."""

import math

import numpy as np
import pytest
from program_text import kernel_of

import quadrants as qd

I32 = "a: qd.i32, b: qd.i32"
F32 = "a: qd.f32, b: qd.f32"
F64 = "a: qd.f64, b: qd.f64"
MIN = -(2**31)

ROWS = [
    # expression, parameters, arguments, result type, value
    ("a + b", I32, (2**31 - 1, 1), "qd.i32", MIN),
    ("a - b", I32, (MIN, 1), "qd.i32", 2**31 - 1),
    ("a * b", I32, (65536, 65537), "qd.i32", 65536),
    ("a // b", I32, (-7, 2), "qd.i32", -4),
    ("a // b", I32, (7, -2), "qd.i32", -4),
    ("a % b", I32, (-7, 3), "qd.i32", 2),
    ("a % b", I32, (7, -3), "qd.i32", -2),
    ("a // b", I32, (5, 0), "qd.i32", 0),
    ("a % b", I32, (5, 0), "qd.i32", 0),
    ("a // b", F64, (-7.5, 2.0), "qd.f64", -4.0),
    ("a % b", F64, (-7.5, 2.0), "qd.f64", 0.5),
    ("a / b", I32, (7, 2), "qd.f32", 3.5),
    ("a / b", F64, (1.0, 3.0), "qd.f64", 1.0 / 3.0),
    ("a ** b", "a: qd.f32, b: qd.i32", (1.5, 3), "qd.f32", 3.375),
    ("a ** b", "a: qd.f32, b: qd.u32", (1.5, 3), "qd.f32", 3.375),
    ("a ** b", "a: qd.f64, b: qd.i64", (0.5, -3), "qd.f64", 8.0),
    ("qd.pow(a, b)", "a: qd.f64, b: qd.i16", (-2.0, 3), "qd.f64", -8.0),
    ("qd.Vector([a, a])[0] ** qd.Vector([b, b])[1]", "a: qd.f32, b: qd.i32", (3.0, 2), "qd.f32", 9.0),
    ("3000000000 * 1.0 + a", F64, (1.0, 3.0), "qd.f64", 3000000001.0),
    ("-3000000000 / 2 + a", F64, (1.0, 3.0), "qd.f64", -1499999999.0),
    ("qd.max(3000000000, 1.0) + float(3000000000) + a", F64, (1.0, 3.0), "qd.f64", 6000000001.0),
    ("qd.raw_div(a, b)", I32, (-7, 2), "qd.i32", -3),
    ("qd.raw_mod(a, b)", I32, (-7, 2), "qd.i32", -1),
    ("a ** b", I32, (3, 4), "qd.i32", 81),
    ("a ** b", I32, (2, -1), "qd.i32", 1),
    ("a ** 2", F64, (1.5, 0.0), "qd.f64", 2.25),
    ("a ** 0.5", F64, (2.25, 0.0), "qd.f64", 1.5),
    ("a & b | 1", I32, (12, 10), "qd.i32", 9),
    ("a ^ b", I32, (12, 10), "qd.i32", 6),
    ("~a", I32, (5, 0), "qd.i32", -6),
    ("a << b", I32, (3, 4), "qd.i32", 48),
    ("a >> b", I32, (-256, 4), "qd.i32", -16),
    ("qd.bit_shr(a, b)", I32, (-256, 28), "qd.i32", 15),
    ("-a", I32, (5, 0), "qd.i32", -5),
    ("+a", I32, (5, 0), "qd.i32", 5),
    ("not a", I32, (5, 0), "bool", False),
    ("not a", I32, (0, 0), "bool", True),
    ("abs(a) + qd.abs(b)", I32, (-5, -6), "qd.i32", 11),
    # promotion: language.md 2.5
    ("a + b", "a: qd.i64, b: qd.f32", (1, 0.5), "qd.f32", 1.5),
    ("a + b", "a: qd.i32, b: qd.u32", (-1, 0), "qd.u32", 2**32 - 1),
    ("a * b", "a: qd.i32, b: qd.i64", (2**20, 2**20), "qd.i64", 2**40),
    ("a + b", "a: qd.f32, b: qd.f64", (1.0, 2.0**-40), "qd.f64", 1 + 2.0**-40),
    ("a + b", "a: qd.u8, b: qd.u8", (200, 100), "qd.i32", 44),
    ("a << b", "a: qd.i64, b: qd.i32", (1, 40), "qd.i64", 2**40),
    ("a + 1", "a: qd.i64", (2**40,), "qd.i64", 2**40 + 1),
    ("a * 0.5", "a: qd.i32", (3,), "qd.f32", 1.5),
    ("True + a", "a: qd.i32", (3,), "qd.i32", 4),
    ("(a > 1) + (a > 2)", "a: qd.i32", (5,), "qd.i32", 2),
    # comparisons and conditions
    ("a < b", I32, (1, 2), "bool", True),
    ("a == b", F32, (math.nan, math.nan), "bool", False),
    ("a != b", F32, (math.nan, 1.0), "bool", True),
    ("0 <= a < b", I32, (3, 4), "bool", True),
    ("0 <= a < b", I32, (4, 4), "bool", False),
    ("a < b > 1 != 5", I32, (1, 2), "bool", True),
    ("a > 0 and b > 0", I32, (1, 0), "bool", False),
    ("a > 0 or b > 0", I32, (1, 0), "bool", True),
    ("a and b", I32, (5, 6), "qd.i32", 6),
    ("a or b", I32, (5, 6), "qd.i32", 5),
    ("a if a > b else b", I32, (3, 9), "qd.i32", 9),
    ("1.5 if a else b", "a: qd.i32, b: qd.i32", (0, 2), "qd.f32", 2.0),
    ("qd.select(a > b, a, b)", I32, (3, 9), "qd.i32", 9),
    ("max(a, b, 4)", I32, (3, 2), "qd.i32", 4),
    ("qd.min(a, b) + qd.max(a, 0.5)", F64, (2.0, 1.0), "qd.f64", 3.0),
    ("(c := a + 1) * c", I32, (2, 0), "qd.i32", 9),
    # casts and literals
    ("int(a)", F32, (-2.7, 0), "qd.i32", -2),
    ("qd.cast(a, qd.u8)", I32, (300, 0), "qd.i32", 44),
    ("qd.cast(a, bool)", I32, (7, 0), "qd.i32", 1),
    ("float(a) / 2", I32, (7, 0), "qd.f32", 3.5),
    ("qd.f64(0.1)", "", (), "qd.f64", 0.1),
    ("qd.i64(5000000000)", "", (), "qd.i64", 5000000000),
    ("qd.u32(a)", I32, (-1, 0), "qd.u32", 2**32 - 1),
    ("qd.bit_cast(a, qd.i32)", F32, (1.0, 0), "qd.i32", 0x3F800000),
    ("qd.cast(a, qd.i32)", F64, (1e30, 0), "qd.i32", 2**31 - 1),
    ("bool(a)", I32, (2, 0), "bool", True),
    # math
    ("qd.sqrt(a) + qd.rsqrt(b)", F64, (9.0, 4.0), "qd.f64", 3.5),
    ("qd.floor(a) + qd.ceil(b)", F64, (1.7, 1.2), "qd.f64", 3.0),
    ("qd.round(a)", F64, (2.5, 0.0), "qd.f64", 3.0),
    ("qd.floor(a, qd.i32)", F64, (-1.5, 0.0), "qd.i32", -2),
    ("qd.sin(a) ** 2 + qd.cos(a) ** 2", F64, (0.7, 0.0), "qd.f64", 1.0),
    ("qd.exp(qd.log(a))", F64, (3.0, 0.0), "qd.f64", 3.0),
    ("qd.tan(qd.atan2(a, b))", F64, (3.0, 4.0), "qd.f64", 0.75),
    ("qd.asin(a) + qd.acos(a) + qd.tanh(b)", F64, (0.3, 0.0), "qd.f64", math.pi / 2),
    ("qd.pow(a, b)", F64, (2.0, 10.0), "qd.f64", 1024.0),
    ("qd.sqrt(a)", I32, (16, 0), "qd.f32", 4.0),
    ("qd.math.popcnt(a) + qd.math.clz(b)", I32, (255, 1), "qd.i32", 39),
    ("qd.math.clamp(a, 0, 10)", I32, (99, 0), "qd.i32", 10),
    ("qd.math.isnan(a)", F32, (math.nan, 0), "qd.i32", 1),
    ("qd.math.isinf(a)", F32, (math.inf, 0), "qd.i32", 1),
]


@pytest.mark.parametrize("expression, params, args, returns, expected", ROWS)
def test_value(arch, expression, params, args, returns, expected):
    got = kernel_of(expression, params, returns)(*args)
    if isinstance(expected, float):
        assert got == pytest.approx(expected, rel=1e-6 if "f32" in returns else 1e-12)
    else:
        assert got == expected and type(got) is type(expected)


CONSTANT = [
    # what is known at compile time is computed as Python does, without a width: only the result has to fit
    ("7 // -2", -4), ("-7 % 3", 2), ("2 ** 10", 1024), ("1 << 5", 32), ("3 & 6", 2), ("5 // 0", 0), ("5 % 0", 0),
    ("(2147483647 + 1) // 2", 2**30), ("65536 * 65536 >> 20", 4096), ("-(2 ** 30) * 2", MIN), ("max(1, 2)", 2),
    ("2**40 // 2**20", 2**20), ("qd.i64(2**40) >> 38", 4), ("qd.u32(2**31) >> 30", 2), ("int(10 * 2 ** -1)", 5),
    ("qd.floor(7)", 7), ("qd.round(True)", 1), ("qd.ceil(qd.cos(0) + qd.sin(0))", 1), ("qd.tanh(0) + 3", 3), ("min(3, 2, 1)", 1),
    ("len([1, 2, 3])", 3), ("abs(-4)", 4), ("int(3.9)", 3), ("True and 5", 5), ("0 or 7", 7),
]  # fmt: skip


@pytest.mark.parametrize("expression, expected", CONSTANT)
def test_constant(arch, expression, expected):
    assert kernel_of(expression, "", "qd.i32")() == expected


def test_long_sums(arch):
    """A sum of a thousand terms nests a thousand deep in the syntax tree."""
    k = kernel_of(" + ".join(f"a * {i}" for i in range(1000)), "a: qd.i32", "qd.i32")
    assert k(3) == 3 * 499500


def test_lazy_operands(arch):
    """`and`, `or` and conditional expressions don't evaluate the operand that Python would skip."""
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(i: qd.i32) -> qd.i32:
        hit = i >= 0 and qd.atomic_add(x[0], 1) == 0
        miss = i >= 0 or qd.atomic_add(x[1], 1) == 0
        chosen = qd.atomic_add(x[2], 1) if i >= 0 else qd.atomic_add(x[3], 5)
        r = 0
        if hit:
            r += 1
        if miss:
            r += 2
        return r * 100 + chosen

    assert k(1) == 300
    assert k(-1) == 200
    assert x.to_numpy().tolist() == [1, 1, 1, 5]


def test_default_types(init):
    init(default_ip=qd.i64, default_fp=qd.f64)

    @qd.kernel
    def k(n: int, x: float) -> float:
        big = 5000000000
        return big * n + x + 0.1

    assert k(2, 0.25) == 2 * 5000000000 + 0.25 + 0.1


class Scales:
    """Has operators of its own."""

    def __matmul__(self, other):
        return other * 7

    def __rmatmul__(self, other):
        return other * 8


@pytest.mark.parametrize(
    "expression, expected",
    [("o @ o2", 70), ("o @ 2", 14), ("o @ a", 21), ("a @ o", 24), ("(o @ qd.Vector([a, 1]))[0]", 21), ("(qd.Vector([a, 1]) @ o)[0]", 24)],
)  # fmt: skip
def test_matrix_product_of_an_object(arch, expression, expected):
    kernel = kernel_of(expression.replace("o2", "10"), "a: qd.i32", "qd.i32", o=Scales())
    assert kernel(3) == expected


@pytest.mark.parametrize("error", [KeyError, AttributeError, ValueError])
def test_objects_are_asked_for_nothing_but_what_is_written(arch, error):
    """A `__getattr__` may fail in its own way for names that a program never wrote."""

    class Bag:
        def __getattr__(self, name):
            if name == "a":
                return 4
            raise error(f"no {name}")

    assert kernel_of("o.a", "a: qd.i32", "qd.i32", o=Bag())(1) == 4
    with pytest.raises(qd.lang.exception.QuadrantsCompilationError, match=r"return o\.b\n +\^\^\^\n.*no b") as caught:
        kernel_of("o.b", "a: qd.i32", "qd.i32", o=Bag())(1)
    assert isinstance(caught.value, error)
    with pytest.raises(qd.QuadrantsTypeError, match="'Bag' is not callable"):
        kernel_of("o()", "a: qd.i32", "qd.i32", o=Bag())(1)


LISTS = [
    ("(a + [1, 2])[1]", 5), ("([1, 2] * a)[1]", 6), ("qd.max([1, 5], [3, a])[1]", 5), ("qd.abs([-1, -a])[1]", 3),
    ("(-qd.floor([0.5, 2.5]))[1]", -2), ("qd.select([1, 0], [1, 2], [a, 4])[1]", 4),
    ("(a + A)[1]", 5), ("(A * a)[0]", 3),
]  # fmt: skip


@pytest.mark.parametrize("expression, expected", LISTS)
def test_lists_as_vectors(arch, expression, expected):
    assert kernel_of(expression, "a: qd.i32", "qd.i32", A=np.array([1, 2]))(3) == expected


@pytest.mark.parametrize("operand", ["'a'", "None", "f", "print", "{}", "qd", "...", "A2"])
def test_operands_that_are_no_numbers(arch, operand):
    """Named as the program knows them."""
    kernel = kernel_of(f"a + {operand}", "a: qd.i32", "qd.i32", f=qd.func(helper), A2=qd.field(qd.i32, 2))
    with pytest.raises(qd.QuadrantsTypeError, match=r"unsupported operand type\(s\) for '.': 'i32' and '") as caught:
        kernel(3)
    assert "Traced" not in str(caught.value)


def helper():
    return 1

"""Typing of the language's operators as the native builder applies it: tables of operand types and the type that comes out.

Each expectation is a sentence of the language's rules; what is emitted for it is checked where the choice of operation
depends on the sign or the class of a type.
"""

import pickle

import numpy as np
import pytest

from quadrants import _native as n
from quadrants.lang.exception import (
    QuadrantsCompilationError,
    QuadrantsRuntimeError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)

NAMES = "f16 f32 f64 i8 i16 i32 i64 u1 u8 u16 u32 u64".split()
INTS = [name for name in NAMES if name[0] in "iu"]
REALS = ["f16", "f32", "f64"]


def builder(default_ip=n.i32, default_fp=n.f32):
    return n.Builder("k", default_ip, default_fp, True, False)


def param(b, name):
    return b.scalar_param(getattr(n, name), name)


def last_op(b):
    """Operation of the record appended last, such as `udiv.i32`."""
    line = b.text().rstrip().splitlines()[-2].strip()
    return (line.split(" = ")[1] if " = " in line else line).split()[0]


# ------------------------------------------------------------------------------------------------------------ DataType
def test_datatypes_are_singletons_that_survive_pickling():
    for name in NAMES:
        t = getattr(n, name)
        assert pickle.loads(pickle.dumps(t)) is t
        assert t.name == str(t) == t.to_string() == name
    assert len({getattr(n, name).id for name in NAMES}) == 12


def test_datatype_facts():
    assert (n.u1.size, n.u1.min, n.u1.max, n.u1.is_integral, n.u1.is_signed) == (1, 0, 1, True, False)
    assert (n.i8.min, n.i8.max, n.u64.max, n.i64.min) == (-128, 127, 2**64 - 1, -(2**63))
    assert (n.f16.max, n.f32.max) == (65504.0, float(np.finfo(np.float32).max))
    assert n.f32.is_real and n.f32.is_signed and not n.f32.is_integral


def test_datatype_call_outside_kernel():
    with pytest.raises(QuadrantsSyntaxError, match="cannot be called outside Quadrants kernels"):
        n.f32(1)


PROMOTION = [
    ("i64", "f32", "f32"), ("f16", "i64", "f16"), ("i32", "u32", "u32"), ("f32", "f64", "f64"), ("i8", "u8", "u8"),
    ("u8", "i16", "i16"), ("i64", "u64", "u64"), ("u32", "i64", "i64"), ("u1", "i8", "i8"), ("f16", "f32", "f32"),
]  # fmt: skip


@pytest.mark.parametrize("a, b, result", PROMOTION)
def test_promotion(a, b, result):
    a, b, result = getattr(n, a), getattr(n, b), getattr(n, result)
    assert n.promote(a, b) is result and n.promote(b, a) is result


# ----------------------------------------------------------------------------------------------------------- operators
@pytest.mark.parametrize("a, b, result", PROMOTION)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "floordiv", "mod", "raw_div", "max", "min"])
def test_arithmetic_promotes(op, a, b, result):
    k = builder()
    assert getattr(k, op)(param(k, a), param(k, b)).dtype.name == result


def test_truth_values_are_numbers_in_arithmetic():
    k = builder()
    x, y = param(k, "u1"), param(k, "u1")
    assert k.add(x, y).dtype is n.i32 and k.neg(x).dtype is n.i32 and k.shl(x, 3).dtype is n.i32
    assert k.bit_and(x, y).dtype is n.u1 and k.invert(x).dtype is n.u1 and k.max(x, y).dtype is n.u1


@pytest.mark.parametrize("a", NAMES)
@pytest.mark.parametrize("b", NAMES)
def test_true_division_gives_reals(a, b):
    k = builder()
    real_a, real_b = (x if x in REALS else "f32" for x in (a, b))
    assert k.truediv(param(k, a), param(k, b)).dtype is n.promote(getattr(n, real_a), getattr(n, real_b))


def test_true_division_of_integers_follows_default_fp():
    k = builder(default_fp=n.f64)
    assert k.truediv(param(k, "i32"), 2).dtype is n.f64


@pytest.mark.parametrize("name", INTS)
def test_shifts_keep_the_left_type(name):
    k = builder()
    x, y = param(k, name), param(k, "u64")
    expected = n.i32 if name == "u1" else getattr(n, name)
    assert k.shl(x, y).dtype is expected
    assert k.sar(x, y).dtype is expected
    signed = expected.is_signed
    assert last_op(k).startswith("sar." if signed else "shr.")
    assert k.bit_shr(x, param(k, "i8")).dtype is expected
    assert last_op(k).startswith("shr.")


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("a, b", [("i32", "u32"), ("f32", "i64"), ("u1", "u1"), ("u8", "i8")])
def test_comparisons_give_u1(op, a, b):
    k = builder()
    assert getattr(k, op)(param(k, a), param(k, b)).dtype is n.u1


@pytest.mark.parametrize(
    "op, signed, unsigned",
    [("floordiv", "floordiv", "udiv"), ("mod", "floormod", "urem"), ("raw_div", "idiv", "udiv"), ("raw_mod", "irem", "urem"),
     ("lt", "lt", "ult"), ("ge", "le", "ule"), ("min", "min", "umin"), ("max", "max", "umax")],
)  # fmt: skip
def test_sign_picks_the_operation(op, signed, unsigned):
    for name, expected in (("i32", signed), ("u32", unsigned)):
        k = builder()
        getattr(k, op)(param(k, name), param(k, name))
        assert last_op(k).split(".")[0] == expected
    k = builder()  # after promotion: i32 meets u32 as u32
    getattr(k, op)(param(k, "i32"), param(k, "u32"))
    assert last_op(k).split(".")[0] == unsigned


@pytest.mark.parametrize(
    "x, to, op",
    [("u8", "i32", "ucast"), ("i8", "u32", "cast"), ("u32", "f32", "ucast"), ("i32", "f32", "cast"), ("f32", "u8", "ucast"),
     ("f32", "i8", "cast"), ("u64", "i8", "cast"), ("i32", "u1", "cast"), ("u1", "i64", "cast"), ("f64", "f16", "cast")],
)  # fmt: skip
def test_casts_extend_by_the_sign_of_the_source(x, to, op):
    k = builder()
    assert k.cast(param(k, x), getattr(n, to)).dtype.name == to
    assert last_op(k).startswith(op + ".")


def test_cast_between_signs_of_one_width_is_free():
    k = builder()
    x = param(k, "i32")
    before = k.text()
    assert k.cast(x, n.u32).dtype is n.u32 and k.text() == before


@pytest.mark.parametrize("op", ["exp", "log", "sqrt", "rsqrt"])
@pytest.mark.parametrize("name", NAMES)
def test_some_functions_take_integers(op, name):
    k = builder(default_fp=n.f64)
    assert k.unary(op, param(k, name)).dtype is (getattr(n, name) if name in REALS else n.f64)


@pytest.mark.parametrize("op", "sin cos tan asin acos tanh floor ceil round trunc".split())
def test_other_functions_want_reals(op):
    k = builder()
    assert k.unary(op, param(k, "f16")).dtype is n.f16
    with pytest.raises(QuadrantsTypeError, match=f"'{op}' takes real inputs only, however 'i32' is provided"):
        k.unary(op, param(k, "i32"))


@pytest.mark.parametrize("op", ["popcnt", "clz", "ctz"])
def test_bit_counts_are_i32(op):
    k = builder()
    assert k.unary(op, param(k, "u64")).dtype is n.i32
    with pytest.raises(QuadrantsTypeError, match=f"'{op}' takes integral inputs only"):
        k.unary(op, param(k, "f32"))


def test_frexp_and_abs():
    k = builder()
    x = param(k, "f64")
    assert k.unary("frexp_frac", x).dtype is n.f64 and k.unary("frexp_exp", x).dtype is n.i32
    u = param(k, "u32")
    before = k.text()
    k.unary("abs", u)
    assert k.text() == before  # nothing to do


@pytest.mark.parametrize(
    "op, symbol", [("bit_and", "&"), ("bit_or", "|"), ("bit_xor", "^"), ("shl", "<<"), ("sar", ">>")]
)
def test_bit_operators_refuse_reals(op, symbol):
    k = builder()
    with pytest.raises(QuadrantsTypeError) as e:
        getattr(k, op)(param(k, "f32"), param(k, "i32"))
    assert str(e.value) == f"unsupported operand type(s) for '{symbol}': 'f32' and 'i32'"


def test_not_refuses_reals():
    k = builder()
    with pytest.raises(QuadrantsTypeError, match="'bit_not' takes integral inputs only, however 'f32' is provided"):
        k.invert(param(k, "f32"))
    with pytest.raises(QuadrantsTypeError, match="'logic_not' takes integral inputs only, however 'f32' is provided"):
        k.logical_not(param(k, "f32"))


@pytest.mark.parametrize("a, b, result", [("i32", "i64", "f32"), ("f64", "i32", "f64"), ("f16", "f16", "f32")])
def test_atan2_is_f32_unless_an_operand_is_f64(a, b, result):
    k = builder()
    assert k.atan2(param(k, a), param(k, b)).dtype.name == result


def test_select():
    k = builder()
    assert k.select(param(k, "i32"), 1, 2.0).dtype is n.f32
    with pytest.raises(QuadrantsTypeError, match="integral"):
        k.select(param(k, "f32"), 1, 2)


# ----------------------------------------------------------------------------------------------------------------- pow
@pytest.mark.parametrize("x, y, result", [("i8", "i32", "i8"), ("i32", "u32", "i32"), ("f16", "i64", "f16"), ("i64", "f32", "f32"),
                                          ("f32", "f64", "f64"), ("u8", "i8", "u8"), ("u1", "i32", "i32")])  # fmt: skip
def test_pow_types(x, y, result):
    k = builder()
    assert k.pow(param(k, x), param(k, y)).dtype.name == result


def test_pow_of_small_constants_multiplies():
    k = builder()
    k.pow(param(k, "f32"), 5)
    assert "pow" not in k.text() and k.text().count("mul.f32") == 3
    k = builder()
    k.pow(param(k, "f32"), -2)
    assert last_op(k) == "fdiv.f32" and "pow" not in k.text()
    k = builder()
    k.pow(param(k, "f32"), 0.5)
    assert last_op(k) == "pow.f32"


def test_pow_with_negative_constant_on_integers():
    k = builder()
    with pytest.raises(QuadrantsTypeError, match=r"Negative exponent in pow\(int, int\) is not allowed."):
        k.pow(param(k, "i32"), -1)


def test_integer_pow_folds_like_python():
    k = builder()
    for base, exponent in [(3, 13), (-2, 31), (7, 40), (2, 33)]:
        value = k.constant_of(k.pow(k.const(base), k.const(exponent)))
        assert value == (base**exponent + 2**31) % 2**32 - 2**31


# ------------------------------------------------------------------------------------------------------------ literals
def test_literals():
    k = builder()
    assert (k.const(1).dtype, k.const(1.5).dtype, k.const(True).dtype) == (n.i32, n.f32, n.u1)
    assert (
        k.const(np.float32(1.5)).dtype is n.f32
        and k.const(np.int8(3)).dtype is n.i32
        and k.const(np.bool_(True)).dtype is n.u1
    )
    assert k.const(np.array(3)).dtype is n.i32
    assert k.constant_of(k.const(200, n.u8)) == 200 and k.constant_of(k.const(2**64 - 1, n.u64)) == 2**64 - 1
    assert k.constant_of(k.const(-(2**63), n.i64)) == -(2**63)
    assert k.constant_of(k.const(0.1)) == float(np.float32(0.1)) and k.constant_of(k.const(1, n.f16)) == 1.0
    assert k.constant_of(k.const(1e39)) == float("inf") and k.constant_of(param(k, "i32")) is None


def test_literals_out_of_range():
    k = builder()
    with pytest.raises(QuadrantsTypeError) as e:
        k.add(param(k, "i32"), 3000000000)
    assert str(e.value) == (
        "Integer literal 3000000000 exceeded the range of default_ip: i32, please specify the dtype via e.g. "
        "`qd.u64(3000000000)` or set a different `default_ip` in `qd.init()`"
    )
    with pytest.raises(QuadrantsTypeError, match="Integer literal 300 exceeded the range of specified dtype: u8"):
        k.const(300, n.u8)
    with pytest.raises(QuadrantsTypeError, match="exceeded the range of specified dtype: u64"):
        k.const(2**64, n.u64)
    with pytest.raises(
        QuadrantsTypeError, match="Floating-point literals must be annotated with a floating-point type"
    ):
        k.const(1.5, n.i32)
    with pytest.raises(QuadrantsTypeError, match="expected a number or a scalar expression, found <class 'str'>"):
        k.add("1", 2)
    with pytest.raises(QuadrantsTypeError, match="found <class 'numpy.ndarray'>"):
        k.add(np.zeros(3), 2)
    assert builder(default_ip=n.i64).const(3000000000).dtype is n.i64


@pytest.mark.parametrize("value, expected", [(-2.5, -3), (-1.5, -2), (-0.5, -1), (0.5, 1), (1.5, 2), (2.5, 3), (0.49999997, 0),
                                             (8388609.0, 8388609), (float("inf"), float("inf"))])  # fmt: skip
def test_round_goes_away_from_zero_at_halves(value, expected):
    k = builder()
    assert k.constant_of(k.unary("round", k.const(value))) == expected


@pytest.mark.parametrize("x", [7.5, -7.5, 7.0, -7.0])
@pytest.mark.parametrize("y", [2.0, -2.0])
def test_floor_division_and_remainder_of_reals(x, y):
    k = builder()
    a, b = k.const(x), k.const(y)
    assert k.constant_of(k.floordiv(a, b)) == x // y
    assert k.constant_of(k.mod(a, b)) == x % y
    assert k.constant_of(k.raw_mod(a, b)) == np.fmod(x, y)
    assert k.constant_of(k.raw_div(a, b)) == x / y


@pytest.mark.parametrize("x, y", [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3)])
def test_floor_division_and_remainder_of_integers(x, y):
    k = builder()
    a, b = k.const(x), k.const(y)
    assert k.constant_of(k.floordiv(a, b)) == x // y and k.constant_of(k.mod(a, b)) == x % y
    assert k.constant_of(k.raw_div(a, b)) == int(x / y) and k.constant_of(k.raw_mod(a, b)) == int(np.fmod(x, y))


# ----------------------------------------------------------------------------------------- variables, memory, control
def test_a_variable_is_read_when_it_is_used():
    k = builder()
    v = k.var(n.i32, 1)
    k.loop(0, 3)
    first = k.add(v, 10)
    k.set(v, first)
    second = k.add(v, 10)
    k.set(v, second)
    k.end()
    assert k.text().count("get.i32") == 2  # read anew after the assignment
    assert v.dtype is n.i32


def test_store_casts_to_the_element():
    k = builder()
    p = k.buffer_param(n.u8, 1, 0, "x")
    k.store(p, 0, param(k, "f32"))
    assert "ucast.i8" in k.text() and k.load(p, 0).dtype is n.u8


@pytest.mark.parametrize("wide, index, expected", [(False, "i32", "i32"), (True, "i32", "i64"), (False, "i64", "i64"), (False, "u32", "i64"),
                                                   (False, "u8", "i32")])  # fmt: skip
def test_linear_index_width(wide, index, expected):
    k = builder()
    assert k.linear([param(k, index), 2], [5, 1], 0, wide).dtype.name == expected


def test_linear_with_runtime_strides_and_folding():
    k = builder()
    assert k.constant_of(k.linear([3, 4], [10, 1], 5, False)) == 39
    assert k.linear([param(k, "i32")], [param(k, "i64")], 0, False).dtype is n.i32
    assert k.constant_of(k.linear([2**31], [4], 0, False)) == 2**33
    with pytest.raises(ValueError, match="2 indices and 1 strides"):
        k.linear([1, 2], [1], 0, False)
    with pytest.raises(QuadrantsTypeError, match="indices must be integers, however 'f32' is provided"):
        k.linear([param(k, "f32")], [1], 0, False)


def test_parallel_and_loop_index_types():
    k = builder()
    i, j = k.parallel([0, 0], [param(k, "i32"), 8])
    assert (i.dtype, j.dtype, k.depth()) == (n.i32, n.i32, 1)
    assert k.loop(0, param(k, "u32")).dtype is n.i64
    k.end()
    k.end()
    assert k.depth() == 0
    with pytest.raises(QuadrantsCompilationError, match="no region is open"):
        k.end()


@pytest.mark.parametrize("name, element, op", [("sub", "f32", "atomic_add.f32"), ("min", "u32", "atomic_umin.i32"), ("max", "i32", "atomic_max.i32"),
                                               ("and", "u8", "atomic_and.i8"), ("exchange", "f64", "atomic_xchg.f64")])  # fmt: skip
def test_atomics(name, element, op):
    k = builder()
    p = k.buffer_param(getattr(n, element), 1, 0, "x")
    assert k.atomic(name, p, 0, 1).dtype.name == element
    assert last_op(k) == op


def test_atomics_refuse():
    k = builder()
    p = k.buffer_param(n.f32, 1, 0, "x")
    with pytest.raises(QuadrantsTypeError, match="unsupported operand type"):
        k.atomic("and", p, 0, 1)
    with pytest.raises(QuadrantsTypeError, match="integers only"):
        k.atomic_cas(p, 0, 1, 2)
    with pytest.raises(ValueError, match="no atomic operation 'nand'"):
        k.atomic("nand", p, 0, 1)


def test_effects_since_a_mark():
    k = builder()
    p = k.buffer_param(n.f32, 1, 0, "x")
    m = k.mark()
    k.add(param(k, "f32"), 2)
    assert k.is_pure(m)
    k.load(p, 0)
    assert not k.is_pure(m)


def test_functions():
    k = builder()
    f, (x, y) = k.open_function([n.f32, n.i32], [n.f32])
    k.close_function([k.mul(x, y)])
    (r,) = k.call(f, [1, 2.0])
    assert r.dtype is n.f32
    with pytest.raises(ValueError, match="expected 2 values, found 1"):
        k.call(f, [1])
    with pytest.raises(QuadrantsCompilationError, match="another kernel or function"):
        k.add(x, 1)


def test_values_belong_to_their_builder():
    x = param(builder(), "f32")
    with pytest.raises(QuadrantsCompilationError, match="another kernel or function"):
        builder().neg(x)


def test_text_reads_back():
    k = builder()
    p = k.buffer_param(n.f32, 1, 1, "x")
    (i,) = k.parallel([0], [k.shape(p, 0, n.i32)])
    k.store(p, i, k.mul(k.load(p, i), 2))
    k.end()
    again = n.parse_ir(k.text())
    assert again.text() == k.text()
    with pytest.raises(QuadrantsRuntimeError, match="can't be extended"):
        again.const(1)


def test_bit_cast():
    k = builder()
    assert k.bit_cast(param(k, "f32"), n.u32).dtype is n.u32 and last_op(k) == "bitcast.i32"
    with pytest.raises(QuadrantsTypeError, match=r"same size, found 'f32' \(4 bytes\) and 'i64' \(8 bytes\)"):
        k.bit_cast(param(k, "f32"), n.i64)

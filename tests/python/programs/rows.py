"""The table of operations: how each is written, what it takes, the type of its result, what it means, how often it is used.

    Row(key, text, needs, rule, meaning, weight)

key      what the model sees in the source: class of an operator's node, or the dotted name of a function
text     how it is written, operands in braces
needs    one letter an operand: n number or truth value, i integer or truth value, r real, b truth value, l leaf,
         s small literal exponent
rule     conversion of the operands and type of the result: see `work_type` and `result_type`
meaning  f(t, x, y…) on Python integers or NumPy scalars of the working type t
exact    False: the result is approximate, `ulp` names its row of accuracy.def; such values are only stored
"""

import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from programs.scalars import (
    F32,
    F64,
    I32,
    TYPES,
    U1,
    Invalid,
    arithmetic,
    floor_div,
    floor_mod,
    half_away,
    int_div,
    int_pow,
    int_rem,
    promote,
)

ROOT = Path(__file__).resolve().parents[3]


class Row(NamedTuple):
    key: str
    text: str
    needs: str
    rule: str
    meaning: Callable
    weight: int = 4
    ulp: str = ""


def work_type(rule, types):
    """The type that the operands are converted to; None for none."""
    a, b = types[0], types[-1]
    if rule in ("keep", "truth", "exponent", "own"):
        return a
    if rule in ("left", "arith_left"):
        return arithmetic(a)
    if rule == "bool":
        return U1
    if rule == "count":
        return arithmetic(a)
    if rule == "wide":
        return F64 if F64 in types else F32
    if rule in ("real", "realpow"):
        a, b = (t if t.real else F32 for t in (a, b))
        return promote(a, b)
    out = types[0]
    for t in types[1:]:
        out = promote(out, t)
    return out if rule in ("promote", "equal", "sign", "pairs") else arithmetic(out)


def result_type(rule, types):
    if rule in ("equal", "order", "bool", "truth"):
        return U1
    if rule in ("count", "exponent"):
        return I32
    if rule == "sign":
        return F32
    return work_type(rule, types)


def _both(whole, real):
    """One meaning on integers and one on reals."""
    return lambda t, x, y: real(x, y) if t.real else whole(x, y)


def _bits(whole, truth):
    return lambda t, x, y: truth(x, y) if t is U1 else whole(x, y)


def _mask(t):
    return (1 << t.bits) - 1


def _unsigned(t, x):
    return int(x) & _mask(t)


def _floor_real(x, y):
    return np.floor(x / y)


def _mod_real(x, y):
    return x - np.floor(x / y) * y


def _raw_mod_real(x, y):
    return x - np.trunc(x / y) * y


def _frexp(x, k):
    finite = np.isfinite(x)
    return np.frexp(x)[k] if finite else (x if k == 0 else 0)


def _low_bit(t, x):
    u = _unsigned(t, x)
    return (u & -u).bit_length() - 1 if u else t.bits


OPERATORS = [
    Row("Add", "({0} + {1})", "nn", "arith", lambda t, x, y: x + y, 12),
    Row("Sub", "({0} - {1})", "nn", "arith", lambda t, x, y: x - y, 10),
    Row("Mult", "({0} * {1})", "nn", "arith", lambda t, x, y: x * y, 10),
    Row("Div", "({0} / {1})", "nn", "real", lambda t, x, y: x / y, 5),
    Row("FloorDiv", "({0} // {1})", "nn", "arith", _both(floor_div, _floor_real), 6),
    Row("Mod", "({0} % {1})", "nn", "arith", _both(floor_mod, _mod_real), 6),
    Row("Pow", "({0} ** {1})", "is", "arith_left", lambda t, x, y: int_pow(t, x, y), 2),
    Row("Pow", "({0} ** ({1} & 15))", "ii", "arith_left", lambda t, x, y: int_pow(t, x, y), 2),
    Row("BitAnd", "({0} & {1})", "ii", "promote", _bits(operator.and_, lambda x, y: x and y)),
    Row("BitOr", "({0} | {1})", "ii", "promote", _bits(operator.or_, lambda x, y: x or y)),
    Row("BitXor", "({0} ^ {1})", "ii", "promote", _bits(operator.xor, lambda x, y: x != y)),
    Row("LShift", "({0} << {1})", "ii", "left", lambda t, x, y: x << (y & (t.bits - 1))),
    Row("RShift", "({0} >> {1})", "ii", "left", lambda t, x, y: x >> (y & (t.bits - 1))),
    Row("USub", "(-{0})", "n", "arith", lambda t, x: -x),
    Row("UAdd", "(+{0})", "n", "keep", lambda t, x: x, 1),
    Row("Invert", "(~{0})", "i", "keep", lambda t, x: not x if t is U1 else ~x),
    Row("Not", "(not {0})", "i", "truth", lambda t, x: not x),
    Row("Eq", "({0} == {1})", "nn", "equal", lambda t, x, y: x == y),
    Row("NotEq", "({0} != {1})", "nn", "equal", lambda t, x, y: x != y),
    Row("Lt", "({0} < {1})", "nn", "order", lambda t, x, y: x < y),
    Row("LtE", "({0} <= {1})", "nn", "order", lambda t, x, y: x <= y),
    Row("Gt", "({0} > {1})", "nn", "order", lambda t, x, y: x > y),
    Row("GtE", "({0} >= {1})", "nn", "order", lambda t, x, y: x >= y),
]

FUNCTIONS = [
    Row("qd.raw_div", "qd.raw_div({0}, {1})", "nn", "arith", _both(int_div, lambda x, y: x / y), 2),
    Row("qd.raw_mod", "qd.raw_mod({0}, {1})", "nn", "arith", _both(int_rem, _raw_mod_real), 2),
    Row("qd.bit_shr", "qd.bit_shr({0}, {1})", "ii", "left", lambda t, x, y: _unsigned(t, x) >> (y & (t.bits - 1)), 2),
    Row("qd.min", "qd.min({0}, {1})", "ii", "promote", lambda t, x, y: min(x, y), 2),
    Row("qd.max", "qd.max({0}, {1})", "ii", "promote", lambda t, x, y: max(x, y), 2),
    # of two zeros either: the sum has none that is negative
    Row("qd.min", "(qd.min({0}, {1}) + 0)", "nr", "promote", lambda t, x, y: np.fmin(x, y), 2),
    Row("qd.max", "(qd.max({0}, {1}) + 0)", "rn", "promote", lambda t, x, y: np.fmax(x, y), 2),
    Row("min", "min({0}, {1}, {2})", "iii", "pairs", lambda f, x, y, z: f("qd.min", [f("qd.min", [x, y]), z]), 2),
    Row("max", "max({0}, {1}, {2})", "iii", "pairs", lambda f, x, y, z: f("qd.max", [f("qd.max", [x, y]), z]), 2),
    Row("abs", "abs({0})", "n", "keep", lambda t, x: x if t is U1 else abs(x), 2),
    Row("qd.abs", "qd.abs({0})", "n", "keep", lambda t, x: x if t is U1 else abs(x), 2),
    Row("qd.sqrt", "qd.sqrt({0})", "n", "real", lambda t, x: np.sqrt(x), 3),
    Row("qd.floor", "qd.floor({0})", "r", "keep", lambda t, x: np.floor(x), 2),
    Row("qd.ceil", "qd.ceil({0})", "r", "keep", lambda t, x: np.ceil(x), 2),
    Row("qd.round", "qd.round({0})", "r", "keep", lambda t, x: half_away(x), 2),
    Row("qd.math.popcnt", "qd.math.popcnt({0})", "i", "count", lambda t, x: _unsigned(t, x).bit_count(), 2),
    Row("qd.math.clz", "qd.math.clz({0})", "i", "count", lambda t, x: t.bits - _unsigned(t, x).bit_length(), 2),
    Row("qd.math.ffs", "qd.math.ffs({0})", "i", "count", lambda t, x: _low_bit(t, x) + 1 if x else 0, 1),
    Row("qd.math.isnan", "qd.math.isnan({0})", "r", "truth", lambda t, x: x != x, 2),
    Row("qd.math.isinf", "qd.math.isinf({0})", "r", "truth", lambda t, x: bool(np.isinf(x)), 2),
    Row("qd.math.sign", "qd.math.sign({0})", "n", "sign", lambda t, x: np.float32(int(x > 0) - int(x < 0)), 2),
    Row("qd.math.fract", "qd.math.fract({0})", "r", "keep", lambda t, x: x - np.floor(x), 1),
    Row(
        "qd.math.clamp",
        "qd.math.clamp({0}, {1}, {2})",
        "iii",
        "pairs",
        lambda f, x, a, b: f("qd.min", [b, f("qd.max", [a, x])]),
        2,
    ),
    Row("qd.math.step", "qd.math.step({0}, {1})", "nn", "sign", lambda t, e, x: np.float32(x >= e), 1),
    Row("mantissa", "qd.frexp({0}).mantissa", "r", "keep", lambda t, x: _frexp(x, 0), 1),
    Row("exponent", "qd.frexp({0}).exponent", "r", "exponent", lambda t, x: int(_frexp(x, 1)), 1),
]


def _long(f):
    return lambda t, *x: f(*[np.longdouble(v) for v in x])


APPROXIMATE = [
    *(
        Row(f"qd.{n}", f"qd.{n}({{0}})", "r", "keep", _long(f), 2, n)
        for n, f in [
            ("sin", np.sin), ("cos", np.cos), ("tan", np.tan), ("asin", np.arcsin), ("acos", np.arccos),
            ("tanh", np.tanh), ("exp", np.exp), ("log", np.log), ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ]
    ),
    Row("qd.atan2", "qd.atan2({0}, {1})", "nr", "wide", _long(np.arctan2), 2, "atan2"),
    Row("qd.pow", "qd.pow({0}, {1})", "rr", "promote", _long(np.power), 2, "pow"),
]  # fmt: skip

BY_KEY = {}
for _row in OPERATORS + FUNCTIONS + APPROXIMATE:
    BY_KEY.setdefault(_row.key, []).append(_row)

# Elements that iterations share: operator or function, meaning on the old and the given value; all of them commute.
ATOMICS = {
    "+=": operator.add, "-=": operator.sub, "&=": operator.and_, "|=": operator.or_, "^=": operator.xor,
    "qd.atomic_add": operator.add, "qd.atomic_sub": operator.sub, "qd.atomic_mul": operator.mul,
    "qd.atomic_min": min, "qd.atomic_max": max, "qd.atomic_and": operator.and_, "qd.atomic_or": operator.or_,
    "qd.atomic_xor": operator.xor, "qd.atomic_exchange": lambda x, y: y,
}  # fmt: skip


def pick(key, types):
    """The row of an operation for operands of these types."""
    for row in BY_KEY.get(key, ()):
        if len(types) == len(row.needs) and all(takes(n, t) for n, t in zip(row.needs, types)):
            return row
    raise Invalid(f"no row of {key} takes {[t.name for t in types]}")


def takes(need, t):
    return {"n": True, "i": not t.real, "s": not t.real, "r": t.real, "b": t is U1, "l": True}[need]


def accuracy():
    """accuracy.def without and with fast_math: operation -> {type name: units in the last place}."""
    text = (ROOT / "tests/conformance/accuracy.def").read_text()
    found = re.findall(r"^ACCURACY\((\w+)" + r",\s*([\d.]+)" * 6, text, re.M)
    types = ("f16", "f32", "f64")
    return [{op: dict(zip(types, map(float, ulps[k : k + 3]))) for op, *ulps in found} for k in (0, 3)]


ULP, FAST_ULP = accuracy()
SCALARS = [t for t in TYPES.values()]

"""The functions of the language at module level: `qd.sin`, `qd.atomic_add`, `qd.cast`, …

Inside kernels the front end recognises these objects and emits operations (frontend/library.py, frontend/atomics.py). Called from Python
they work on numbers and on Python-scope vectors and matrices where that makes sense, and say so where it doesn't.
"""

import math as _math
import operator as _operator

import numpy as _np

from quadrants.lang import traced
from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.lang.static import one, zero


def _matrix():
    from quadrants.lang.matrix import Matrix

    return Matrix


def _unary(name, on_number, doc):
    def function(x):
        if isinstance(x, _matrix()):
            return type(x)([_rows(function, r) for r in x.to_list()])
        return on_number(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + " Element-wise on vectors and matrices."
    return function


def _ieee(function):
    """NumPy's function of a number: outside its domain the result is NaN or infinite, as in kernels."""

    def on_number(x):
        with _np.errstate(all="ignore"):
            return float(function(_np.float64(x)))

    return on_number


def _rows(f, r):
    return [f(e) for e in r] if isinstance(r, list) else f(r)


def _binary(name, on_numbers, doc):
    def function(x1, x2):
        x, y = x1, x2
        m = _matrix()
        if isinstance(x, m) or isinstance(y, m):
            a = x.to_list() if isinstance(x, m) else None
            b = y.to_list() if isinstance(y, m) else None
            like = a if a is not None else b
            out = []
            for i, row in enumerate(like):
                p, q = (a[i] if a is not None else x), (b[i] if b is not None else y)
                if isinstance(row, list):
                    out.append(
                        [
                            on_numbers(p[j] if a is not None else x, q[j] if b is not None else y)
                            for j in range(len(row))
                        ]
                    )
                else:
                    out.append(on_numbers(p, q))
            return type(x if a is not None else y)(out)
        return on_numbers(x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + " Element-wise on vectors and matrices."
    return function


sin = _unary("sin", _ieee(_np.sin), "Sine of an angle in radians.")
cos = _unary("cos", _ieee(_np.cos), "Cosine of an angle in radians.")
tan = _unary("tan", _ieee(_np.tan), "Tangent of an angle in radians.")
asin = _unary("asin", _ieee(_np.arcsin), "Arc sine, in radians.")
acos = _unary("acos", _ieee(_np.arccos), "Arc cosine, in radians.")
tanh = _unary("tanh", _ieee(_np.tanh), "Hyperbolic tangent.")
exp = _unary("exp", _ieee(_np.exp), "e to the power x.")
log = _unary("log", _ieee(_np.log), "Natural logarithm.")
sqrt = _unary("sqrt", _ieee(_np.sqrt), "Square root.")
rsqrt = _unary("rsqrt", _ieee(lambda x: 1.0 / _np.sqrt(x)), "Reciprocal of the square root.")
abs = _unary("abs", abs, "Absolute value.")
atan2 = _binary("atan2", _math.atan2, "Angle of the point (x2, x1), in radians.")
raw_div = _binary(
    "raw_div",
    lambda x, y: int(x / y) if isinstance(x, int) and isinstance(y, int) else x / y,
    "Division as C does it: toward zero for integers.",
)
raw_mod = _binary(
    "raw_mod",
    lambda x, y: _math.fmod(x, y) if isinstance(x, float) or isinstance(y, float) else int(_math.fmod(x, y)),
    "Remainder as C does it: with the sign of the first operand.",
)
_power = _binary("pow", _operator.pow, "")


def pow(base, exponent):
    """`base` to the power `exponent`. Element-wise on vectors and matrices."""
    return _power(base, exponent)


bit_shr = _binary("bit_shr", lambda x, y: (x & 0xFFFFFFFF) >> y, "Logical shift right: zeros enter.")


def _rounding(name, on_number, doc):
    plain = _unary(name, on_number, doc)

    def function(x, dtype=None):
        r = plain(x)
        return r if dtype is None else cast(r, dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + " With `dtype` the result is cast to it."
    return function


def _round_half_away(x):
    return _math.copysign(_math.floor(_math.fabs(x) + 0.5), x)


floor = _rounding("floor", lambda x: float(_math.floor(x)), "Largest whole number not above x, as a real.")
ceil = _rounding("ceil", lambda x: float(_math.ceil(x)), "Smallest whole number not below x, as a real.")
round = _rounding("round", _round_half_away, "Nearest whole number, halves away from zero, as a real.")

_max2 = _binary("max", lambda x, y: x if x >= y else y, "Larger of two.")
_min2 = _binary("min", lambda x, y: x if x <= y else y, "Smaller of two.")


def max(*args):
    """Largest of the arguments, element-wise on vectors and matrices."""
    return _fold(_max2, args, "max")


def min(*args):
    """Smallest of the arguments, element-wise on vectors and matrices."""
    return _fold(_min2, args, "min")


def _fold(f, args, name):
    if not args:
        raise QuadrantsSyntaxError(f"qd.{name} needs at least one argument")
    out = args[0]
    for a in args[1:]:
        out = f(out, a)
    return out


def cast(obj, dtype):
    """`obj` as another scalar type: reals to integers truncate, to u1 means `!= 0`. Element-wise."""
    from quadrants.lang.util import cook_dtype

    dt = cook_dtype(dtype)
    if isinstance(obj, _matrix()):
        return obj.cast(dt)
    return float(obj) if dt.is_real else bool(obj) if dt.name == "u1" else int(obj)


def bit_cast(obj, dtype):
    """The bits of `obj` as another type of the same width."""
    raise _kernel_only("bit_cast")


def select(cond, x1, x2):
    """x1 where cond holds, x2 elsewhere; both are evaluated. Element-wise."""
    m = _matrix()
    if isinstance(cond, m):
        a, b = (v.to_list() if isinstance(v, m) else [v] * len(cond) for v in (x1, x2))
        return type(cond)([p if c else q for c, p, q in zip(cond.to_list(), a, b)])
    return x1 if cond else x2


def frexp(x):
    """(mantissa, exponent) with x == mantissa * 2**exponent and 0.5 <= |mantissa| < 1."""
    return _math.frexp(x)


def random(dtype=float):
    """A random number: reals in [0, 1), integers over their whole range. Inside kernels only."""
    raise _kernel_only("random")


def randn(dt=None):
    """A normally distributed random number. Inside kernels only."""
    raise _kernel_only("randn")


def _kernel_only(name):
    return QuadrantsSyntaxError(f"qd.{name} can only be called inside kernels and functions.")


def _atomic(name, doc):
    def function(x, y):
        raise _kernel_only(name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + " Gives the old value. `x` is an element of a field or array, or a local variable."
    return function


atomic_add = _atomic("atomic_add", "Adds y to x.")
atomic_sub = _atomic("atomic_sub", "Subtracts y from x.")
atomic_mul = _atomic("atomic_mul", "Multiplies x by y.")
atomic_min = _atomic("atomic_min", "Makes x the smaller of x and y.")
atomic_max = _atomic("atomic_max", "Makes x the larger of x and y.")
atomic_and = _atomic("atomic_and", "Bitwise and of y into x.")
atomic_or = _atomic("atomic_or", "Bitwise or of y into x.")
atomic_xor = _atomic("atomic_xor", "Bitwise exclusive or of y into x.")
atomic_exchange = _atomic("atomic_exchange", "Replaces x by y.")


def atomic_cas(x, expected, desired):
    """Replaces x by `desired` if it equals `expected`; integers only. Gives the old value."""
    raise _kernel_only("atomic_cas")


def volatile_load(target):
    """Reads an element of a field or array exactly here and once."""
    raise _kernel_only("volatile_load")


# integer helpers that qd.math shows
popcnt = _unary("popcnt", lambda x: (x & 0xFFFFFFFF).bit_count(), "Number of set bits.")
clz = _unary("clz", lambda x: 32 - (x & 0xFFFFFFFF).bit_length(), "Number of leading zeros; the width for 0.")
ctz = _unary("ctz", lambda x: ((x & -x).bit_length() - 1) if x else 32, "Number of trailing zeros; the width for 0.")
trunc = _unary("trunc", lambda x: float(_math.trunc(x)), "Whole number toward zero, as a real.")
UNARY_NAMES = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "tanh",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "abs",
    "popcnt",
    "clz",
    "ctz",
    "trunc",
]
for _name in (
    *UNARY_NAMES, "atan2", "raw_div", "raw_mod", "pow", "bit_shr", "floor", "ceil", "round", "max", "min", "cast",
    "bit_cast", "select", "frexp",
):  # fmt: skip
    globals()[_name] = traced.aware(globals()[_name])
ATOMIC_NAMES = ["add", "sub", "mul", "min", "max", "and", "or", "xor", "exchange"]

__all__ = ["one", "zero"]

"""What the functions of the language mean inside kernels: tables from function objects to handlers.

`SPECIAL` handlers get the syntax node and evaluate their own arguments (`static`, atomics: their first argument is a
place); `PLAIN` handlers get values.
"""

import builtins
import operator

import numpy as np

from quadrants._native import DataType, Value
from quadrants.lang import ops, static
from quadrants.lang.elementwise import binary, cast, map1, map_all, reduce, unary
from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import matrices, outside, reports, statics, structs
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.calls import PLAIN, SPECIAL, arguments, call_with_values
from quadrants.lang.frontend.exprs import iterate
from quadrants.lang.struct import Struct
from quadrants.lang.util import cook_dtype
from quadrants.lang.values import (
    MATRICES,
    SCALARS,
    Elem,
    Mat,
    describe,
    dtype_of,
    filled,
    from_nested,
    shown_as,
)


def refused(name):
    def handler(w, node):
        raise QuadrantsSyntaxError(f"qd.{name} is not supported yet")

    return handler


# --------------------------------------------------------------------------------------------------------------- math
_REAL_ONLY = frozenset(("sin", "cos", "tan", "tanh", "asin", "acos", "exp", "log", "sqrt", "rsqrt"))


def unary_handler(name):
    def handler(w, x):
        if type(x) is Value:
            return w.b.unary(name, x)
        return unary(w, name, _real_literal(x) if name in _REAL_ONLY else x)

    return handler


def _real_literal(x):
    """A literal has no type yet, so `qd.sin(2)` and `qd.floor(2)` take it as a real number."""
    return float(x) if type(x) in (int, bool) else x


def abs_(w, x):
    return w.b.unary("abs", x) if type(x) is Value else unary(w, "abs", x)


def binary_handler(name):
    return lambda w, x1, x2: binary(w, name, x1, x2)


def power(w, base, exponent):
    return binary(w, "pow", base, exponent)


def rounding_handler(name):
    def handler(w, x, dtype=None):
        r = unary(w, name, _real_literal(x))
        return r if dtype is None else cast(w, r, cook_dtype(dtype))

    return handler


def extreme_handler(name):
    def handler(w, *args):
        if len(args) == 1 and type(args[0]) in MATRICES:
            return reduce(w, args[0], name)
        if len(args) == 1 and type(args[0]) in (list, tuple):
            args = args[0]
        if not args:
            raise QuadrantsSyntaxError(f"`{name}` needs at least one argument")
        if w.static and all(type(a) in (int, float, bool) for a in args):
            return getattr(builtins, name)(args)
        out = args[0]
        for a in args[1:]:
            out = w.op[name](out, a) if type(out) is Value and type(a) in SCALARS else binary(w, name, out, a)
        return out

    return handler


def cast_(w, obj, dtype):
    obj = from_nested(w, obj) if type(obj) in (list, tuple) else obj
    if type(obj) not in SCALARS and type(obj) not in MATRICES:
        raise QuadrantsTypeError(f"qd.cast takes a scalar, vector or matrix, got {describe(w, obj)}")
    return cast(w, obj, cook_dtype(dtype))


def bit_cast_(w, obj, dtype):
    if type(obj) not in SCALARS and type(obj) not in MATRICES:
        raise QuadrantsTypeError(f"qd.bit_cast takes a scalar, vector or matrix, got {describe(w, obj)}")
    dt = cook_dtype(dtype)
    return w.b.bit_cast(obj, dt) if type(obj) in SCALARS else map1(w, lambda e: w.b.bit_cast(e, dt), obj)


def select_(w, cond, x1, x2):
    return map_all(w, w.b.select, (cond, x1, x2), "select")


def to_number(python_type):
    def handler(w, x=0):
        if type(x) in (int, float, bool, str):
            return python_type(x)
        if type(x) is Value:
            return w.b.cast(x, cook_dtype(python_type))
        if type(x) in MATRICES:
            return cast(w, x, cook_dtype(python_type))
        return python_type(x)

    return handler


def reduce_truth(name):
    def handler(w, x):
        if type(x) in MATRICES:
            return matrices.METHODS[name](w, x)
        if type(x) in (list, tuple):
            out = None
            for e in x:
                e = w.b.ne(e, 0)
                out = e if out is None else w.op["logical_and" if name == "all" else "logical_or"](out, e)
            return out if out is not None else name == "all"
        return getattr(builtins, name)(x)

    return handler


def sum_(w, x, start=0):
    if type(x) in MATRICES:
        return reduce(w, x, "add")
    out = start
    for e in iterate(w, x, "sum"):
        out = binary(w, "add", out, e)
    return out


def len_(w, x):
    if type(x) in MATRICES or type(x) is Elem:
        return x.n
    if type(x) is Acc:
        return x.shape[0]
    if hasattr(x, "__len__"):
        return len(x)
    raise QuadrantsTypeError(f"object of type '{describe(w, x)}' has no len() inside kernels")


def listed(f):
    """enumerate, zip, map: over things whose length is known now."""

    def handler(w, *args, **kwargs):
        return list(f(*[iterate(w, a) if k == 0 or f is zip else a for k, a in enumerate(args)], **kwargs))

    return handler


def map_(w, f, *xs):
    return [call_with_values(w, f, items) for items in zip(*[iterate(w, x) for x in xs])]


def filter_(w, f, xs):
    if f is None:
        return [x for x in iterate(w, xs) if x]
    return [x for x in iterate(w, xs) if call_with_values(w, f, (x,))]


def random_(w, dtype=float):
    return w.b.random(cook_dtype(dtype))


def randn_(w, dt=None):
    dt = cook_dtype(dt) if dt is not None else w.default_fp
    b = w.b
    u = b.max(b.random(dt), b.cast(1e-7 if dt.size < 8 else 1e-300, dt))
    v = b.random(dt)
    radius = b.unary("sqrt", b.mul(b.cast(-2.0, dt), b.unary("log", u)))
    return b.mul(radius, b.unary("cos", b.mul(b.cast(6.283185307179586, dt), v)))


def frexp_(w, x):
    return Frexp(w.b.unary("frexp_frac", x), w.b.unary("frexp_exp", x))


@shown_as("result of frexp")
class Frexp:
    """Result of `qd.frexp`: members mantissa and exponent; unpacks as a pair."""

    __slots__ = ("exponent", "mantissa")

    def __init__(self, mantissa, exponent):
        self.mantissa, self.exponent = mantissa, exponent

    def kernel_attribute(self, w, attr):
        return getattr(self, attr)

    def __len__(self):
        return 2

    def __iter__(self):
        return iter((self.mantissa, self.exponent))


def same_filled(value):
    def handler(w, x):
        if type(x) in MATRICES:
            return filled(w, x.n, x.m, x.ndim, w.b.cast(value, matrices.element_dtype(w, x)))
        return w.b.cast(value, dtype_of(w, x))

    return handler


def print_(w, node):
    args, kwargs = arguments(w, node)
    sep, end = kwargs.pop("sep", " "), kwargs.pop("end", "\n")
    sep, end = " " if sep is None else sep, "\n" if end is None else end
    if kwargs or type(sep) is not str or type(end) is not str:
        raise QuadrantsSyntaxError("print takes sep= and end=, constant strings")
    reports.emit_print(w, args, sep, end)


SPECIAL.update({
    print: print_,
})  # fmt: skip
for _name in static.LATER:
    SPECIAL[getattr(static, _name)] = refused(_name)
for _name in ("block_local", "cache_read_only", "no_activate"):  # hints: what they name isn't even read
    SPECIAL[getattr(static, _name)] = lambda w, node: None
PLAIN[static.global_thread_idx] = lambda w: w.b.together("position", 0, None)
PLAIN[static.clock_freq_hz] = outside.clock_freq_hz
PLAIN[static.clock_counter] = lambda w: w.b.together("clock", 0, None)
PLAIN[static.assume_in_range] = lambda w, val, base, low, high: val
PLAIN[static.loop_unique] = lambda w, val, covers=None: val

PLAIN.update({
    ops.atan2: binary_handler("atan2"), ops.raw_div: binary_handler("raw_div"),
    ops.raw_mod: binary_handler("raw_mod"), ops.pow: power, pow: lambda w, base, exp: power(w, base, exp),
    ops.bit_shr: binary_handler("bit_shr"), ops.floor: rounding_handler("floor"), ops.ceil: rounding_handler("ceil"),
    ops.round: rounding_handler("round"), ops.max: extreme_handler("max"), max: extreme_handler("max"),
    ops.min: extreme_handler("min"), min: extreme_handler("min"), ops.cast: cast_, ops.bit_cast: bit_cast_,
    ops.select: select_, int: to_number(int), float: to_number(float), bool: to_number(bool), abs: abs_,
    any: reduce_truth("any"), all: reduce_truth("all"), sum: sum_, len: len_, enumerate: listed(enumerate),
    zip: listed(zip), map: map_, filter: filter_, reversed: listed(reversed), ops.random: random_, ops.randn: randn_,
    ops.frexp: frexp_, ops.one: same_filled(1), ops.zero: same_filled(0), operator.matmul: matrices.matmul,
    np.matmul: matrices.matmul,
})  # fmt: skip
for _name in ops.UNARY_NAMES:
    PLAIN[getattr(ops, _name)] = unary_handler(_name)
PLAIN[ops.abs] = abs_
PLAIN[Struct] = structs.new_struct

__all__ = ["DataType", "Mat", "statics"]

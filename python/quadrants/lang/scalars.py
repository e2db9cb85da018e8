"""Scalar operations inside kernels. Two Python numbers give a Python number, unless the result needs the kernel's own
arithmetic (overflow, division by zero): then, and for all others, the builder does it.
"""

import ast
import operator

from quadrants.lang.exception import QuadrantsTypeError
from quadrants.lang.values import NUMBERS


def _fold_div(x, y):
    return x / y if y else None


def _fold_pow(x, y):
    if type(x) is not float and type(y) is not float:
        if y < 0:
            raise QuadrantsTypeError("Negative exponent in pow(int, int) is not allowed.")
        if y > 256 and abs(x) > 1:
            return None
    r = x**y
    return r if type(r) is not complex else None


def _ints(f):
    return lambda x, y: f(x, y) if type(x) is not float and type(y) is not float else None


def _shift(f):
    return lambda x, y: f(x, y) if type(x) is not float and type(y) is not float and 0 <= y < 64 else None


def _extreme(f):
    def g(x, y):
        r = f(x, y)
        return float(r) if type(x) is float or type(y) is float else r

    return g


FOLD = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": _fold_div,
    "floordiv": lambda x, y: x // y if y else None, "mod": lambda x, y: x % y if y else None, "pow": _fold_pow,
    "bit_and": _ints(operator.and_), "bit_or": _ints(operator.or_), "bit_xor": _ints(operator.xor),
    "shl": _shift(operator.lshift), "sar": _shift(operator.rshift), "min": _extreme(min), "max": _extreme(max),
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "logical_and": lambda x, y: bool(x) and bool(y), "logical_or": lambda x, y: bool(x) or bool(y),
}  # fmt: skip


def scalar2(w, name, x, y):
    """Binary operation on scalars. Two Python numbers give one, unless the result needs the kernel's own arithmetic."""
    if type(x) in NUMBERS and type(y) in NUMBERS:
        f = FOLD.get(name)
        if f is not None:
            try:
                r = f(x, y)
            except (ArithmeticError, ValueError):
                r = None
            if r is not None and (type(r) is not int or w.static or w.ip_min <= r <= w.ip_max):
                return r
    return w.op[name](x, y)


def scalar1(w, name, x):
    """neg, invert, logical_not, abs or a function that `Builder.unary` knows."""
    if type(x) in NUMBERS:
        if name == "neg":
            return -x
        if name == "abs":
            return abs(x)
        if name == "logical_not" and type(x) is not float:
            return not x
        if name == "invert" and type(x) is int:
            return ~x
    f = w.op.get(name)
    return f(x) if f is not None else w.b.unary(name, x)


PYTHON = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.MatMult: operator.matmul,
}  # fmt: skip
SYMBOLS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
}  # fmt: skip


_MAX_BITS = 4096  # of an integer that is computed while compiling: `10**10**10` must not take the afternoon


def number2(w, op, x, y):
    """Literals and captured numbers are computed as Python does, without a width: the result gets its type, and its
    range checked, where it meets a value of the kernel. What Python refuses is left to the kernel's arithmetic."""
    if type(x) is not float and type(y) is not float and y > 0:
        if (op is ast.Pow and abs(x) > 1 and y * abs(x).bit_length() > _MAX_BITS) or (
            op is ast.LShift and y > _MAX_BITS
        ):
            raise QuadrantsTypeError(f"Integer literal {x} {SYMBOLS[op]} {y} is too large")
    try:
        r = PYTHON[op](x, y)
    except (ArithmeticError, ValueError, TypeError):
        if w.static:
            raise
        return scalar2(w, w.bin_name[op], x, y)
    return r if type(r) is not complex else scalar2(w, w.bin_name[op], x, y)

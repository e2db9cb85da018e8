"""`and`, `or`, conditional expressions, and what counts as a condition.

An operand that only computes is evaluated without a branch (no operation traps); one that reads memory, calls or has an
effect is evaluated in a branch of its own.
"""

import ast

from quadrants._native import Value
from quadrants.lang.elementwise import map_all
from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.table import ev, ref
from quadrants.lang.values import MATRICES, NUMBERS, RECORDS, SCALARS, Mat, MatVar, describe, dtype_of


class AmbiguousTruthError(QuadrantsTypeError, ValueError):
    """A vector or matrix as a condition: the type is wrong, and NumPy's users expect a ValueError."""


def truth(w, v, what):
    """A scalar as a truth value; `what` names the construct."""
    if type(v) is Value:
        dt = v.dtype
        if dt is w.u1:
            return v
        if dt.is_real:
            raise QuadrantsTypeError(
                f"`{what}` conditions must be an integer; found {dt}. Consider using `{what} x != 0` instead of "
                f"`{what} x` for float values."
            )
        return w.b.as_bool(v)
    if type(v) is float:
        raise QuadrantsTypeError(
            f"`{what}` conditions must be an integer; found {w.default_fp}. Consider using `{what} x != 0` instead of "
            f"`{what} x` for float values."
        )
    if type(v) in NUMBERS:
        return bool(v)
    if type(v) in MATRICES:
        raise AmbiguousTruthError(
            f"`{what}` conditions must be an integer; found {describe(w, v)}. The truth value of vectors and matrices is "
            "ambiguous. Consider using `any` or `all` when comparing vectors/matrices:\n    if all(x == y):\nor\n"
            "    if any(x != y):"
        )
    if type(v) in RECORDS or (hasattr(type(v), "kernel_attribute") and type(v) is not Acc):
        raise QuadrantsTypeError(f"a '{describe(w, v)}' is no condition of `{what}`: use one of its members")
    if type(v) is Acc:
        raise QuadrantsTypeError(f"a whole {v.what.lower()} is no condition of `{what}`: index it, such as x[0]")
    return bool(v)


_PURE_CALLS = frozenset(
    [
        "min",
        "max",
        "abs",
        "int",
        "float",
        "bool",
        "cast",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "exp",
        "log",
        "floor",
        "ceil",
        "round",
        "tanh",
        "pow",
        "select",
        "rsqrt",
        "norm",
        "dot",
        "norm_sqr",
        "any",
        "all",
        "sum",
    ]
)


def pure(w, node) -> bool:
    """Whether evaluating an expression only computes: it may then be evaluated although Python would not."""
    kind = type(node)
    if kind is ast.Constant:
        return True
    if kind is ast.Name:
        return True
    if kind is ast.Compare:
        return pure(w, node.left) and all(pure(w, c) for c in node.comparators)
    if kind is ast.BinOp:
        return pure(w, node.left) and pure(w, node.right)
    if kind is ast.UnaryOp:
        return pure(w, node.operand)
    if kind is ast.BoolOp:
        return all(pure(w, v) for v in node.values)
    if kind is ast.IfExp:
        return pure(w, node.test) and pure(w, node.body) and pure(w, node.orelse)
    if kind is ast.Attribute:
        return pure(w, node.value)
    if kind is ast.Subscript:
        return _pure_subscript(w, node)
    if kind is ast.Tuple:
        return all(pure(w, e) for e in node.elts)
    if kind is ast.Call:
        f = node.func
        name = f.attr if type(f) is ast.Attribute else f.id if type(f) is ast.Name else None
        return name in _PURE_CALLS and not node.keywords and pure(w, f) and all(pure(w, a) for a in node.args)
    return False


def _pure_subscript(w, node):
    """Reading a component of a local vector, or an extent, is no memory access."""
    base = node.value
    if w.checks or not pure(w, node.slice):
        return False
    if type(base) is ast.Attribute and base.attr == "shape":
        return pure(w, base.value)
    if type(base) is not ast.Name:
        return False
    v = ref(w, base)
    return type(v) in (Mat, MatVar, tuple, list)


def bool_op(w, node):
    is_and = type(node.op) is ast.And
    if w.static:
        return _python_bool(w, node, is_and)
    out = _operand(w, ev(w, node.values[0]), is_and)
    for right in node.values[1:]:
        if type(out) is int or type(out) is bool:
            if bool(out) is not is_and:  # False and …, True or …
                return out
            out = _operand(w, ev(w, right), is_and)
        elif type(out) in MATRICES or not w.short_circuit or pure(w, right):
            out = _join(w, out, _operand(w, ev(w, right), is_and), is_and)
        else:
            out = _branch(w, out, right, is_and)
    return out


def _python_bool(w, node, is_and):
    v = None
    for operand in node.values:
        v = ev(w, operand)
        v = w.known(v) if type(v) is Value and w.known(v) is not None else v
        if type(v) is Value:
            raise QuadrantsSyntaxError("a value of the running kernel cannot be used inside `qd.static`")
        if bool(v) is not is_and:
            return v
    return v


def _operand(w, v, is_and):
    """Truth values as they are; of integers the value counts, as in Python: `5 and 6` is 6."""
    if type(v) in MATRICES or (type(v) is Value and v.dtype.is_integral) or type(v) is int:
        return v
    return truth(w, v, "and" if is_and else "or")


def _is_number(w, x):
    return type(x) is int or (type(x) is Value and x.dtype is not w.u1)


def _join(w, x, y, is_and):
    if type(x) not in MATRICES and type(y) not in MATRICES and (_is_number(w, x) or _is_number(w, y)):
        return w.b.select(w.b.as_bool(x), y if is_and else x, x if is_and else y)
    f = w.b.logical_and if is_and else w.b.logical_or
    if type(y) is bool and type(x) not in MATRICES:
        return x if y is is_and else y
    return map_all(w, f, (x, y), "and" if is_and else "or")


def _branch(w, left, right, is_and):
    b = w.b
    out = b.var(_type_with(w, left, right), left)
    cond = b.as_bool(left)
    b.when(cond if is_and else b.logical_not(cond))
    w.runtime += 1
    b.set(out, _operand(w, ev(w, right), is_and))
    w.runtime -= 1
    b.end()
    return b.get(out)


def _type_with(w, left, right):
    """Type of `left and right`: both count, as in a conditional expression."""
    if _gives_truth(right):
        return left.dtype
    w.b.when(w.b.const(False))  # evaluated where it is never reached
    w.runtime += 1
    dtype = dtype_of(w, _operand(w, ev(w, right), True))
    w.runtime -= 1
    w.b.end()
    return dtype if dtype is left.dtype else w.promote(left.dtype, dtype)


def _gives_truth(node):
    kind = type(node)
    return kind is ast.Compare or (kind is ast.UnaryOp and type(node.op) is ast.Not)


def if_exp(w, node):
    from quadrants.lang.frontend.stmts import is_static

    test = ev(w, node.test)
    if is_static(w, node.test):
        return ev(w, node.body if test else node.orelse)
    if type(test) in MATRICES:
        raise QuadrantsSyntaxError(
            "Using conditional expression for element-wise select operation on matrices is not "
            'supported. Please use "qd.select" instead.'
        )
    test = truth(w, test, "if")
    if type(test) is bool:
        return ev(w, node.body if test else node.orelse)
    if pure(w, node.body) and pure(w, node.orelse):
        return _select(w, test, ev(w, node.body), ev(w, node.orelse))
    dtype = _type_of_branches(w, node)
    if dtype is None:
        return _select(w, test, ev(w, node.body), ev(w, node.orelse))
    b = w.b
    out = b.var(dtype, 0)
    b.when(test)
    w.runtime += 1
    b.set(out, ev(w, node.body))
    b.other()
    b.set(out, ev(w, node.orelse))
    w.runtime -= 1
    b.end()
    return b.get(out)


def _select(w, test, x, y):
    if type(x) is Acc or type(y) is Acc:
        raise QuadrantsTypeError("a conditional expression cannot choose between fields or arrays at run time")
    if type(x) in (list, tuple) or type(y) in (list, tuple) or type(x) is str or type(y) is str:
        wrong = x if type(x) in (list, tuple, str) else y
        raise QuadrantsTypeError(f"a conditional expression cannot choose '{describe(w, wrong)}' at run time")
    return map_all(w, w.b.select, (test, x, y), "if")


def _type_of_branches(w, node):
    """Type of the result: both branches are evaluated where they are never reached. None when they are no scalars."""
    b = w.b
    b.when(b.const(False))
    w.runtime += 1
    x, y = ev(w, node.body), ev(w, node.orelse)
    w.runtime -= 1
    b.end()
    if type(x) not in SCALARS or type(y) not in SCALARS:
        return None
    dx, dy = dtype_of(w, x), dtype_of(w, y)
    return dx if dx is dy else w.promote(dx, dy)

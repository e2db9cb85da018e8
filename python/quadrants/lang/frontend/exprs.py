"""Expressions: names, constants, operators, conditions, containers and comprehensions, attributes, subscripts."""

import ast
import enum
import operator
import types

import numpy as np

from quadrants._native import Value, Var
from quadrants.lang import swizzle
from quadrants.lang.elementwise import binary, unary
from quadrants.lang.exception import QuadrantsIndexError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import (
    access,
    access_attributes,
    bundles,
    conditions,
    hooks,
    matrices,
    reports,
    structs,
    views,
    watched,
)
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.table import EXPR, REF, ev, ref
from quadrants.lang.holding import held
from quadrants.lang.scalars import PYTHON, SYMBOLS, number2, scalar2
from quadrants.lang.util import ITERABLE, hook
from quadrants.lang.values import (
    MATRICES,
    NUMBERS,
    RECORDS,
    SCALARS,
    Big,
    Elem,
    Mat,
    MatVar,
    Places,
    Slot,
    describe,
    elements,
    load,
    make,
)


# ------------------------------------------------------------------------------------------------- names, constants
def name_value(w, node):
    v = w.vars.get(node.id, w)
    if v is w:
        return w.outer(node.id)
    kind = type(v)
    if kind is Var:
        return w.get(v)
    if kind is Value:
        return v
    return load(w, v)


def name_ref(w, node):
    v = w.vars.get(node.id, w)
    return w.outer(node.id) if v is w else v


def constant(w, node):
    return node.value


def named(w, node):
    from quadrants.lang.frontend.stmts import assign_name

    v = ev(w, node.value)
    w.source.stores.setdefault(node.target.id, 2)
    assign_name(w, node.target.id, v)
    return v


# --------------------------------------------------------------------------------------------------------- operators
def bin_op(w, node):
    spine = [node]  # `a + b + c + …` nests as deep as it is long: no recursion along its left side
    left = node.left
    while type(left) is ast.BinOp:
        spine.append(left)
        left = left.left
    x = ev(w, left)
    while spine:
        node = spine.pop()
        x = _operation(w, node, x)
    return x


def _operation(w, node, x):
    y = ev(w, node.right)
    op = type(node.op)
    if op is ast.MatMult:
        if _answers(x, "__matmul__") or _answers(y, "__rmatmul__"):
            return w.wrap(watched.run(w, node, operator.matmul, (x, y)))
        return matrices.matmul(w, x, y)
    if type(x) in NUMBERS and type(y) in NUMBERS:
        return number2(w, op, x, y)
    if type(x) is Value:
        if type(y) is Value or type(y) in NUMBERS:
            return w.bin[op](x, y)
    elif type(y) is Value and type(x) in NUMBERS:
        return w.bin[op](x, y)
    name = w.bin_name[op]
    if type(x) in SCALARS and type(y) in SCALARS:
        return scalar2(w, name, x, y)
    if type(x) in MATRICES or type(y) in MATRICES:
        return binary(w, name, x, y)
    if type(x) is str and op is ast.Mod:
        return reports.percent(w, x, y)
    if (
        _opaque(x)
        or _opaque(y)
        or _incomparable(x, y)
        and type(x) not in (list, tuple)
        and type(y) not in (list, tuple)
    ):
        raise QuadrantsTypeError(
            f"unsupported operand type(s) for '{SYMBOLS[op]}': '{describe(w, x)}' and '{describe(w, y)}'"
        )
    return w.wrap(watched.run(w, node, PYTHON[op], (x, y)))


def _answers(x, method):
    """Whether an object of a program's class has an operator of its own."""
    kind = type(x)
    return kind.__module__.partition(".")[0] not in ("builtins", "quadrants", "numpy") and hasattr(kind, method)


def _opaque(x):
    return type(x) in (Acc, bundles.Bundle, *RECORDS) or isinstance(x, (reports.Text, types.ModuleType))


_UNARY = {ast.USub: "neg", ast.Invert: "invert", ast.Not: "logical_not"}


def unary_op(w, node):
    op = type(node.op)
    x = ev(w, node.operand)
    if op is ast.UAdd:
        return x
    if type(x) in SCALARS or type(x) in MATRICES:
        return unary(w, _UNARY[op], x)
    if op is ast.Not:
        return not conditions.truth(w, x, "not")
    if hasattr(type(x), f"__{_UNARY[op]}__"):
        return w.wrap(watched.run(w, node, getattr(operator, _UNARY[op]), (x,)))
    raise QuadrantsTypeError(f"unsupported operand type for '{_UNARY[op]}': '{describe(w, x)}'")


_STATIC_COMPARE = {
    ast.In: lambda x, y: x in y, ast.NotIn: lambda x, y: x not in y, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_WORDS = {ast.In: "In", ast.NotIn: "NotIn", ast.Is: "is", ast.IsNot: "is not"}


def compare(w, node):
    x = ev(w, node.left)
    if len(node.ops) == 1:
        return compare_one(w, type(node.ops[0]), x, ev(w, node.comparators[0]))
    out = None
    for op, right in zip(node.ops, node.comparators):
        y = ev(w, right)
        r = compare_one(w, type(op), x, y)
        out = r if out is None else _and(w, out, r)
        x = y
    return out


def _and(w, x, y):
    if type(x) in NUMBERS and type(y) in NUMBERS:
        return bool(x and y)
    return binary(w, "logical_and", x, y)


def compare_one(w, op, x, y):
    if type(x) is Value and (type(y) is Value or type(y) in NUMBERS) and op in w.cmp:
        return w.cmp[op](x, y)
    if op in _WORDS:
        if not w.static:
            if op in (ast.Is, ast.IsNot):
                raise QuadrantsSyntaxError(
                    f'Operator "{_WORDS[op]}" in Quadrants scope is not supported: only in `qd.static`.'
                )
            raise QuadrantsSyntaxError(f'"{_WORDS[op]}" is only supported inside `qd.static`.')
        if op in (ast.In, ast.NotIn):
            x = w.known(x) if type(x) is Value else x
        return _STATIC_COMPARE[op](x, y)
    if type(x) in SCALARS and type(y) in SCALARS:
        return scalar2(w, w.cmp_name[op], x, y)
    if type(x) in MATRICES or type(y) in MATRICES:
        return binary(w, w.cmp_name[op], x, y)
    if any(type(v) in RECORDS or type(v) is bundles.Bundle for v in (x, y)):
        raise QuadrantsTypeError(
            f"structs cannot be compared ('{describe(w, x)}' and '{describe(w, y)}'): compare their members"
        )
    if (x is None or y is None) and op in (ast.Eq, ast.NotEq) and type(x if y is None else y) in (Value, Acc):
        return (x is y) is (op is ast.Eq)
    if not w.static and _incomparable(x, y):
        raise QuadrantsTypeError(
            f"unsupported operand type(s) for '{_SIGNS[op]}': '{describe(w, x)}' and '{describe(w, y)}'"
        )
    return watched.run(w, None, _STATIC_COMPARE[op], (x, y))


_SIGNS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def _incomparable(x, y):
    """Whether a value of the running kernel meets something that has no operators of its own for it."""
    if any(type(v).__module__.partition(".")[0] not in ("builtins", "quadrants") for v in (x, y)):
        return False
    return any(type(v) in (Value, Acc) for v in (x, y))


# -------------------------------------------------------------------------------------------------------- containers
def sequence(w, elts):
    out = []
    for e in elts:
        if type(e) is ast.Starred:
            v = ev(w, e.value)
            out.extend(v if type(v) in (list, tuple) else elements(w, v))
        else:
            out.append(ev(w, e))
    return out


def tuple_(w, node):
    return tuple(held(w, v) for v in sequence(w, node.elts))


def list_(w, node):
    return [held(w, v) for v in sequence(w, node.elts)]


def dict_(w, node):
    out = {}
    for k, v in zip(node.keys, node.values):
        if k is None:
            out.update(ev(w, v))
        else:
            out[ev(w, k)] = held(w, ev(w, v))
    return out


def iterate(w, x, what="comprehension"):
    """Items of something whose length is known now."""
    if type(x) in MATRICES:
        return elements(w, x)
    if isinstance(x, ITERABLE):
        return [w.wrap(load(w, v)) for v in x]
    items = hook(x, "static_items")
    if items is not None:
        return items(w)
    raise QuadrantsSyntaxError(f"a {what} needs something whose length is known at compile time, got {describe(w, x)}")


def _comprehend(w, generators, make):
    from quadrants.lang.frontend.stmts import bind_target

    if not generators:
        make()
        return
    g = generators[0]
    for item in iterate(w, ev(w, g.iter)):
        mark = len(w.undo)
        bind_target(w, g.target, item, ())
        if all(_static_truth(w, ev(w, c)) for c in g.ifs):
            _comprehend(w, generators[1:], make)
        w.close_scope(mark)


def _static_truth(w, v):
    v = w.known(v) if type(v) is Value else v
    if v is None:
        raise QuadrantsSyntaxError("the condition of a comprehension must be known at compile time")
    return bool(v)


def list_comp(w, node):
    out = []
    _comprehend(w, node.generators, lambda: out.append(held(w, ev(w, node.elt))))
    return out


def dict_comp(w, node):
    out = {}
    _comprehend(w, node.generators, lambda: out.__setitem__(ev(w, node.key), held(w, ev(w, node.value))))
    return out


def joined(w, node):
    pieces, values = [], []
    for part in node.values:
        if type(part) is ast.Constant:
            pieces.append(part.value)
            continue
        spec = "".join(str(v.value) for v in part.format_spec.values) if part.format_spec is not None else ""
        p, s = reports.inserted(w, ev(w, part.value), spec)
        pieces += p
        values += s
    if not values and all(type(p) is str for p in pieces):
        return "".join(pieces)
    return reports.Text(pieces, values)


# -------------------------------------------------------------------------------------------------------- attributes
def attribute_ref(w, node):
    x = ref(w, node.value)
    if type(x) is int and node.attr in ("value", "name"):
        x = enum_member(w, node.value, x)
    return attribute_of(w, x, node.attr)


def enum_member(w, node, number):
    """The member of an IntEnum that `node` stands for, which counts as its number everywhere else."""
    found = number
    if type(node) is ast.Attribute:
        owner = ref(w, node.value)
        if type(owner) is bundles.Bundle:
            found = owner.class_attribute(w, node.attr, number)
        elif hook(owner, "kernel_attribute") is None and type(owner) not in RECORDS:
            found = w.rec.attribute(owner, node.attr)
    elif type(node) is ast.Name:
        found = w.rec.name(w.fn, node.id) if node.id not in w.vars else w.enums.get(node.id)
    return found if isinstance(found, enum.Enum) else number


def attribute(w, node):
    v = attribute_ref(w, node)
    return load(w, v) if not (type(v) is Value or type(v) in NUMBERS) else v


def attribute_of(w, x, attr):
    """Attribute of a value or captured object."""
    kind = type(x)
    if kind is Acc:
        return access_attributes.attribute(w, x, attr)
    if kind in RECORDS:
        return structs.attribute(w, x, attr)
    if kind in MATRICES or kind is Elem or kind is Places:
        if attr in ("n", "m", "ndim"):
            return getattr(x, attr)
        return swizzle.pick(w, x, attr)
    if kind is Value or kind is Var or kind is Slot:
        raise QuadrantsSyntaxError(f"a scalar of type {describe(w, x)} has no attribute '{attr}'")
    getter = hook(x, "kernel_attribute")
    if getter is not None:
        return getter(w, attr)
    root = w.roots.get(id(x))
    if root is not None:
        passed = root.member(w, attr)
        if passed is not None:
            return passed
    try:
        found = w.rec.attribute(x, attr)
    except AttributeError:
        if not isinstance(x, types.ModuleType):
            raise
        raise AttributeError(f"module '{x.__name__}' has no attribute '{attr}'") from None
    return w.wrap(found, f'attribute "{attr}"')


# -------------------------------------------------------------------------------------------------------- subscripts
def subscript(w, node):
    x = ref(w, node.value)
    if type(x) is Acc:
        sl = node.slice
        if hooks.has_slices(node):
            return hooks.part_of(w, x, node)
        index = ev(w, sl)
        if type(index) is not tuple:
            index = (index,)
        acc = x
        if acc.ndim == 1 and acc.endim == 0 and not (w.checks or acc.clamp or acc.wide):
            i = index[0]
            if type(i) is Value and acc.base == 0 and acc.strides[0] == 1 and acc.comps[0] == 0 and len(index) == 1:
                if i.dtype.is_integral:
                    return w.b.load(acc.param, i)
        return load(w, access.at(w, acc, index, node))
    return load(w, subscript_of(w, x, node))


def subscript_ref(w, node):
    x = ref(w, node.value)
    if type(x) is Acc:
        if hooks.has_slices(node):
            return hooks.part_of(w, x, node)
        index = ev(w, node.slice)
        return access.at(w, x, index if type(index) is tuple else (index,), node)
    return subscript_of(w, x, node)


def subscript_of(w, x, node):
    """x[...] for anything but fields and arrays."""
    if type(x) in RECORDS:
        return structs.subscript(w, x, ev(w, node.slice))
    if type(x) is views.View:
        return views.subscript(w, x, node)
    if type(x) is structs.AccStruct:
        index = ev(w, node.slice)
        return structs.element(w, x, index if type(index) is tuple else (index,), node)
    if type(x) in MATRICES or type(x) is Elem or type(x) is Places:
        return matrices.subscript(w, x, node)
    if type(x) in SCALARS or type(x) is Var or type(x) is Slot:
        raise QuadrantsTypeError(f"a scalar of type {describe(w, x)} cannot be indexed")
    if isinstance(x, (list, tuple, dict, range, str, np.ndarray)):
        index = ev(w, node.slice)
        if type(index) is Value and w.known(index) is None and type(x) in (list, tuple):
            table = _as_table(w, x)
            if table is not None:
                return matrices.subscript_at(w, table, index, node)
        return w.wrap(_python_item(w, x, index))
    part = hooks.subscript(w, x, node)
    if part is None and hook(x, "kernel_attribute") is not None:
        raise QuadrantsTypeError(f"'{describe(w, x)}' cannot be indexed inside kernels")
    return w.wrap(watched.run(w, node, operator.getitem, (x, ev(w, node.slice)))) if part is None else part


def _as_table(w, x):
    """A short list of scalars as a vector, so that a run-time index can pick from it; None for other lists."""
    if not 0 < len(x) <= 64:
        return None
    if all(type(e) is Var for e in x):
        return MatVar(len(x), 1, 1, list(x))
    values = [load(w, e) for e in x]
    return make(w, len(x), 1, 1, values) if all(type(e) in SCALARS for e in values) else None


def _python_item(w, x, index):
    if type(index) is tuple and isinstance(x, np.ndarray):
        return x[tuple(_known_index(w, x, i) for i in index)]
    if isinstance(x, dict):
        return x[w.known(index) if type(index) is Value else index]
    try:
        return x[_known_index(w, x, index)]
    except IndexError as e:
        raise QuadrantsIndexError(str(e)) from None


def _known_index(w, x, index):
    if type(index) is not Value:
        return index
    k = w.known(index)
    if k is None:
        what = "a captured array" if isinstance(x, np.ndarray) else f"a Python {type(x).__name__}"
        raise QuadrantsTypeError(
            f"{what} can only be indexed by what is known at compile time (a literal, a qd.static loop variable): "
            "pass it as an argument to index it at run time."
        )
    return k


def slice_(w, node):
    def part(p):
        if p is None:
            return None
        v = w.known(ev(w, p))
        if type(v) is not int:
            raise QuadrantsSyntaxError("The bounds of a slice must be known at compile time.")
        return v

    return slice(part(node.lower), part(node.upper), part(node.step))


EXPR.update({
    ast.Name: name_value, ast.Constant: constant, ast.NamedExpr: named, ast.BinOp: bin_op, ast.UnaryOp: unary_op,
    ast.Compare: compare, ast.BoolOp: conditions.bool_op, ast.IfExp: conditions.if_exp, ast.Tuple: tuple_,
    ast.List: list_, ast.Dict: dict_, ast.ListComp: list_comp, ast.DictComp: dict_comp, ast.JoinedStr: joined,
    ast.Attribute: attribute, ast.Subscript: subscript, ast.Slice: slice_,
})  # fmt: skip
REF.update({ast.Name: name_ref, ast.Attribute: attribute_ref, ast.Subscript: subscript_ref})

__all__ = ["Big", "Mat", "MatVar", "compare_one", "iterate"]

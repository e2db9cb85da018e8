"""Augmented assignments: `x op= v` of variables, elements, vectors and their parts. Of what iterations share the addition,
subtraction and bitwise ones are atomic."""

import ast

from quadrants._native import Var
from quadrants.lang.elementwise import binary
from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import access, hooks, matrices, precision
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.atomics import like
from quadrants.lang.frontend.stmts import immutable, not_assignable
from quadrants.lang.frontend.table import STMT, NeedVariable, ev, ref
from quadrants.lang.values import (
    MATRICES,
    PLACES,
    SCALARS,
    Elem,
    Mat,
    Places,
    Rec,
    Slot,
    describe,
    element,
    element_dtype,
    fit,
    from_nested,
    load,
    one_of,
    store,
)

_ATOMIC = {ast.Add: "add", ast.Sub: "sub", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
_AUGMENTED = {op: f"Atomic {name}" for op, name in _ATOMIC.items()}


def aug_assign(w, node):
    target, op = node.target, type(node.op)
    place = w.vars.get(target.id, w) if type(target) is ast.Name else ref(w, target)
    if place is w:
        place = ref(w, target)
    kind = type(place)
    if type(target) is ast.Name and target.id in w.readonly:
        raise QuadrantsSyntaxError(immutable(target.id))
    if kind is Var:
        v = ev(w, node.value)
        if type(v) not in SCALARS:
            raise QuadrantsTypeError(f"cannot assign '{describe(w, v)}' to '{place.dtype}'")
        precision.assigned(w, node, place, v, _AUGMENTED.get(op, "Assign"))
        w.b.set(place, _updated(w, op, w.get(place), v))
        return
    if kind not in PLACES:
        if hooks.update(w, place, op, node.value):
            return
        raise _aug_error(w, node, target, place)
    v = ev(w, node.value)
    precision.assigned(w, node, place, v, _AUGMENTED.get(op, "Assign"))
    _update(w, op, place, v)


def _update(w, op, place, v):
    """`place op= v`."""
    kind = type(place)
    if kind is Places and op is not ast.MatMult:
        v = fit(w, place, load(w, v))  # all components are read before the first is written
        for k, part in enumerate(place.data):
            _update(w, op, part, element(w, v, k))
        return
    if kind is Elem and op in _ATOMIC and (place.acc.dtype is not w.u1 or op in _BITWISE):
        access.atomic(w, _ATOMIC[op], place, v)
        return
    if kind is Slot and id(place.base) in w.shared and op in _ATOMIC and type(v) in SCALARS:
        one_of(w, place, lambda var: w.b.set(var, _updated(w, op, w.get(var), v)))
        return
    if op is ast.MatMult:
        store(w, place, matrices.matmul(w, load(w, place), v))
        return
    old = load(w, place)
    if type(old) in SCALARS and type(v) not in SCALARS:
        raise QuadrantsTypeError(f"cannot assign '{describe(w, v)}' to '{describe(w, old)}'")
    store(w, place, _updated(w, op, old, v))


def _updated(w, op, old, v):
    """`old op v`. Where the operation has an atomic, v takes old's type first, as it does there: so an update means the
    same for what iterations share and for what is theirs, and the split finds an atomic in it."""
    if op in _ATOMIC:
        if type(old) in MATRICES and type(v) in (list, tuple):
            v = from_nested(w, v)
        if op not in _BITWISE or not _is_real(w, v):
            v = like(w, old, v)
    return binary(w, w.bin_name[op], old, v)


def _is_real(w, v):
    return (type(v) in SCALARS or type(v) in MATRICES) and element_dtype(w, v).is_real


def _aug_error(w, node, target, place):
    if type(target) is ast.Name:
        if target.id in w.readonly:
            return QuadrantsSyntaxError(immutable(target.id))
        if target.id in w.vars and (type(place) in SCALARS or type(place) in (Mat, Rec)):
            if target.id not in w.forced:
                return NeedVariable(w.source, target.id)
        elif type(place) is Acc:
            return QuadrantsSyntaxError(f'"{target.id}" is a whole {place.what.lower()}: assign to its elements')
        return QuadrantsSyntaxError(
            f'"{target.id}" is a captured {describe(w, place)} and cannot be assigned: pass a field or an array'
        )
    return not_assignable(w, target, place)


STMT[ast.AugAssign] = aug_assign

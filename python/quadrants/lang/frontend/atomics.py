"""Atomic updates, and loads that are not joined with others: their first argument is a place, not a value."""

from quadrants._native import Var
from quadrants.lang import ops
from quadrants.lang.elementwise import binary, cast, map_all
from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import access, matrices
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.calls import SPECIAL, _need_place
from quadrants.lang.frontend.table import ev, ref
from quadrants.lang.values import (
    MATRICES,
    PLACES,
    SCALARS,
    Elem,
    Places,
    Slot,
    _add,
    dtype_of,
    element,
    fit,
    guarded,
    load,
    make,
    one_of,
    store,
)  # fmt: skip

_PLAIN_OF = {"add": "add", "sub": "sub", "mul": "mul", "min": "min", "max": "max", "and": "bit_and", "or": "bit_or",
             "xor": "bit_xor"}  # fmt: skip


def _target(w, node, name, count):
    if len(node.args) + len(node.keywords) != count:
        raise QuadrantsTypeError(
            f"TypeError when calling `{name}`: it takes {count} arguments, found {len(node.args) + len(node.keywords)}."
        )
    args = [*node.args, *(k.value for k in node.keywords)]
    place = ref(w, args[0])
    if type(place) is Acc:
        raise QuadrantsSyntaxError(
            f"{name}: cannot use a whole {place.what.lower()} as the target: index it, such as x[None]"
        )
    base = place.base if type(place) is Slot else place
    if type(base) not in PLACES:
        _need_place(w, args[0], base)
        raise QuadrantsSyntaxError(f"{name} needs an element of a field or array, or a variable, as its target")
    return place, [ev(w, a) for a in args[1:]]


def atomic_handler(name):
    def handler(w, node):
        place, (value,) = _target(w, node, f"atomic_{name}", 2)
        if name in ("and", "or", "xor"):
            dt = place.acc.dtype if type(place) is Elem else None
            if dt is not None and dt.is_real:
                raise QuadrantsTypeError(f"atomic_{name} takes integers, the element is of type {dt}")
        return _atomic(w, name, place, value)

    return handler


def _atomic(w, name, place, value):
    if type(place) is Elem:
        return access.atomic(w, name, place, value)
    if type(place) is Places:
        value = fit(w, place, load(w, value))  # all components are read before the first is written
        old = [_atomic(w, name, part, element(w, value, k)) for k, part in enumerate(place.data)]
        return make(w, place.n, place.m, place.ndim, old)
    old = load(w, place)
    value = like(w, old, value)
    if type(place) is Slot and id(place.base) in w.shared and name != "exchange" and type(value) in SCALARS:
        one_of(w, place, lambda v: w.b.set(v, binary(w, _PLAIN_OF[name], w.get(v), value)))
        return old
    store(w, place, value if name == "exchange" else binary(w, _PLAIN_OF[name], old, value))
    return old


def like(w, old, value):
    """A value in the type of the variable that holds `old`, as atomics of elements take it."""
    if type(value) not in SCALARS and type(value) not in MATRICES:
        return value
    if type(old) in SCALARS:
        return cast(w, value, dtype_of(w, old))
    return cast(w, value, matrices.element_dtype(w, old)) if type(old) in MATRICES else value


def atomic_cas_(w, node):
    place, (expected, desired) = _target(w, node, "atomic_cas", 3)
    if type(place) in (Var, Slot):  # nobody else can reach a local variable
        old = load(w, place)
        if dtype_of(w, old).is_real:
            raise QuadrantsTypeError(f"atomic_cas takes integers, the element is of type {dtype_of(w, old)}")
        expected, desired = like(w, old, expected), like(w, old, desired)
        store(w, place, map_all(w, w.b.select, (binary(w, "eq", old, expected), desired, old), "select"))
        return old
    if type(place) is not Elem or place.ndim:
        raise QuadrantsTypeError("atomic_cas needs a scalar element of a field or array as its target")
    if place.acc.dtype.is_real:
        raise QuadrantsTypeError(f"atomic_cas takes integers, the element is of type {place.acc.dtype}")
    acc = place.acc
    acc.written = True
    return guarded(
        w,
        place.ok,
        acc.dtype,
        lambda: w.b.atomic_cas(acc.param, _add(w, place.index, place.comps[0]), expected, desired),
    )


def volatile_load_(w, node):
    place, _ = _target(w, node, "volatile_load", 1)
    if type(place) is not Elem:
        raise QuadrantsSyntaxError("volatile_load needs an element of a field or array")
    acc = place.acc
    parts = [
        guarded(w, place.ok, acc.dtype, lambda c=c: w.b.volatile_load(acc.param, _add(w, place.index, c)))
        for c in place.comps
    ]
    return parts[0] if place.ndim == 0 else make(w, place.n, place.m, place.ndim, parts)


for _name in ops.ATOMIC_NAMES:
    SPECIAL[getattr(ops, f"atomic_{_name}")] = atomic_handler(_name)
SPECIAL[ops.atomic_cas], SPECIAL[ops.volatile_load] = atomic_cas_, volatile_load_

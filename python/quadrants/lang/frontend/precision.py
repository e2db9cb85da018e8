"""The warning for an assignment that may lose precision: a wider or a real value goes into a narrower place.

A constant that the place holds exactly gives none. Each place in the source gives one line.
"""

from quadrants._native import Value, Var
from quadrants.lang.frontend import errors
from quadrants.lang.values import MATRICES, Elem, MatVar, element_dtype


def _exact(w, v, dtype):
    """Whether a number known now is kept by a type."""
    k = w.known(v)
    if k is None:
        return False
    if dtype.is_integral:
        return int(k) == k and dtype.min <= k <= dtype.max if k == k and abs(k) != float("inf") else False
    return type(k) in (int, bool) or dtype.is_real  # reals are rounded as they are written


def assigned(w, node, place, v, what="Assign"):
    """Notes the assignment of `v` to a place (a variable or an element) at a node."""
    kind = type(place)
    dtype = place.acc.dtype if kind is Elem else place.dtype if kind is Var else _entries(w, place)
    if dtype is None:
        return
    if type(v) is Value:
        given = v.dtype
    elif type(v) in (int, float):
        given = w.default_fp if type(v) is float else w.default_ip
    elif type(v) in MATRICES:
        given = element_dtype(w, v)
    else:
        return
    if given is dtype or w.promote(dtype, given) is dtype or _exact(w, v, dtype):
        return
    w.lossy.setdefault(
        (id(w.source), node.lineno, what), (w.source, node, f"{what} may lose precision: {dtype} <- {given}")
    )


def _entries(w, place):
    base = getattr(place, "base", place)
    return element_dtype(w, base) if type(base) is MatVar else None


def deliver(w):
    """Notes them as lines of the log."""
    for source, node, text in w.lossy.values():
        errors.warn(w, text, node, "log", source)

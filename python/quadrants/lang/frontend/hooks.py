"""Values with rules of their own for slices, names, assignment and updates: tiles and parts of arrays (tiles.py). What
other statements and expressions ask of them; for anything else the answer is that it has none.
"""

import ast

from quadrants.lang.frontend.table import ev


def has_slices(node):
    """Whether the index of a subscript has slices in it."""
    s = node.slice
    return type(s) is ast.Slice or type(s) is ast.Tuple and any(type(e) is ast.Slice for e in s.elts)


def part_of(w, acc, node):
    """A subscript with slices of a field or array. Imported late: tiles are made of calls, which are expressions."""
    from quadrants import simt  # noqa: F401 - gives names of tiles their meaning
    from quadrants.lang.frontend import tiles

    return tiles.part_of(w, acc, node)


def subscript(w, x, node):
    """x[...], or None."""
    here = getattr(type(x), "kernel_subscript", None)
    return None if here is None else here(x, w, node)


def bind(w, v):
    """What a new name for a value is bound to."""
    here = getattr(type(v), "kernel_bind", None)
    return v if here is None else here(v, w)


def assign(w, place, v):
    """`place = v`. False: it has no rule of its own."""
    here = getattr(type(place), "kernel_assign", None)
    if here is not None:
        here(place, w, v)
    return here is not None


def update(w, place, op, node):
    """`place op= node`. False: it has no rule of its own."""
    here = getattr(type(place), "kernel_update", None)
    if here is not None:
        here(place, w, op, ev(w, node))
    return here is not None

"""`qd.static`, `static_assert`, `range`, `ndrange`, `grouped` and `loop_config` inside kernels: what is known while compiling,
and the boxes that loops run over.
"""

import ast

from quadrants._native import Value, Var
from quadrants.lang import static
from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import matrices, structs
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.calls import PLAIN, SPECIAL, arguments
from quadrants.lang.frontend.errors import warn
from quadrants.lang.frontend.loops import Grouped, Range, bound, node_box
from quadrants.lang.frontend.nodes import Node
from quadrants.lang.frontend.table import ev, ref
from quadrants.lang.values import MATRICES, Elem, Slot, describe, dtype_of


class RuntimeRangeError(QuadrantsTypeError, ValueError):
    """`qd.static(range(n))` with a run-time n: a wrong type for `range`, a wrong value for `qd.static`."""


def _counted(node, name, least, most):
    """QuadrantsTypeError when a call has another number of arguments."""
    count = len(node.args) + len(node.keywords)
    if count < least or (most is not None and count > most):
        wanted = least if least == most else f"at least {least}" if most is None else f"{least} or {most}"
        raise QuadrantsTypeError(
            f"TypeError when calling `{name}`: it takes {wanted} argument{'' if 1 in (most, least if most is None else 0) else 's'}, found {count}."
        )


def static_(w, node):
    if node.keywords:
        raise QuadrantsSyntaxError("qd.static takes no keyword arguments")
    _counted(node, "static", 1, None)
    if any(ref_is_static(w, a) for a in node.args):
        raise QuadrantsSyntaxError("'qd.static' cannot be nested")
    w.static += 1
    values = [_static_value(w, ref(w, a)) for a in node.args]
    w.static -= 1
    return values[0] if len(values) == 1 else tuple(values)


def _static_value(w, v):
    if type(v) is Value or type(v) is Var or type(v) is Elem or type(v) is Slot:
        raise ValueError(
            "Input to qd.static must be compile-time constants or global pointers, instead of "
            f"a value of type {describe(w, v)} that is known only when the kernel runs"
        )
    if type(v) is Range:
        items = v.static_items(w)
        return range(w.known(v.lo[0]), w.known(v.hi[0])) if v.what == "range" else items
    if type(v) is Grouped:
        return v.static_items(w)
    return v


def static_assert_(w, node):
    _counted(node, "static_assert", 1, 2)
    w.static += 1
    args = [ev(w, a) for a in node.args] + [ev(w, k.value) for k in node.keywords]
    w.static -= 1
    if type(args[0]) is Value or type(args[0]) in MATRICES:
        raise QuadrantsTypeError("Static assert with non-static condition")
    assert args[0], args[1] if len(args) > 1 else "static assertion failed"


def static_print_(w, node):
    args, kwargs = arguments(w, node)
    w.rec.cannot("qd.static_print is for a person who watches the compile")
    print(*[describe(w, a) if type(a) is Value or type(a) in MATRICES else a for a in args], **kwargs)


def range_(w, node):
    args, kwargs = arguments(w, node)
    if kwargs or not 1 <= len(args) <= (3 if w.static else 2):
        raise QuadrantsSyntaxError(f"Range should have 1 or 2 arguments, found {len(args)}")
    if w.static:
        if any(type(a) is not int for a in args):
            raise RuntimeRangeError(
                "Input to qd.static must be compile-time constants or global pointers, instead of a range whose bounds "
                "are known only when the kernel runs"
            )
        return range(*args)
    args = [bound(w, _cut_to_int(w, a, node), "range") for a in args]
    return Range([0], [args[0]]) if len(args) == 1 else Range([args[0]], [args[1]])


def _cut_to_int(w, v, node):
    """A real bound of `range` counts as its integer part, with a warning; `ndrange` refuses it."""
    if type(v) is float or (type(v) is Value and v.dtype.is_real):
        text = f"Casting a bound of range from {dtype_of(w, v)} to i32, which may cause numerical issues"
        warn(w, text + ": use `//` or int(x).", node)
        return int(v) if type(v) is float else w.b.cast(v, w.i32)
    return v


def ndrange_(w, node):
    args, kwargs = arguments(w, node)
    axes = kwargs.pop("axes", None)
    if kwargs or not args:
        raise QuadrantsSyntaxError("ndrange takes sizes or pairs (begin, end), and axes=")
    lo, hi = [], []
    for a in args:
        pair = matrices.elements(w, a) if type(a) in MATRICES else list(a) if type(a) in (tuple, list) else None
        if pair is None:
            pair = [0, a]
        if len(pair) != 2 or type(a) is str:
            raise QuadrantsSyntaxError("Every argument of ndrange should be a scalar or a tuple/list like (begin, end)")
        lo.append(bound(w, pair[0], "ndrange"))
        hi.append(bound(w, pair[1], "ndrange"))
    return Range(lo, hi, static.check_axes(axes, len(lo)), "ndrange")


def range_of(box):
    """A Python-scope ndrange as a Range."""
    return Range([lo for lo, _ in box.bounds], [hi for _, hi in box.bounds], box.axes, "ndrange")


def grouped_(w, x):
    if type(x) is structs.AccStruct:
        x = x.first(w)
    if type(x) is Node:
        return Grouped(node_box(x))
    if type(x) in (Range, Acc):
        return Grouped(x)
    raise QuadrantsTypeError(f"qd.grouped takes a field, an array or an ndrange, got {describe(w, x)}")


def grouped_ref(w, node):
    _counted(node, "grouped", 1, 1)
    if any(type(a) is ast.Call and ref_is_static(w, a) for a in node.args):
        raise QuadrantsSyntaxError("'qd.static' is not allowed inside 'qd.grouped': write qd.static(qd.grouped(...))")
    return grouped_(w, ref(w, node.args[0]))


def ref_is_static(w, node):
    from quadrants.lang.frontend.stmts import is_static

    return is_static(w, node)


def loop_config_(
    w, *, block_dim=None, serialize=False, parallelize=None, block_dim_adaptive=True, bit_vectorize=False, name=None
):
    if block_dim is not None and (type(block_dim) is not int or not 1 <= block_dim <= 1024):
        found = describe(w, block_dim) if type(block_dim) is Value else repr(block_dim)
        raise QuadrantsSyntaxError(f"loop_config: block_dim must be a constant integer from 1 to 1024, found {found}")
    if name is not None and not isinstance(name, str):
        raise QuadrantsTypeError(f"loop_config: name must be a string, found {name!r} of type {type(name).__name__}")
    w.loop_config = {"block_dim": block_dim, "serialize": serialize, "parallelize": parallelize, "name": name}


SPECIAL.update({
    static.static: static_, static.static_assert: static_assert_, static.static_print: static_print_, range: range_,
    static.ndrange: ndrange_, static.grouped: grouped_ref,
})  # fmt: skip
PLAIN[static.loop_config] = loop_config_

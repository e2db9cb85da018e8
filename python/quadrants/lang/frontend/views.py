"""BufferViews inside kernels: an array, an offset and a size; slices of them at run-time bounds."""

import ast

from quadrants import _native
from quadrants._native import Value
from quadrants.lang.buffer_view import BufferView
from quadrants.lang.exception import QuadrantsRuntimeTypeError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import access, reports
from quadrants.lang.frontend.table import ev
from quadrants.lang.values import describe, dtype_of, shown_as
from quadrants.types.annotations import BufferViewType, NdarrayType


@shown_as("BufferView")
class View:
    """Elements `offset` to `offset + size` of an array."""

    __slots__ = ("acc", "name", "offset", "size")
    ndim = 1

    def __init__(self, acc, offset, size, name):
        self.acc, self.offset, self.size, self.name = acc, offset, size, name

    def kernel_attribute(self, w, attr):
        """size, shape, dtype and the method `subview`."""
        if attr == "size":
            return self.size
        if attr == "shape":
            return (self.size,)
        if attr == "dtype":
            return self.acc.dtype
        if attr == "subview":
            return lambda offset, size: self.part(w, offset, size)
        raise AttributeError(f"a BufferView has no attribute '{attr}' inside kernels")

    def part(self, w, offset, size):
        """A view of a part."""
        return View(self.acc, w.b.add(self.offset, offset), size, self.name)


def subscript(w, view, node):
    """v[i], a place, or v[a:b], a view."""
    if type(node.slice) is ast.Slice:
        if node.slice.step is not None:
            raise QuadrantsSyntaxError("a slice of a BufferView takes no step")
        low = 0 if node.slice.lower is None else _integer(w, ev(w, node.slice.lower))
        high = view.size if node.slice.upper is None else _integer(w, ev(w, node.slice.upper))
        return view.part(w, low, w.b.sub(high, low))
    index = access.indices(w, [ev(w, node.slice)], node)
    if len(index) != 1:
        raise QuadrantsSyntaxError(f"BufferView with dim 1 accessed with indices of dim {len(index)}")
    index = _integer(w, index[0])
    ok = _inside(w, view, index, node) if w.checks else None
    checks, w.checks = w.checks, False
    place = access.at(w, view.acc, (w.b.add(view.offset, index),), node)
    w.checks = checks
    place.ok = ok
    return place


def _integer(w, v):
    if type(v) is int or (type(v) is Value and v.dtype.is_integral):
        return v
    raise QuadrantsTypeError(f"indices must be integers, however '{describe(w, v)}' is provided as an index.")


def _inside(w, view, index, node):
    b = w.b
    ok = b.logical_and(b.ge(index, 0), b.lt(index, view.size))
    pieces = [f"BufferView Out Of Range: '{view.name}' of size ", (dtype_of(w, view.size), None, ""), ", got index "]
    reports.fail(w, ok, [*pieces, (dtype_of(w, index), None, "")], [view.size, index], node)
    return ok


def parameter(w, kernel, plan, k, name, annotation, value):
    """A parameter that takes a BufferView: its array, offset and size are members in the launch plan."""
    from quadrants.lang.frontend.driver import parameter as array_parameter

    if not isinstance(value, BufferView):
        raise QuadrantsRuntimeTypeError(
            f"Argument {name} expects a BufferView, got {type(value).__name__} (parameter of kernel '{kernel.name}')"
        )
    asked = annotation if isinstance(annotation, BufferViewType) else BufferViewType()
    plan[k] = ("instance", type(value))
    at = len(plan)
    plan.append(None)
    acc = array_parameter(w, kernel, plan, at, name, NdarrayType(asked.dtype, 1, boundary=asked.boundary), value._arr)
    plan[at] = ("member", k, "_arr", plan[at])
    numbers = []
    for attr in ("offset", "size"):
        w.words.append(("arg", len(plan), 0))
        plan.append(("member", k, attr, ("scalar", _native.i32)))
        numbers.append(w.b.scalar_param(_native.i32, f"{name}.{attr}"))
    return View(acc, *numbers, name)

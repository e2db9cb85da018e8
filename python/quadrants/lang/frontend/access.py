"""Elements of fields and arrays: shapes, strides, index arithmetic, bounds checks.

A field's shape and strides are constants; so are those of an array captured by the kernel. An array argument has its
extents as values. All of them become one `Acc`, and an access is `load(param, linear(indices, strides, base))`.
"""

from quadrants._native import Value
from quadrants.lang.exception import QuadrantsIndexError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import reports
from quadrants.lang.values import (
    SCALARS,
    SMALL,
    Elem,
    Mat,
    _add,
    _elem_loop,
    as_big,
    describe,
    element,
    from_nested,
    guarded,
    load,
    make,
    shown_as,
)

ALIAS_EXTERNAL, ALIAS_FIELD = 0, 1


@shown_as("field or array")
class Acc:
    """How to reach the elements of one field or array. `comps` holds the offset in scalars of each flattened
    component.
    """

    __slots__ = (
        "base",
        "clamp",
        "comps",
        "dtype",
        "endim",
        "grad",
        "low",
        "m",
        "n",
        "name",
        "ndim",
        "obj",
        "param",
        "shape",
        "strides",
        "what",
        "wide",
        "written", "argument", "layout",
    )  # fmt: skip


def element_dims(element_shape):
    """(n, m, ndim) of an element."""
    if len(element_shape) == 0:
        return 1, 1, 0
    return element_shape[0], (element_shape[1] if len(element_shape) > 1 else 1), len(element_shape)


def of_field(w, field) -> Acc:
    """Acc of a Field; its buffer is bound to the specialisation."""
    field._live()
    a = Acc()
    a.written, a.argument, a.layout = False, None, None
    a.obj, a.name, a.what = field, getattr(field, "_name", "") or "", "Field"
    a.dtype, a.shape, a.ndim = field.dtype, tuple(field.shape), len(field.shape)
    a.n, a.m, a.endim = element_dims(tuple(field.element_shape))
    a.strides, a.comps = tuple(field.strides), tuple(field.element_strides)
    offset = field.offset
    if isinstance(offset, int):
        offset = (offset,)
    a.low = tuple(offset) if offset else None
    a.base = getattr(field, "base", 0) - sum(o * s for o, s in zip(a.low or (), a.strides))
    a.wide = field.buffer.size // a.dtype.size > 2**31 - 1
    a.clamp = False
    a.param = w.bound_buffer(field.buffer, a.dtype, ALIAS_FIELD, a.name or "field")
    a.grad = None
    return a


def of_captured_array(w, array) -> Acc:
    """Acc of an Ndarray that the kernel captures: bound, with constant shape."""
    array._live()
    layout = getattr(array, "_tensor_layout", None)
    shape = tuple(array.shape)
    a = _row_major(array.dtype, tuple(array.element_shape), tuple(shape[k] for k in layout) if layout else shape)
    if layout:
        permute(a, layout)
    a.obj, a.name = array, "array"
    count = 1
    for s in a.shape:
        count *= s
    a.wide = count * a.n * a.m > 2**31 - 1
    a.param = w.bound_buffer(array.buffer, a.dtype, ALIAS_EXTERNAL, "array")
    return a


def permute(acc: Acc, layout) -> None:
    """An array whose axes are stored in the order of `layout`: shape and strides in the order of indices."""
    shape = list(acc.shape)
    for stored, axis in enumerate(layout):
        shape[axis] = acc.shape[stored]
    acc.shape, acc.layout = tuple(shape), layout
    if acc.strides is not None:
        acc.strides = _in_order_of_indices(acc.strides, layout)


def _in_order_of_indices(strides, layout):
    out = list(strides)
    for stored, axis in enumerate(layout):
        out[axis] = strides[stored]
    return tuple(out)


def strides_of(w, acc: Acc):
    """Strides along each axis. Those of an array argument are products of its extents, computed where they are used:
    a value that is made inside a loop or a branch can't be used outside. The builder shares equal ones."""
    if acc.strides is not None:
        return acc.strides
    stored = tuple(acc.shape[axis] for axis in acc.layout) if acc.layout else acc.shape
    b, stride = w.b, acc.n * acc.m
    strides = [stride]
    for s in reversed(stored[1:]):
        stride = b.mul(b.cast(s, w.i64) if acc.wide else s, stride)
        strides.append(stride)
    strides.reverse()
    return _in_order_of_indices(strides, acc.layout) if acc.layout else tuple(strides)


def of_argument(w, name, dtype, ndim, element_shape, wide, clamp) -> Acc:
    """Acc of an array argument; declares its buffer parameter."""
    b = w.b
    param = b.buffer_param(dtype, ndim, ALIAS_EXTERNAL, name)
    extent = w.i64 if wide else w.i32  # one axis of a foreign array may have more than 2**31 - 1 elements
    a = _row_major(dtype, element_shape, tuple(b.shape(param, k, extent) for k in range(ndim)))
    a.obj, a.name, a.wide, a.clamp, a.param = None, name, wide, clamp, param
    return a


def of_gradient(w, acc: Acc) -> Acc:
    """Acc of the gradients of an array argument: the same extents, an address of its own."""
    g = Acc()
    for name in Acc.__slots__:
        setattr(g, name, getattr(acc, name))
    w.words.append(("arg", acc.argument, 1 + acc.ndim))
    g.name, g.argument = f"{acc.name}.grad", None
    g.param = w.b.buffer_param(acc.dtype, 0, ALIAS_EXTERNAL, g.name)
    return g


def _row_major(dtype, element_shape, shape):
    a = Acc()
    a.written, a.argument, a.layout = False, None, None
    a.what, a.dtype, a.shape, a.ndim = "Array", dtype, shape, len(shape)
    a.n, a.m, a.endim = element_dims(element_shape)
    a.comps = tuple(range(a.n * a.m))
    stride, strides = a.n * a.m, []
    known = len(shape) < 2 or all(type(s) is int for s in shape)
    for s in reversed(shape):
        strides.append(stride)
        if known and type(s) is int:
            stride *= s
    a.strides = tuple(reversed(strides)) if known else None  # see strides_of
    a.base, a.low, a.clamp, a.grad = 0, None, False, None
    return a


def indices(w, values, node):
    """Flattens index values: vectors contribute their elements, None and () nothing."""
    out = []
    for v in values:
        kind = type(v)
        if kind is int or kind is Value:
            out.append(v)
        elif v is None or v == ():
            continue
        elif kind is bool:
            out.append(int(v))
        elif kind is tuple or kind is list:
            out.extend(indices(w, v, node))
        elif isinstance(v, Mat) or hasattr(v, "arr"):
            out.extend(element(w, v, k) for k in range(v.n * v.m))
        else:
            raise QuadrantsTypeError(f"indices must be integers, however '{describe(w, v)}' is provided as an index.")
    return out


def at(w, acc: Acc, values, node) -> Elem:
    """The element at `values` (as they stand in the subscript) as a place."""
    index = values if acc.ndim == 1 and len(values) == 1 and type(values[0]) is Value else indices(w, values, node)
    if len(index) != acc.ndim:
        raise QuadrantsIndexError(f"{acc.what} with dim {acc.ndim} accessed with indices of dim {len(index)}")
    for v in index:
        if type(v) is Value:
            if not v.dtype.is_integral:
                raise QuadrantsTypeError(
                    f"{acc.what} indices must be integers, however '{v.dtype}' is provided as an index."
                )
        elif v < 0 and acc.what != "Field":
            raise QuadrantsSyntaxError("Negative indices are not supported in Quadrants kernels.")
    if acc.clamp:
        b = w.b
        index = [b.max(0, b.min(v, b.sub(s, 1))) for v, s in zip(index, acc.shape)]
    ok = reports.bounds(w, acc, index, node) if w.checks else None
    if acc.ndim == 1 and acc.base == 0 and acc.strides[0] == 1 and not acc.wide:
        where = index[0]
    elif index:
        where = w.b.linear(index, strides_of(w, acc), acc.base, acc.wide)
    else:
        where = acc.base
    return Elem(acc, where, acc.n, acc.m, acc.endim, acc.comps, ok)


def extent(w, acc: Acc, k: int):
    """Size along axis k: a Python int for fields."""
    return acc.shape[k]


def shape_of(w, acc: Acc):
    return acc.shape


def atomic(w, name, place, value):
    """Atomic operation on every scalar of an element; the old values. `value` is loaded."""
    acc = place.acc
    acc.written = True

    def one(where, operand):
        old = w.b.atomic(name, acc.param, where, operand)
        if w.debug and name in ("add", "sub") and acc.dtype.is_integral:
            w.op[name](old, w.b.cast(operand, acc.dtype))  # says when it overflows
        return old

    if place.ndim == 0:
        if type(value) not in SCALARS:
            raise QuadrantsTypeError(f"cannot combine '{describe(w, value)}' into an element of type '{acc.dtype}'")
        return guarded(w, place.ok, acc.dtype, lambda: one(_add(w, place.index, place.comps[0]), value))
    if type(value) not in SCALARS:
        if type(value) in (list, tuple):
            value = from_nested(w, value)
        if (value.n, value.m, value.ndim) != (place.n, place.m, place.ndim):
            raise QuadrantsTypeError(f"cannot combine '{describe(w, value)}' into '{describe(w, place)}'")
    whole = type(value) in SCALARS
    if len(place.comps) > SMALL:
        value = value if whole else as_big(w, value)
        _elem_loop(w, place, lambda k, where: one(where, value if whole else w.b.array_get(value.arr, k)))
        return load(w, place)
    parts = [
        guarded(
            w,
            place.ok,
            acc.dtype,
            lambda c=c, k=k: one(_add(w, place.index, c), value if whole else value.data[k]),
        )
        for k, c in enumerate(place.comps)
    ]
    return make(w, place.n, place.m, place.ndim, parts)

"""`qd.simt.Tile16x16` and `Tile32x32` inside kernels: square matrices in the registers of a subgroup.

Lane k of the subgroup has row k as variables of its own; what other rows are needed for comes by shuffles, so all
lanes must reach these operations together. Lanes past the last row take part and hold nothing that counts.
"""

import ast

from quadrants._native import Value
from quadrants.lang.exception import QuadrantsIndexError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import access
from quadrants.lang.frontend.calls import PLAIN, _made
from quadrants.lang.frontend.table import ev
from quadrants.lang.frontend.threads import INDEX, LANES, lane, need, shuffled
from quadrants.lang.util import cook_dtype
from quadrants.lang.values import SCALARS, Elem, describe, dtype_of, load, store
from quadrants.simt import KINDS, Tile16x16, Tile32x32, outer


# -------------------------------------------------------------------------------------------------- values of a kernel
class Tile:
    """A tile: `row` holds this lane's row as variables. `named` says that something refers to it already, so that a
    second name gets a copy."""

    __slots__ = ("dtype", "named", "row", "size")
    what = "Tile"

    def __init__(self, w, size, dtype, values):
        self.size, self.dtype, self.named = size, dtype, False
        self.row = [w.b.var(dtype, v) for v in values]

    def __str__(self):
        return f"Tile{self.size}x{self.size}"

    def kernel_attribute(self, w, attr):
        """SIZE and the methods."""
        if attr == "SIZE":
            return self.size
        if attr not in _METHODS:
            raise AttributeError(f"a {self} has no attribute '{attr}' inside kernels")
        return Method(f"{self}.{attr}", _METHODS[attr], self)

    def kernel_bind(self, w):
        """What a new name for it is bound to."""
        if self.named:
            return Tile(w, self.size, self.dtype, [w.get(v) for v in self.row]).kernel_bind(w)
        self.named = True
        return self

    def kernel_subscript(self, w, node):
        """t[:] is all of it."""
        if type(node.slice) is not ast.Slice or any((node.slice.lower, node.slice.upper, node.slice.step)):
            raise QuadrantsSyntaxError(f"a {self} can be indexed as a whole only: write t[:]")
        return self

    def kernel_assign(self, w, value):
        """t[:] = part of an array, or another tile."""
        self.named = True
        if type(value) is Part:
            return value.transfer(w, self.size, lambda k, place: w.b.set(self.row[k], load(w, place)))
        if type(value) is not Tile or value.size != self.size:
            raise QuadrantsTypeError(
                f"a {self} takes a part of an array, such as a[i : i + {self.size}, j : j + {self.size}], or another "
                f"{self}, found '{describe(w, value)}'"
            )
        for to, of in zip(self.row, [w.get(v) for v in value.row]):
            w.b.set(to, of)

    def kernel_update(self, w, op, value):
        """t -= qd.outer(a, b), and +=."""
        self.named = True
        if op not in (ast.Sub, ast.Add) or type(value) is not Outer:
            raise QuadrantsSyntaxError(
                f"a {self} can be changed by `t -= qd.outer(a, b)` and `t += qd.outer(a, b)` only, found an update "
                f"with '{describe(w, value)}'"
            )
        change, o = w.bin[op], w.op
        a, b = (w.b.cast(x, self.dtype) for x in (value.a, value.b))
        for k, v in enumerate(self.row):
            w.b.set(v, change(w.get(v), o["mul"](a, _of_lane(w, b, k))))


class Outer:
    """`qd.outer(a, b)`: lane i has a[i] and b[i]."""

    __slots__ = ("a", "b")
    what = "Outer product"

    def __init__(self, a, b):
        self.a, self.b = a, b


class Method:
    """A function of ours that is an attribute, with what it belongs to."""

    __slots__ = ("function", "name", "owner")

    def __init__(self, name, function, owner):
        self.name, self.function, self.owner = name, function, owner

    def kernel_call(self, w, *args, **kwargs):
        """Calls it with the owner in front."""
        return _made(self.name, self.function, w, (self.owner, *args), kwargs)


def _refuse(kind):
    wrong = kind.refusal()
    if wrong is not None:
        raise wrong


def _new(w, kind, value, dtype):
    _refuse(kind)
    need(w, str(kind))
    dt = w.default_fp if dtype is None else cook_dtype(dtype)
    at = lane(w)
    values = [w.b.cast(value(at, k), dt) for k in range(kind.SIZE)]
    return Tile(w, kind.SIZE, dt, values)


def zeros(w, kind, *, dtype=None):
    return _new(w, kind, lambda at, k: 0, dtype)


def eye(w, kind, *, dtype=None):
    return _new(w, kind, lambda at, k: w.op["eq"](at, k), dtype)


def _of_kind(kind, w, attr):
    if attr == "SIZE":
        return kind.SIZE
    if attr not in _MAKERS:
        raise AttributeError(f"qd.simt.{kind} has no attribute '{attr}' inside kernels")
    return Method(f"qd.simt.{kind}.{attr}", _MAKERS[attr], kind)


_MAKERS = {"zeros": zeros, "eye": eye}


# ------------------------------------------------------------------------------------------------------- parts of arrays
class Part:
    """a[i0:i1, j0:j1], maybe with indices in front: a place and source of tiles. Rows and columns past the bounds, of the
    slice or of the array, are left alone."""

    __slots__ = ("acc", "before", "columns", "node", "rows")
    what = "Part of an array"

    def __init__(self, acc, before, rows, columns, node):
        self.acc, self.before, self.rows, self.columns, self.node = acc, before, rows, columns, node

    def kernel_assign(self, w, value):
        """a[i0:i1, j0:j1] = t."""
        if type(value) is not Tile:
            raise QuadrantsSyntaxError(
                f"a part of {_called(self.acc)} can be assigned a tile only (qd.simt.Tile16x16, Tile32x32), found "
                f"'{describe(w, value)}'"
            )
        value.named = True
        self.transfer(w, value.size, lambda k, place: store(w, place, w.get(value.row[k])))

    def transfer(self, w, size, move):
        """move(k, place) for each column k of this lane's row that exists."""
        b, o = w.b, w.op
        row, inside = _row(w, self.acc, self.rows, size)
        count = _difference(w, _end(w, self.acc, -1, self.columns[1]), self.columns[0])
        b.when(inside)
        place = self._places(w, row)
        if type(count) is int:
            for k in range(min(size, count)):
                move(k, place(k))
        else:
            b.when(o["ge"](count, size))  # whole rows: nothing to ask between the accesses
            for k in range(size):
                move(k, place(k))
            b.other()
            for k in range(size - 1):
                b.when(o["gt"](count, k))
                move(k, place(k))
                b.end()
            b.end()
        b.end()

    def _places(self, w, row):
        """The element of column k as a function of k."""
        acc, first = self.acc, self.columns[0]
        step = access.strides_of(w, acc)[-1]
        if w.checks or type(step) is not int:
            return lambda k: access.at(w, acc, (*self.before, row, _sum(w, first, k)), self.node)
        start = access.at(w, acc, (*self.before, row, first), self.node)
        return lambda k: Elem(acc, start.index, 1, 1, 0, (start.comps[0] + k * step,), None)


class Column:
    """a[i0:i1, j]: a vector, of which lane k has element k."""

    __slots__ = ("acc", "before", "column", "node", "rows")
    what = "Column of an array"

    def __init__(self, acc, before, rows, column, node):
        self.acc, self.before, self.rows, self.column, self.node = acc, before, rows, column, node

    def kernel_assign(self, w, value):
        """a[i0:i1, j] = v."""
        if type(value) not in SCALARS:
            raise QuadrantsTypeError(
                f"a column of {_called(self.acc)} takes one scalar of each lane, found '{describe(w, value)}'"
            )
        self._within(w, lambda place: store(w, place, value))

    def value(self, w):
        """This lane's element, 0 past the bounds."""
        out = w.b.var(self.acc.dtype, 0)
        self._within(w, lambda place: w.b.set(out, load(w, place)))
        return w.get(out)

    def _within(self, w, move):
        row, inside = _row(w, self.acc, self.rows, LANES)
        w.b.when(inside)
        move(access.at(w, self.acc, (*self.before, row, self.column), self.node))
        w.b.end()


def _called(acc):
    return (
        f"the {acc.what.lower()} '{acc.name}'" if acc.name not in ("", acc.what.lower()) else f"the {acc.what.lower()}"
    )


def _both_known(x, y):
    return type(x) is int and type(y) is int


def _sum(w, x, y):
    return x + y if _both_known(x, y) else w.op["add"](x, y)


def _difference(w, x, y):
    return x - y if _both_known(x, y) else w.op["sub"](x, y)


def _end(w, acc, axis, end):
    """The end of a slice or of the array's axis, whichever comes first."""
    last = acc.shape[axis]
    if acc.low is not None:
        last = _sum(w, last, acc.low[axis])
    return min(end, last) if _both_known(end, last) else w.op["min"](end, last)


def _row(w, acc, rows, size):
    """This lane's row, and whether it exists."""
    at, o = lane(w), w.op
    row = o["add"](rows[0], at)
    inside = o["lt"](row, _end(w, acc, -2, rows[1]))
    return row, inside if size == LANES else o["logical_and"](inside, o["lt"](at, size))


def _bound(w, node, what):
    """A bound of a slice: an int, or an integer of 32 or 64 bits."""
    if node is None:
        raise QuadrantsSyntaxError(f"the {what} of a tile need both bounds, such as i : i + 16")
    v = ev(w, node)
    if type(v) in (int, bool):
        return int(v)
    if type(v) is not Value or not v.dtype.is_integral:
        raise QuadrantsTypeError(f"the {what} of a tile must be integers, found '{describe(w, v)}'")
    known = w.known(v)
    if known is not None:
        return int(known)
    return v if v.dtype in (w.i32, w.i64) else w.b.cast(v, w.i32)


def _slice(w, node, what):
    if node.step is not None:
        raise QuadrantsSyntaxError(f"the {what} of a tile take no step")
    return _bound(w, node.lower, what), _bound(w, node.upper, what)


def part_of(w, acc, node):
    """acc[...] with slices: a part, or a column, whose value it is unless it is assigned to."""
    wrong = Tile16x16.refusal()
    if wrong is not None:
        raise QuadrantsSyntaxError(
            f"{_called(acc)} can be sliced for tiles only (qd.simt.Tile16x16, Tile32x32), and {wrong}"
        )
    need(w, "Tile16x16")
    items = node.slice.elts if type(node.slice) is ast.Tuple else [node.slice]
    if acc.endim:
        raise QuadrantsTypeError(
            f"tiles are parts of arrays of scalars, {_called(acc)} has elements of {acc.n}x{acc.m}"
        )
    *front, rows, last = items if len(items) > 1 else [None, None]
    if type(rows) is not ast.Slice or any(type(e) is ast.Slice for e in front):
        raise QuadrantsSyntaxError(
            "a part of an array is a[i0:i1, j0:j1], or a column a[i0:i1, j], with indices of other axes in front"
        )
    before = access.indices(w, [ev(w, e) for e in front], node)
    if len(before) + 2 != acc.ndim:
        raise QuadrantsIndexError(f"{acc.what} with dim {acc.ndim} accessed with indices of dim {len(before) + 2}")
    rows = _slice(w, rows, "rows")
    if type(last) is ast.Slice:
        return Part(acc, tuple(before), rows, _slice(w, last, "columns"), node)
    (column,) = access.indices(w, [ev(w, last)], node) or (None,)
    found = Column(acc, tuple(before), rows, column, node)
    return found if type(node.ctx) is ast.Store else found.value(w)


# ------------------------------------------------------------------------------------------------------------ operations
def _of_lane(w, x, k):
    """The value that lane k has."""
    return x if w.known(x) is not None else shuffled(w, x, k, INDEX)


def outer_(w, a, b):
    """Lane i gives a[i] and b[i]."""
    _refuse(Tile16x16)
    need(w, "Tile16x16")
    for x in (a, b):
        if type(x) not in SCALARS:
            raise QuadrantsTypeError(
                f"qd.outer takes columns such as a[i : i + 16, j], one scalar of each lane, found '{describe(w, x)}'. Of "
                "vectors of one thread: x.outer_product(y)."
            )
    return Outer(*(x if type(x) is Value else w.b.cast(x, dtype_of(w, x)) for x in (a, b)))


def _real(tile, what):
    if not tile.dtype.is_real:
        raise QuadrantsTypeError(f"{what} works on tiles of real numbers, this one is of {tile.dtype}")


def eye_(w, tile):
    at = lane(w)
    tile.named = True
    for k, v in enumerate(tile.row):
        w.b.set(v, w.b.cast(w.op["eq"](at, k), tile.dtype))


def cholesky_(w, tile, eps):
    """The lower triangular L of tile = L @ L.T in its place, 0 above; squares on the diagonal are at least eps. Column by
    column: scaled by its diagonal, then taken from all columns to its right."""
    b, o, at = w.b, w.op, lane(w)
    _real(tile, "cholesky_")
    tile.named = True
    row, zero, least = [w.get(v) for v in tile.row], b.cast(0, tile.dtype), b.cast(eps, tile.dtype)
    for k in range(tile.size):
        diagonal = b.unary("sqrt", o["max"](_of_lane(w, row[k], k), least))
        below = b.select(o["gt"](at, k), o["truediv"](row[k], diagonal), zero)
        row[k] = b.select(o["eq"](at, k), diagonal, below)
        for j in range(k + 1, tile.size):
            row[j] = o["sub"](row[j], o["mul"](row[k], _of_lane(w, row[k], j)))
    for v, x in zip(tile.row, row):
        b.set(v, x)


def solve_triangular_(w, tile, B, lower=True):
    """X of X @ tile.T = B in the place of B, for a lower triangular tile: each lane solves for its own row."""
    b, o = w.b, w.op
    if type(B) is not Tile or B.size != tile.size:
        raise QuadrantsTypeError(f"solve_triangular_ takes a {tile}, found '{describe(w, B)}'")
    if lower is not True:
        raise QuadrantsSyntaxError("solve_triangular_ works with lower triangular tiles (lower=True) only")
    _real(tile, "solve_triangular_"), _real(B, "solve_triangular_")
    tile.named = B.named = True
    factor, x = [b.cast(w.get(v), B.dtype) for v in tile.row], [w.get(v) for v in B.row]
    for k in range(tile.size):
        x[k] = o["truediv"](x[k], _of_lane(w, factor[k], k))
        for j in range(k + 1, tile.size):
            x[j] = o["sub"](x[j], o["mul"](x[k], _of_lane(w, factor[k], j)))
    for v, e in zip(B.row, x):
        b.set(v, e)


_METHODS = {"eye_": eye_, "cholesky_": cholesky_, "solve_triangular_": solve_triangular_}
PLAIN[outer] = outer_
KINDS.append(_of_kind)  # how attributes of Tile16x16 and Tile32x32 are read inside kernels

__all__ = ["Tile", "Tile32x32", "part_of"]

"""Loops. A `for` that stands at the top level (static ifs and inlined functions are transparent) is a `parallel`;
under a run-time loop or branch, or with `serialize=True`, it is nested `loop`s. Loops over static things are unrolled
here.
"""

import ast

from quadrants import _native
from quadrants._native import Value
from quadrants.lang.exception import QuadrantsIndexError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import errors
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.conditions import truth
from quadrants.lang.frontend.exprs import iterate
from quadrants.lang.frontend.nodes import Node
from quadrants.lang.frontend.source import assigned
from quadrants.lang.frontend.stmts import bind_target, is_static
from quadrants.lang.frontend.structs import AccStruct
from quadrants.lang.frontend.table import STMT, ev, ref, run
from quadrants.lang.frontend.views import View
from quadrants.lang.values import Mat, MatVar, RecVar, describe, shown_as, variable


class Frame:
    """An open loop: what `break` and `continue` leave."""

    __slots__ = ("break_label", "continue_label", "is_parallel", "is_static", "runtime")

    def __init__(self, is_static=False, is_parallel=False, break_label=-1, continue_label=-1, runtime=0):
        self.is_static, self.is_parallel = is_static, is_parallel
        self.break_label, self.continue_label, self.runtime = break_label, continue_label, runtime


@shown_as("range")
class Range:
    """A box of indices: lo, hi per axis, and the order of the axes from outermost to innermost."""

    __slots__ = ("hi", "lo", "order", "what")

    def __init__(self, lo, hi, order=None, what="range"):
        self.lo, self.hi, self.order, self.what = lo, hi, order, what

    def __iter__(self):
        """For `list(range(3))` and other Python functions that are called while compiling."""
        if self.what != "range" or not all(type(k) is int for k in (*self.lo, *self.hi)):
            raise QuadrantsTypeError(
                f"the bounds of a {self.what} that is used as a value must be known at compile time"
            )
        return iter(range(self.lo[0], self.hi[0]))

    def static_items(self, w):
        """All index tuples (plain ints for `range`); QuadrantsTypeError when a bound isn't known."""
        bounds = [(w.known(a), w.known(b)) for a, b in zip(self.lo, self.hi)]
        if any(type(k) is not int for pair in bounds for k in pair):
            raise QuadrantsTypeError(f"the bounds of a static {self.what} must be integers known at compile time")
        if self.what == "range":
            return list(range(*bounds[0]))
        order = self.order or range(len(bounds))
        items = [()]
        for axis in order:
            items = [t + (k,) for t in items for k in range(*bounds[axis])]
        if self.order:
            back = [list(self.order).index(k) for k in range(len(bounds))]
            items = [tuple(t[k] for k in back) for t in items]
        return items if len(bounds) > 1 else [t[0] for t in items]

    def kernel_attribute(self, w, attr):
        raise AttributeError(f"a {self.what} has no attribute '{attr}' inside kernels")


@shown_as("grouped range")
class Grouped:
    """`qd.grouped(x)`: the index as one vector."""

    __slots__ = ("inner",)

    def __init__(self, inner):
        self.inner = inner

    def static_items(self, w):
        return [
            Mat(len(t), 1, 1, list(t)) for t in (t if type(t) is tuple else (t,) for t in self.inner.static_items(w))
        ]

    def kernel_attribute(self, w, attr):
        raise AttributeError(f"qd.grouped has no attribute '{attr}'")


def bound(w, v, what):
    """A loop bound: an int, or an integer Value."""
    if type(v) is Value:
        if not v.dtype.is_integral:
            _no_bound(v.dtype, what)
        return v
    if type(v) is int or type(v) is bool:
        v = int(v)
        return v if w.ip_min <= v <= w.ip_max else w.b.const(v, w.i64)
    return _no_bound(describe(w, v), what)


def _no_bound(found, what):
    takes = "Every argument of ndrange should be an integer scalar or a tuple/list of (int, int)"
    if what != "ndrange":
        takes = f"`{what}` takes integers"
    raise QuadrantsTypeError(f"{takes}, found '{found}'. Consider qd.cast(x, int).")


_FAR = 2**62  # iterations that nobody waits for


def _axis(w, lo, hi):
    """Bounds of an axis as the signed integers that loops have, and what makes their index the one of the program (None:
    nothing). u32 grows to i64; unsigned 64-bit bounds give an unsigned index."""
    given = [v.dtype if type(v) is Value else None for v in (lo, hi)]
    if w.u64 not in given:
        return *(w.b.cast(v, w.i64) if t is _native.u32 else v for v, t in zip((lo, hi), given)), None
    known = w.known(lo)
    if any(t is not None and t.is_signed for t in given) or (known is not None and known < 0):
        return _signed(w, lo), _signed(w, hi), None
    if known is not None and known < _FAR:
        return w.b.const(known, w.i64), _signed(w, hi), lambda i: w.b.cast(i, w.u64)
    lo, hi, zero = w.b.cast(lo, w.u64), w.b.cast(hi, w.u64), w.b.const(0, w.i64)
    count = w.b.select(w.b.lt(lo, hi), _signed(w, w.b.sub(hi, lo)), zero)
    return zero, count, lambda i: w.b.add(w.b.cast(i, w.u64), lo)


def _signed(w, v):
    """A bound as i64; one beyond its range is its end, which no loop gets to."""
    v = w.b.cast(v, w.i64) if type(v) is not Value or v.dtype is not w.u64 else v
    if v.dtype is not w.u64:
        return v
    cut = w.b.cast(v, w.i64)
    return w.b.select(w.b.lt(cut, 0), w.b.const(2**63 - 1, w.i64), cut)


def for_(w, node):
    if node.orelse:
        raise QuadrantsSyntaxError("'else' clause for 'for' not supported in Quadrants kernels")
    _covered(w, node, _for)


def _covered(w, node, loop):
    """Writes a loop, between the counts of kernel coverage when that is on."""
    if w.coverage is None:
        loop(w, node)
        return
    w.coverage.open_loop(w, node)
    loop(w, node)
    w.coverage.close_loop(w, node)


def _for(w, node):
    it = node.iter
    while type(it) is ast.IfExp and is_static(w, it.test):
        it = it.body if ev(w, it.test) else it.orelse
    config, w.loop_config = w.loop_config, None
    if is_static(w, it):
        _unroll(w, node, it)
        return
    over = ref(w, it)
    if type(over) is AccStruct:
        over = over.first(w)
    elif type(over) is View:
        over = Range([0], [over.size])
    kind = type(over)
    if kind is Range:
        _range(w, node, over, config)
    elif kind is Grouped:
        inner = over.inner if type(over.inner) is Range else _box(w, over.inner)
        if inner.what != "ndrange":  # whose targets may hide a name, as without qd.grouped
            _check_shadow(w, node.target)
        _run(w, node, inner, config, lambda index: _bind_group(w, node, index))
    elif kind is Node:
        _check_arity(node.target, len(over.shape))
        _check_shadow(w, node.target)
        _run(w, node, node_box(over), config, lambda index: _bind(w, node.target, index))
    elif kind is Acc:
        _check_arity(node.target, over.ndim)
        _check_shadow(w, node.target)
        _run(w, node, _box(w, over), config, lambda index: _bind(w, node.target, index))
    else:
        raise TypeError(
            f"Cannot loop over the object {describe(w, over)} in Quadrants scope. Loop over range, ndrange, "
            "a field, an array, or qd.static(...) of something known at compile time."
        )


def node_box(over):
    """The box of a loop over a node of a field tree."""
    return Range([0] * len(over.shape), list(over.shape), None, "struct-for")


def _box(w, acc):
    if type(acc) is not Acc:
        raise TypeError(f"Cannot loop over the object {describe(w, acc)} in Quadrants scope.")
    low = acc.low or (0,) * acc.ndim
    high = [s if o == 0 else s + o for s, o in zip(acc.shape, low)]
    return Range(list(low), high, _stored_order(acc), "struct-for")


def _stored_order(acc):
    """The axes from outermost to innermost in memory, where that isn't their own order: neighbours in memory are then
    neighbours of the loop."""
    if acc.layout is not None:
        return list(acc.layout)
    strides = acc.strides
    if strides is None or all(a >= b for a, b in zip(strides, strides[1:])):
        return None
    return sorted(range(len(strides)), key=lambda k: -strides[k])


def _names(target):
    if type(target) is ast.Name:
        return [target.id]
    if type(target) in (ast.Tuple, ast.List) and all(type(t) is ast.Name for t in target.elts):
        return [t.id for t in target.elts]
    raise QuadrantsSyntaxError("a loop target must be a name or names")


def _check_arity(target, ndim):
    count = len(_names(target))
    if count != ndim and not (ndim == 0 and _names(target) == ["_"]):
        raise QuadrantsIndexError(
            f"Number of struct-for indices does not match loop variable dimensionality ({count} != {ndim}). "
            "Maybe you wanted to use `for I in qd.grouped(x)`?"
        )


def _check_shadow(w, target):
    for name in _names(target):
        if name in w.vars and name != "_":
            raise QuadrantsSyntaxError(
                f"Variable '{name}' is already declared in the outer scope and cannot be used as loop variable"
            )


def _range(w, node, over, config):
    names = _names(node.target)
    if over.what == "range":
        if len(names) != 1 or type(node.target) is not ast.Name:
            raise QuadrantsSyntaxError("Loop over a range takes one target")
        _check_shadow(w, node.target)
    elif len(names) != len(over.lo):
        raise QuadrantsSyntaxError(
            f"Ndrange for loop with number of the loop variables not equal to the dimension of the ndrange is not supported: "
            f"{len(names)} names, {len(over.lo)} axes"
        )
    _run(w, node, over, config, lambda index: _bind(w, node.target, index))


def _bind(w, target, index):
    names = _names(target)
    stores, forced = w.source.stores, w.forced
    for name, v in zip(names, index):
        w.declare(name, variable(w, v) if name in stores or name in forced else v)


def _bind_group(w, node, index):
    if type(node.target) is not ast.Name:
        raise QuadrantsSyntaxError(f"Group for should have 1 loop target, found {len(_names(node.target))}")
    v = Mat(len(index), 1, 1, list(index))
    name = node.target.id
    w.declare(name, variable(w, v) if name in w.source.stores or name in w.forced else v)


def _run(w, node, box, config, bind):
    """Opens the loop over a box, binds the index, walks the body."""
    serialize = config is not None and (config.get("serialize") or config.get("parallelize") == 1)
    axes = [_axis(w, *pair) for pair in zip(box.lo, box.hi)]
    lo, hi = [axis[0] for axis in axes], [axis[1] for axis in axes]
    if any(axis[2] for axis in axes):
        bind = _as_written(axes, bind)
    order = list(box.order) if box.order else list(range(len(lo)))
    if serialize and box.what == "struct-for":
        order = list(range(len(lo)))  # as the program reads
    if w.runtime == 0 and not serialize and lo:
        _parallel(w, node, lo, hi, order, config, bind)
    else:
        _serial(w, node, lo, hi, order, bind)


def _as_written(axes, bind):
    """`bind` for an index of the loop instead of one of the program."""
    return lambda index: bind([i if f is None else f(i) for i, (_, _, f) in zip(index, axes)])


def _parallel(w, node, lo, hi, order, config, bind):
    b = w.b
    block_dim = (config or {}).get("block_dim") or w.block_dim
    axes = b.parallel([lo[k] for k in order], [hi[k] for k in order], block_dim)
    if w.section or (config and config["name"]):
        b.note_loop((config or {}).get("name") or "", w.section)
    index = [None] * len(lo)
    for k, v in zip(order, axes):
        index[k] = v
    w.team, w.shared_bytes = block_dim, 0
    w.runtime += 1
    label = -1
    if node.has_continue or w.debug:
        b.block()
        label = w.labels
        w.labels += 1
    w.shared = _vectors(w.vars.values())
    _body(w, node, Frame(False, True, -1, label), index, bind)
    w.shared, w.team = frozenset(), None
    if label >= 0:
        b.end()
        w.labels -= 1
    b.end()
    w.runtime -= 1


def _vectors(variables):
    """Ids of the vectors and matrices among variables and their members: all iterations of the loop share them."""
    found = set()
    for v in variables:
        if type(v) is MatVar:
            found.add(id(v))
        elif type(v) is RecVar:
            found |= _vectors(v.members.values())
    return found


def _serial(w, node, lo, hi, order, bind):
    b = w.b
    index = [None] * len(lo)
    outer = w.labels
    for k in order:
        index[k] = b.loop(lo[k], hi[k])
        w.labels += 1
    w.runtime += 1
    label, opened = -1, False
    if not order:  # a 0-D box runs its body once
        b.block()
        w.labels += 1
        label = outer
    elif node.has_continue:
        b.block()
        label, opened = w.labels, True
        w.labels += 1
    _body(w, node, Frame(False, False, outer, label), index, bind)
    if opened:
        b.end()
        w.labels -= 1
    for _ in range(max(len(order), 1)):
        b.end()
        w.labels -= 1
    w.runtime -= 1


def _body(w, node, frame, index, bind):
    w.loops.append(frame)
    mark = len(w.undo)
    bind(index)
    if w.coverage is not None:
        w.coverage.branch(w, node, True)
    run(w, node.body)
    w.close_scope(mark)
    w.dead = False
    w.loops.pop()


def _unroll(w, node, it):
    for keyword in it.keywords:
        raise QuadrantsSyntaxError(f"qd.static takes no keyword '{keyword.arg}'")
    if any(is_static(w, a) for a in it.args):
        raise QuadrantsSyntaxError("'qd.static' cannot be nested")
    items = iterate(w, ev(w, it), "static loop")
    limit = w.options.get("unrolling_limit", 32)
    if limit and len(items) > limit:
        text = (
            f"You are unrolling more than {limit} iterations, so the compile time may be extremely long. A loop without "
            "qd.static compiles faster; qd.init(unrolling_limit=0) switches this warning off."
        )
        errors.warn(w, text, node)
    w.loops.append(Frame(True, runtime=w.runtime))
    stores = assigned(node.body)  # the same name may be a variable elsewhere: here it stays known
    for item in items:
        mark = len(w.undo)
        bind_target(w, node.target, item, stores)
        if w.coverage is not None:
            w.coverage.branch(w, node, True)
        run(w, node.body)
        w.close_scope(mark)
        if w.returned or (w.dead and w.jump is None):  # a return
            break
        w.dead = False
        jump, w.jump = w.jump, None
        if jump == "break":
            break
    w.loops.pop()


def while_(w, node):
    if node.orelse:
        raise QuadrantsSyntaxError("'else' clause for 'while' not supported in Quadrants kernels")
    _covered(w, node, _while)


def _while(w, node):
    b = w.b
    b.repeat()
    label = w.labels
    w.labels += 1
    w.runtime += 1
    mark = len(w.undo)
    cond = truth(w, ev(w, node.test), "while")
    if cond is not True:
        b.when(b.logical_not(cond))
        b.leave(0)
        b.end()
    inner = -1
    if node.has_continue:
        b.block()
        inner = w.labels
        w.labels += 1
    w.loops.append(Frame(False, False, label, inner))
    if w.coverage is not None:
        w.coverage.branch(w, node, True)
    run(w, node.body)
    w.loops.pop()
    w.close_scope(mark)
    w.dead = False
    if inner >= 0:
        b.end()
        w.labels -= 1
    b.end()
    w.labels -= 1
    w.runtime -= 1


STMT.update({ast.For: for_, ast.While: while_})

"""`qd.simt` inside kernels: the threads of a block. The core knows ten operations (docs/ir.md, "Threads"); everything
else is made of them here, while the kernel is walked. Handlers take the walker and values.
"""

from quadrants import _native
from quadrants._native import Value
from quadrants.lang.elementwise import map1
from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import errors
from quadrants.lang.frontend.calls import PLAIN, call_with_values
from quadrants.lang.values import MATRICES, SCALARS, describe, dtype_of
from quadrants.simt import block, grid, refusal, subgroup, warp

U32, F32 = _native.u32, _native.f32
LANES, LOG2_LANES = 32, 5
DEFAULT_BLOCK = 128
ALL_OF, ANY_OF, HOW_MANY, SAME, WHICH = 0, 1, 2, 2, 3  # kinds of `barrier_vote` and `vote`
INDEX, UP, DOWN, XOR = range(4)  # kinds of `shuffle`
OPERATORS = {"add": "add", "mul": "mul", "min": "min", "max": "max", "and": "bit_and", "or": "bit_or", "xor": "bit_xor"}


def need(w, what):
    """Whether `qd.simt.<what>` can stand here; gives the loop a block size when it has none."""
    wrong = refusal(what)
    if wrong is not None:
        raise wrong
    if w.real is not None:  # the calls of a real function see to it
        w.real.threads = True
        return
    if w.team is None:
        raise QuadrantsSyntaxError(
            f"qd.simt.{what} works with the threads of a block: it must stand inside the outermost loop of a kernel, "
            "and that loop must not be serialized"
        )
    if not w.b.block_size():
        w.b.block_size(DEFAULT_BLOCK)


def scalar(w, x, what):
    if type(x) not in SCALARS:
        raise QuadrantsTypeError(f"qd.simt.{what} takes a scalar, found '{describe(w, x)}'")
    return x if type(x) is Value else w.b.cast(x, dtype_of(w, x))


def each(w, what, f, x):
    """f of a scalar, or of every component of a vector or matrix."""
    if type(x) in MATRICES:
        return map1(w, f, x)
    return f(scalar(w, x, what))


def lane(w):
    return w.op["bit_and"](w.b.together("thread", 0, None), LANES - 1)


def bits(w, x):
    """An i32 as the u32 that the language gives for masks."""
    return w.b.bit_cast(x, U32)


def shuffled(w, value, by, kind, mask=None):
    return w.b.together("shuffle", kind, mask, value, by)


def apply(w, op, x, y):
    """x op y in the type of x; `op` is a name of OPERATORS or a function of the program."""
    r = w.op[OPERATORS[op]](x, y) if type(op) is str else call_with_values(w, op, (x, y))
    return w.b.cast(r, x.dtype)


def known_size(w, log2, what):
    k = w.known_int(log2, f"log2_size of qd.simt.subgroup.{what}")
    if not 0 <= k <= LOG2_LANES:
        raise QuadrantsSyntaxError(f"qd.simt.subgroup.{what}: log2_size must be 0 to {LOG2_LANES}, found {k}")
    return k


# -------------------------------------------------------------------------------------------------- reductions and scans
def reduce_lanes(w, op, v, log2):
    """Over every 2**log2 lanes; all of them get it."""
    for k in range(log2):
        v = apply(w, op, v, shuffled(w, v, 1 << k, XOR))
    return v


def place_in_tile(w, log2):
    return w.op["bit_and"](lane(w), (1 << log2) - 1)


def choose(w, cond, x, y):
    return w.b.select(cond, x, y)


def scan_lanes(w, op, v, log2):
    """Inclusive, over every 2**log2 lanes."""
    at = place_in_tile(w, log2)
    for k in range(log2):
        other = shuffled(w, v, 1 << k, UP)
        v = choose(w, w.op["ge"](at, 1 << k), apply(w, op, other, v), v)
    return v


def identity(w, op, dt):
    if op in ("add", "or", "xor"):
        return w.b.cast(0, dt)
    if op == "mul":
        return w.b.cast(1, dt)
    if op == "and":
        return w.op["invert"](w.b.cast(0, dt))
    if dt.is_real:
        return w.b.cast(float("inf") if op == "min" else float("-inf"), dt)
    return w.b.const(int(dt.max if op == "min" else dt.min), dt)


def exclusive_lanes(w, op, v, log2):
    before = shuffled(w, scan_lanes(w, op, v, log2), 1, UP)
    return choose(w, w.op["eq"](place_in_tile(w, log2), 0), identity(w, op, v.dtype), before)


def segmented(w, op, v, head_flag, log2):
    """The lane of a head gets the reduction of its segment: up to the next head, or the end of the tile."""
    o, at = w.op, lane(w)
    heads = bits(w, w.b.together("vote", WHICH, None, head_flag))
    behind = o["bit_and"](heads, mask_of(w, "gt", at))
    tile_end = o["add"](o["bit_or"](at, (1 << log2) - 1), 1)
    end = o["min"](w.b.unary("ctz", w.b.bit_cast(behind, w.i32)), tile_end)
    for k in range(log2):
        other = shuffled(w, v, 1 << k, DOWN)
        v = choose(w, o["lt"](o["add"](at, 1 << k), end), apply(w, op, v, other), v)
    return v


def sorted_pair(w, key, value, log2):
    """Bitonic: ascending keys over every 2**log2 lanes."""
    o, at = w.op, lane(w)
    for size in range(1, log2 + 1):
        for step in reversed(range(size)):
            k, v = shuffled(w, key, 1 << step, XOR), shuffled(w, value, 1 << step, XOR)
            lower = o["eq"](o["bit_and"](at, 1 << step), 0)
            if size < log2:
                rising = o["eq"](o["bit_and"](at, 1 << size), 0)
                lower = o["eq"](lower, rising)
            swap = choose(w, lower, o["lt"](k, key), o["gt"](k, key))
            key, value = choose(w, swap, k, key), choose(w, swap, v, value)
    return key, value


def mask_of(w, relation, at):
    """Bits of the lanes that stand in the relation to lane `at`, also for a number that no lane has."""
    o, at = w.op, w.b.cast(at, U32)
    one = w.b.const(1, U32)
    inside = o["lt"](at, LANES)
    below = choose(w, inside, o["sub"](o["shl"](one, at), one), w.b.const(0xFFFFFFFF, U32))
    mine = choose(w, inside, o["shl"](one, at), w.b.const(0, U32))
    if relation == "lt":
        return below
    if relation == "eq":
        return mine
    at_most = o["bit_or"](below, mine)
    return {"le": at_most, "gt": o["invert"](at_most), "ge": o["invert"](below)}[relation]


def _tiled(name, f, parameters="value"):
    """Handlers of `name` for the whole subgroup and of `name_tiled`. f(w, log2, *values)."""

    def whole(w, *values):
        need(w, f"subgroup.{name}")
        return f(w, LOG2_LANES, *values)

    def tiled(w, *values):
        need(w, f"subgroup.{name}_tiled")
        return f(w, known_size(w, values[-1], f"{name}_tiled"), *values[:-1])

    PLAIN[getattr(subgroup, name)] = _taking(parameters, whole)
    PLAIN[getattr(subgroup, f"{name}_tiled")] = _taking(f"{parameters}, log2_size", tiled)


def _taking(parameters, f):
    """f with named parameters, so that Python matches arguments with them."""
    return eval(f"lambda w, {parameters}: f(w, {parameters})", {"f": f})  # noqa: S307 - text of this file


def _fill_subgroup_scans():
    for op in ("add", "min", "max"):
        for prefix in ("reduce", "reduce_all"):
            _tiled(
                f"{prefix}_{op}",
                lambda w, log2, v, op=op: each(w, "subgroup.reduce", lambda e: reduce_lanes(w, op, e, log2), v),
            )
        _tiled(
            f"segmented_reduce_{op}",
            lambda w, log2, v, head, op=op: segmented(w, op, scalar(w, v, "subgroup.segmented_reduce"), head, log2),
            "value, head_flag",
        )
    for op in OPERATORS:
        _tiled(
            f"inclusive_{op}",
            lambda w, log2, v, op=op: each(w, "subgroup.inclusive", lambda e: scan_lanes(w, op, e, log2), v),
        )
        _tiled(
            f"exclusive_{op}",
            lambda w, log2, v, op=op: each(w, "subgroup.exclusive", lambda e: exclusive_lanes(w, op, e, log2), v),
        )
    _tiled(
        "bitonic_sort_kv",
        lambda w, log2, k, v: sorted_pair(w, scalar(w, k, "subgroup.bitonic_sort_kv"), scalar(w, v, "subgroup"), log2),
        "key, value",
    )


# ------------------------------------------------------------------------------------------------------ votes, shuffles
def votes_of_tile(w, log2, predicate):
    """Bits of the lanes of this lane's tile where the predicate holds, shifted to lane 0, and the bits of lanes there
    are."""
    o, size = w.op, 1 << log2
    held = bits(w, w.b.together("vote", WHICH, None, predicate))
    there = bits(w, w.b.together("vote", WHICH, None, True))
    if log2 == LOG2_LANES:
        return held, there
    first = w.b.cast(o["sub"](lane(w), place_in_tile(w, log2)), U32)
    return tuple(o["bit_and"](o["bit_shr"](m, first), w.b.const((1 << size) - 1, U32)) for m in (held, there))


def all_true(w, log2, predicate):
    if log2 == LOG2_LANES:
        return w.b.together("vote", ALL_OF, None, predicate)
    held, there = votes_of_tile(w, log2, predicate)
    return w.b.cast(w.op["eq"](held, there), w.i32)


def any_true(w, log2, predicate):
    if log2 == LOG2_LANES:
        return w.b.together("vote", ANY_OF, None, predicate)
    return w.b.cast(w.op["ne"](votes_of_tile(w, log2, predicate)[0], 0), w.i32)


def all_equal(w, log2, value):
    value = scalar(w, value, "subgroup.all_equal")
    first = shuffled(w, value, w.op["sub"](lane(w), place_in_tile(w, log2)), INDEX)
    return all_true(w, log2, w.op["eq"](first, value))


def ballot_first_n(w, log2, predicate, n):
    count = w.known_int(n, "n of qd.simt.subgroup.ballot_first_n")
    if not 0 <= count <= LANES:
        raise QuadrantsSyntaxError(f"qd.simt.subgroup.ballot_first_n: n must be 0 to {LANES}, found {count}")
    return w.op["bit_and"](votes_of_tile(w, log2, predicate)[0], w.b.const((1 << count) - 1, U32))


def shuffle_in_tile(kind):
    def f(w, log2, value, by):
        if log2 == LOG2_LANES:
            return each(w, "subgroup.shuffle", lambda e: shuffled(w, e, by, kind), value)
        o, size, at = w.op, 1 << log2, place_in_tile(w, log2)
        if kind == INDEX:
            by = o["add"](o["sub"](lane(w), at), o["bit_and"](w.b.cast(by, w.i32), size - 1))
        elif kind == XOR:
            by = o["bit_and"](w.b.cast(by, w.i32), size - 1)
        else:  # no lane of another tile
            by = w.b.cast(by, w.i32)
            end = o["sub"](at, by) if kind == UP else o["add"](at, by)
            stays = o["ge"](end, 0) if kind == UP else o["lt"](end, size)
            by = choose(w, stays, by, 0)
        return each(w, "subgroup.shuffle", lambda e: shuffled(w, e, by, kind), value)

    return f


def _fill_subgroup():
    _fill_subgroup_scans()
    _tiled("all_true", all_true, "predicate")
    _tiled("any_true", any_true, "predicate")
    _tiled("all_equal", all_equal)
    _tiled("ballot_first_n", ballot_first_n, "predicate, n")
    for name, kind, by in (
        ("shuffle", INDEX, "index"),
        ("shuffle_up", UP, "offset"),
        ("shuffle_down", DOWN, "offset"),
        ("shuffle_xor", XOR, "mask"),
    ):
        _tiled(name, shuffle_in_tile(kind), f"value, {by}")
    _tiled("broadcast", shuffle_in_tile(INDEX), "value, index")
    _tiled("broadcast_first", lambda w, log2, value: shuffle_in_tile(INDEX)(w, log2, value, 0))
    for name, relation in (("lt", "lt"), ("le", "le"), ("eq", "eq"), ("gt", "gt"), ("ge", "ge")):
        PLAIN[getattr(subgroup, f"lanemask_{name}")] = lambda w, lane_id, r=relation: mask_of(w, r, lane_id)
    plain("subgroup", "sync", lambda w: w.b.together("barrier", 1, None))
    plain("subgroup", "mem_fence", lambda w: w.b.together("fence", 0, None))
    plain("subgroup", "elect", lambda w: w.op["eq"](lane(w), 0))
    plain("subgroup", "invocation_id", lane)
    plain("subgroup", "ballot", ballot)
    PLAIN[subgroup.group_size] = lambda w: LANES if refusal("subgroup.group_size") is None else subgroup.group_size()
    PLAIN[subgroup.log2_group_size] = lambda w: (
        LOG2_LANES if refusal("subgroup.log2_group_size") is None else subgroup.log2_group_size()
    )
    for old, new in (("barrier", "sync"), ("memory_barrier", "mem_fence"), ("ballot_full_subgroup", "ballot")):
        deprecated("subgroup", old, new)


def ballot(w, predicate):
    return w.b.cast(bits(w, w.b.together("vote", WHICH, None, predicate)), w.u64)


def plain(group, name, f):
    def handler(w, *values, **named):
        need(w, f"{group}.{name}")
        return f(w, *values, **named)

    handler.__name__ = name
    PLAIN[getattr(_GROUPS[group], name)] = handler


def deprecated(group, old, new):
    handler = PLAIN[getattr(_GROUPS[group], new)]

    def warned(w, *values, **named):
        text = f"qd.simt.{group}.{old} is deprecated, use qd.simt.{group}.{new}"
        errors.warn(w, text, errors.current_node(), "DeprecationWarning")
        return handler(w, *values, **named)

    PLAIN[getattr(_GROUPS[group], old)] = warned


_GROUPS = {"block": block, "subgroup": subgroup, "warp": warp, "grid": grid}


def _fill_warp():
    def vote(kind):
        return lambda w, mask, predicate: w.b.together("vote", kind, mask, predicate)

    plain("warp", "all_nonzero", vote(ALL_OF))
    plain("warp", "any_nonzero", vote(ANY_OF))
    plain("warp", "unique", vote(SAME))
    plain("warp", "ballot", lambda w, predicate: bits(w, w.b.together("vote", WHICH, None, predicate)))
    for name, kind in (("sync", INDEX), ("up", UP), ("down", DOWN), ("xor", XOR)):
        for suffix in ("i32", "f32"):
            if hasattr(warp, f"shfl_{name}_{suffix}"):
                plain("warp", f"shfl_{name}_{suffix}", _shuffle_of(kind, suffix))
    plain("warp", "match_any", lambda w, mask, value: bits(w, w.b.together("match", 0, mask, value)))
    plain("warp", "match_all", lambda w, mask, val: bits(w, w.b.together("match", 1, mask, val)))
    plain("warp", "active_mask", lambda w: bits(w, w.b.together("active", 0, None)))
    plain("warp", "sync", lambda w, mask: w.b.together("barrier", 1, mask))


def _shuffle_of(kind, dtype):
    def f(w, mask, val, offset):
        return shuffled(w, w.b.cast(val, w.i32 if dtype == "i32" else F32), offset, kind, mask)

    return f


_fill_subgroup()
_fill_warp()

"""`qd.simt.block` and `grid` inside kernels: shared arrays, barriers, and what whole blocks compute together."""

from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.lang.frontend.access import _row_major
from quadrants.lang.frontend.calls import PLAIN
from quadrants.lang.frontend.threads import (
    ALL_OF,
    ANY_OF,
    HOW_MANY,
    LANES,
    LOG2_LANES,
    U32,
    UP,
    apply,
    choose,
    deprecated,
    identity,
    lane,
    mask_of,
    need,
    plain,
    reduce_lanes,
    scan_lanes,
    shuffled,
)
from quadrants.lang.impl import get_max_shared_memory_bytes
from quadrants.lang.util import cook_dtype
from quadrants.simt import block
from quadrants.types.compound import MatrixType


def shared_array(w, shape, dtype):
    need(w, "block.SharedArray")
    shape = shape if type(shape) in (tuple, list) else (shape,)
    extents = [w.known_int(s, "an extent of SharedArray") for s in shape]
    if not extents or min(extents) < 1:
        raise QuadrantsSyntaxError(f"SharedArray: expected positive extents, found {tuple(extents)}")
    inner = ()
    if isinstance(dtype, MatrixType):
        inner = (dtype.n,) if dtype.ndim == 1 else (dtype.n, dtype.m)
        dtype = dtype.dtype or w.default_fp
    return new_shared(w, extents, cook_dtype(dtype), inner)


def new_shared(w, extents, dtype, inner=()):
    count = 1
    for s in (*extents, *inner):
        count *= s
    if w.team is not None:
        used = w.shared_bytes + count * dtype.size
        most = get_max_shared_memory_bytes()
        if used > most:
            raise QuadrantsSyntaxError(
                f"the shared arrays of this loop need {used} bytes, a block of this device has at most {most}: "
                f"this one, of shape {tuple(extents)}, needs {count * dtype.size}"
            )
        w.shared_bytes = used
    acc = _row_major(dtype, inner, tuple(extents))
    acc.obj, acc.name, acc.what, acc.wide = None, "shared array", "Shared array", False
    acc.param = w.b.shared(dtype, count, "shared")
    return acc


def dimension(w, block_dim, what):
    n = w.known_int(block_dim, f"block_dim of qd.simt.block.{what}")
    size = w.b.block_size() if w.real is None else n
    if n != size:
        raise QuadrantsSyntaxError(f"qd.simt.block.{what}: block_dim is {n}, but the loop has blocks of {size} threads")
    if n % LANES:
        raise QuadrantsSyntaxError(f"qd.simt.block.{what}: block_dim must be a multiple of {LANES}, found {n}")
    return n


def parts(w, v, n, dtype, leader):
    """One value of each subgroup in shared memory, those of the lane `leader`; a function that loads the k-th."""
    b, o = w.b, w.op
    acc = new_shared(w, [n // LANES], dtype)
    thread = b.together("thread", 0, None)
    b.together("barrier", 0, None)  # what an earlier turn left has been read
    b.when(o["eq"](o["bit_and"](thread, LANES - 1), leader))
    b.store(acc.param, o["sar"](thread, LOG2_LANES), v)
    b.end()
    b.together("barrier", 0, None)
    return lambda k: b.load(acc.param, k)


def block_reduce(w, what, value, block_dim, op, dtype):
    need(w, f"block.{what}")
    n, dt = dimension(w, block_dim, what), cook_dtype(dtype)
    v = reduce_lanes(w, op, w.b.cast(value, dt), LOG2_LANES)
    part = parts(w, v, n, dt, 0)
    total = part(0)
    for k in range(1, n // LANES):
        total = apply(w, op, total, part(k))
    return total


def block_scan(w, what, value, block_dim, op, dtype, first=None):
    """Inclusive, or exclusive when the value of thread 0 is given."""
    need(w, f"block.{what}")
    n, dt, o = dimension(w, block_dim, what), cook_dtype(dtype), w.op
    v = scan_lanes(w, op, w.b.cast(value, dt), LOG2_LANES)
    part = parts(w, v, n, dt, LANES - 1)
    thread = w.b.together("thread", 0, None)
    group = o["sar"](thread, LOG2_LANES)
    before = part(0)  # of the subgroups before this one, where there are any
    for k in range(1, n // LANES - 1):
        before = choose(w, o["gt"](group, k), apply(w, op, before, part(k)), before)
    if first is None:
        return choose(w, o["gt"](group, 0), apply(w, op, before, v), v)
    up = shuffled(w, v, 1, UP)
    inner = choose(w, o["gt"](group, 0), apply(w, op, before, up), up)
    outer = choose(w, o["gt"](group, 0), before, w.b.cast(first, dt))
    return choose(w, o["eq"](o["bit_and"](thread, LANES - 1), 0), outer, inner)


def rank_match(w, key, block_dim, radix_bits, bit_start, num_bits, bins, excl_prefix):
    """The rank of a key among those of the block by one digit, equal digits in the order of threads. `bins` gets how
    many keys have each digit, `excl_prefix` how many have a smaller one; both have 2**radix_bits elements."""
    what = "radix_rank_match_atomic_or"
    need(w, f"block.{what}")
    b, o = w.b, w.op
    n = dimension(w, block_dim, what)
    digits = 1 << w.known_int(radix_bits, "radix_bits")
    start, width = w.known_int(bit_start, "bit_start"), w.known_int(num_bits, "num_bits")
    digit = b.cast(o["bit_and"](o["bit_shr"](key, start), (1 << width) - 1), w.i32)
    thread, at = b.together("thread", 0, None), lane(w)
    group = o["sar"](thread, LOG2_LANES)
    groups = n // LANES
    masks, counts = new_shared(w, [groups * digits], U32), new_shared(w, [groups * digits], w.i32)

    def for_each(count, body):
        k = b.var(w.i32, thread)
        b.repeat()
        b.when(o["ge"](b.get(k), count))
        b.leave(0)
        b.end()
        body(b.get(k))
        b.set(k, o["add"](b.get(k), n))
        b.end()

    b.together("barrier", 0, None)
    for_each(groups * digits, lambda k: b.store(masks.param, k, 0))
    b.together("barrier", 0, None)
    mine = o["add"](o["mul"](group, digits), digit)
    b.atomic("or", masks.param, mine, o["shl"](b.const(1, U32), at))
    b.together("barrier", 0, None)
    for_each(groups * digits, lambda k: b.store(counts.param, k, b.unary("popcnt", b.load(masks.param, k))))
    b.together("barrier", 0, None)

    def column(d):  # counts become those of the subgroups before; the total goes to bins
        total = b.var(w.i32, 0)
        g = b.loop(0, groups)
        where = o["add"](o["mul"](g, digits), d)
        old = b.load(counts.param, where)
        b.store(counts.param, where, b.get(total))
        b.set(total, o["add"](b.get(total), old))
        b.end()
        b.store(bins.param, d, b.get(total))

    for_each(digits, column)
    b.together("barrier", 0, None)

    def prefix(d):
        total = b.var(w.i32, 0)
        k = b.loop(0, d)
        b.set(total, o["add"](b.get(total), b.load(bins.param, k)))
        b.end()
        b.store(excl_prefix.param, d, b.get(total))

    for_each(digits, prefix)
    b.together("barrier", 0, None)
    earlier = o["bit_and"](b.load(masks.param, mine), mask_of(w, "lt", at))
    rank = o["add"](b.load(counts.param, mine), b.unary("popcnt", earlier))
    return o["add"](rank, b.cast(b.load(excl_prefix.param, digit), w.i32))


def _fill_block():
    plain("block", "sync", lambda w: w.b.together("barrier", 0, None))
    for name, kind in (("all", ALL_OF), ("any", ANY_OF), ("count", HOW_MANY)):
        plain(
            "block",
            f"sync_{name}_nonzero",
            lambda w, predicate, k=kind: w.b.together("barrier_vote", k, None, predicate),
        )
    plain("block", "mem_fence", lambda w: w.b.together("fence", 1, None))
    deprecated("block", "mem_sync", "mem_fence")
    plain("block", "thread_idx", lambda w: w.b.together("thread", 0, None))
    plain("block", "global_thread_idx", lambda w: w.b.together("position", 0, None))
    plain("grid", "mem_fence", lambda w: w.b.together("fence", 2, None))
    deprecated("grid", "memfence", "mem_fence")
    PLAIN[block.SharedArray] = shared_array
    PLAIN[block.radix_rank_match_atomic_or] = rank_match

    def put(name, f):
        PLAIN[getattr(block, name)] = f

    for name in ("reduce", "reduce_all"):
        put(name, lambda w, value, block_dim, op, dtype, n=name: block_reduce(w, n, value, block_dim, op, dtype))
        for op in ("add", "min", "max"):
            put(
                f"{name}_{op}",
                lambda w, value, block_dim, dtype, n=f"{name}_{op}", op=op: block_reduce(
                    w, n, value, block_dim, op, dtype
                ),
            )
    put(
        "inclusive_scan",
        lambda w, value, block_dim, op, dtype: block_scan(w, "inclusive_scan", value, block_dim, op, dtype),
    )
    put(
        "exclusive_scan",
        lambda w, value, block_dim, op, identity, dtype: block_scan(
            w, "exclusive_scan", value, block_dim, op, dtype, identity
        ),
    )
    for op in ("add", "min", "max"):
        put(
            f"inclusive_{op}",
            lambda w, value, block_dim, dtype, op=op: block_scan(w, f"inclusive_{op}", value, block_dim, op, dtype),
        )
        put(
            f"exclusive_{op}",
            lambda w, value, block_dim, dtype, op=op: block_scan(
                w, f"exclusive_{op}", value, block_dim, op, dtype, identity(w, op, cook_dtype(dtype))
            ),
        )


_fill_block()

"""`qd.static`, `qd.ndrange`, `qd.grouped`, `qd.loop_config` and friends: their Python-scope side.

Inside kernels the front end recognises these very objects (frontend/statics.py); outside, `static` gives its argument
back and `ndrange` iterates like nested ranges.
"""

import itertools

from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError


def static(x, *xs):
    """Marks an expression as known at compile time. Outside kernels: the argument, or the tuple of all."""
    return (x, *xs) if xs else x


def static_assert(cond, msg=None):
    """Fails compilation when `cond`, known at compile time, does not hold (AssertionError)."""
    assert cond, msg


def static_print(*args, **kwargs):
    """Prints while the kernel is compiled."""
    print(*args, **kwargs)


class ndrange:
    """Box of indices: `ndrange(n, (lo, hi), axes=None)`. `axes` orders the axes from outermost to innermost."""

    def __init__(self, *bounds, axes=None):
        if not bounds:
            raise QuadrantsSyntaxError("ndrange needs at least one bound")
        self.bounds = []
        for k, b in enumerate(bounds):
            pair = tuple(b) if isinstance(b, (tuple, list)) else (0, b)
            if len(pair) != 2:
                raise QuadrantsSyntaxError(
                    f"argument {k} of ndrange must be an integer or a pair (begin, end), got {b!r}"
                )
            for v in pair:
                if not isinstance(v, int) and not hasattr(v, "__index__"):
                    raise QuadrantsTypeError(
                        f"Every argument of ndrange should be an integer scalar or a tuple/list of "
                        f"(int, int); found {v!r}"
                    )
            self.bounds.append((int(pair[0]), max(int(pair[0]), int(pair[1]))))
        self.axes = check_axes(axes, len(bounds))

    def __iter__(self):
        ranges = [range(lo, hi) for lo, hi in self.bounds]
        if self.axes is None:
            yield from itertools.product(*ranges)
            return
        back = [self.axes.index(k) for k in range(len(ranges))]
        for t in itertools.product(*[ranges[k] for k in self.axes]):
            yield tuple(t[k] for k in back)

    def grouped(self):
        """The same with each index as one vector."""
        return GroupedNDRange(self)


class GroupedNDRange:
    """`qd.grouped(ndrange)`: iterates over integer vectors."""

    def __init__(self, box):
        self.box = box

    def __iter__(self):
        from quadrants.lang.matrix import Vector

        for t in self.box:
            yield Vector(list(t))


def check_axes(axes, count):
    """The order of loop axes as a list, None for the natural one."""
    if axes is None:
        return None
    if not isinstance(axes, (tuple, list)) or not all(isinstance(a, int) for a in axes):
        raise QuadrantsTypeError(f"qd.ndrange(axes={axes!r}): expected a tuple of the axes from outermost to innermost")
    axes = [int(a) for a in axes]
    if sorted(axes) != list(range(count)):
        if len(axes) != count:
            raise QuadrantsSyntaxError(
                f"qd.ndrange(axes={tuple(axes)}) has {len(axes)} entries but ndrange was called with {count} dimension argument(s); "
                "they must match"
            )
        raise QuadrantsSyntaxError(f"qd.ndrange(axes={tuple(axes)}) is not a permutation of range({count})")
    return axes


def grouped(x):
    """`for I in qd.grouped(x)`: the index as one vector; x is a field, an array or an ndrange."""
    if isinstance(x, ndrange):
        return x.grouped()
    return x


def loop_config(
    *, block_dim=None, serialize=False, parallelize=None, block_dim_adaptive=True, bit_vectorize=False, name=None
):
    """Settings of the next `for` loop of a kernel; has no effect outside kernels."""


def one(x):
    """A value of the shape and type of x, all ones."""
    return x * 0 + 1


def zero(x):
    """A value of the shape and type of x, all zeros."""
    return x * 0


def block_local(*fields):
    """A hint that threads of a block share these fields' elements; it has no effect on results, and none on the CPU."""


def cache_read_only(*fields):
    """A hint that the next loop only reads these fields; it has no effect on results, and none on the CPU."""


def no_activate(*snodes):
    """A promise that the next loop activates no cells of these nodes; dense fields have none to activate."""


def assume_in_range(val, base, low, high):
    """A promise that `base + low <= val < base + high`, for the benefit of `block_local`. Gives `val`."""
    return val


def loop_unique(val, covers=None):
    """A promise that `val` differs between the iterations of the loop, so that elements of the fields `covers` indexed
    with it belong to one iteration each. Gives `val`."""
    return val


def global_thread_idx():
    """Inside kernels: the position of this iteration in its loop, counted along the last axis; 0 outside
    of loops. QuadrantsSyntaxError outside kernels."""
    raise QuadrantsSyntaxError("qd.global_thread_idx() can be called inside kernels only")


def clock_counter():
    """Inside kernels: ticks of a counter of the processor that runs this thread, as i64. QuadrantsSyntaxError outside
    kernels."""
    raise QuadrantsSyntaxError("qd.clock_counter() can be called inside kernels only")


def clock_freq_hz():
    """Ticks of `clock_counter` in a second at the nominal clock of the device, an int; inside kernels, too.
    NotImplementedError where the device doesn't tell it, as on a CPU."""
    from quadrants.lang.impl import get_runtime

    runtime = get_runtime()
    khz = runtime.require_context().clock_khz
    if not khz:
        raise NotImplementedError(f"clock_freq_hz is not implemented for arch {runtime.arch.name}")
    return khz * 1000


_LATER = """
    mesh_local(*args)
    mesh_patch_idx()
    stop_grad(x)
"""


def __getattr__(name):
    """What isn't supported yet, made when it is asked for: `later` imports this module's neighbours."""
    if name == "LATER" or f"{name}(" in _LATER and not name.startswith("__"):
        from quadrants.lang.later import made_later

        made = made_later("", _LATER)
        globals().update(made, LATER=tuple(made))
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

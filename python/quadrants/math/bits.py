"""Functions of the bits of integers."""

from quadrants._native import i32, u32
from quadrants.lang.func import func
from quadrants.lang.ops import clz, ctz, popcnt, select

__all__ = ["clz", "ffs", "fns", "popcnt"]


@func
def ffs(x):
    """One more than the number of the lowest set bit; 0 when none is set."""
    return select(x == 0, 0, ctz(x) + 1)


@func
def fns(mask: u32, base: u32, offset: i32):
    """The number of the |offset|-th set bit of `mask` from bit `base` (which counts), upwards when offset is positive,
    downwards when it is negative; `base` itself when offset is 0 and its bit is set. 0xFFFFFFFF when there is none."""
    found = ~u32(0)
    left = max(offset, -offset, 1)
    direction = 1 if offset > 0 else -1
    reach = 1 if offset == 0 else 32
    for distance in range(reach):
        at = i32(base) + direction * distance
        if at >= 0 and at < 32 and left > 0:
            left -= i32((mask >> u32(at)) & 1)
            if left == 0:
                found = u32(at)
    return found

"""Swizzles: `v.x`, `v.zyx`, `v.rgb = …`. Patterns of one to four letters out of xyzw, rgba or stpq."""

from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.lang.swizzle_attributes import GROUPS
from quadrants.lang.values import component, describe, subset


def indices(attr: str, n: int) -> list[int] | None:
    """Component numbers of a pattern, None when it isn't one; QuadrantsSyntaxError for components beyond n."""
    if not 1 <= len(attr) <= 4:
        return None
    for group in GROUPS:
        if all(c in group for c in attr):
            ks = [group.index(c) for c in attr]
            if max(ks) >= n:
                raise QuadrantsSyntaxError(f"vec{n} only has attributes={tuple(group[:n])}, got={tuple(attr)}")
            return ks
    return None


def pick(w, x, attr: str):
    """The components that a pattern names, as places where x is one."""
    ks = indices(attr, x.n) if x.ndim == 1 else None
    if ks is None:
        raise AttributeError(f"'{describe(w, x)}' has no attribute '{attr}'")
    if len(ks) == 1:
        return component(w, x, ks[0])
    return subset(w, x, ks, len(ks), 1, 1)

"""Programs that fast_math doesn't change: sums and products of whole numbers so small that no order of them rounds.

While `on`, a real carries `most`: no sum of parts of what it was computed from is further from zero. What leaves the
whole numbers that the type holds exactly is `Beyond`; signs of zeros are open.
"""

import math

from programs import rows
from programs.scalars import Beyond, Scalar

on = False
MOST = {"f16": 2**11, "f32": 2**24, "f64": 2**53}
JOINED = {"Add": sum, "Sub": sum, "Mult": math.prod}
KEPT = {"USub", "UAdd", "abs", "qd.abs", "qd.min", "qd.max", "qd.floor", "qd.ceil", "qd.round", "qd.math.fract", "qd.math.sign",
        "qd.math.step", "mantissa"}  # fmt: skip


def most(x: Scalar):
    return abs(float(x.v)) if x.most is None else x.most


def exact(row, t, v, args):
    """The result of a row that is fixed whatever the order of the sums and products around it."""
    if row.key not in JOINED and row.key not in KEPT:
        raise Beyond(f"{row.key} under fast_math")
    if not all(math.isfinite(a.v) and float(a.v).is_integer() for a in args):
        raise Beyond("a real that is no whole number")
    far = JOINED.get(row.key, max)([max(most(a), 1.0) for a in args])
    if far >= MOST[t.name]:
        raise Beyond("a real that could be rounded")
    out = Scalar(t, v)
    out.most = far
    return out


def approximate(row, t, v, args):
    signs = row.key in ("qd.rsqrt", "qd.atan2", "qd.pow")  # they show that of a zero
    if not all(math.isfinite(a.v) and (a.v or not signs) for a in args):
        raise Beyond("a zero or infinity, whose sign is open")
    return Scalar(t, v, rows.FAST_ULP[row.ulp][t.name])

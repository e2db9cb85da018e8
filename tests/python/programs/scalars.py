"""The model's scalars: types, exact conversion and arithmetic as docs/language.md, docs/ops.md and docs/accuracy.md say."""

import math
from typing import NamedTuple

import numpy as np


class Type(NamedTuple):
    name: str
    kind: str  # i u f b
    bits: int
    np: type

    @property
    def real(self):
        return self.kind == "f"


TYPES = {
    t.name: t
    for t in [
        *(Type(f"i{n}", "i", n, getattr(np, f"int{n}")) for n in (8, 16, 32, 64)),
        *(Type(f"u{n}", "u", n, getattr(np, f"uint{n}")) for n in (8, 16, 32, 64)),
        *(Type(f"f{n}", "f", n, getattr(np, f"float{n}")) for n in (16, 32, 64)),
        Type("u1", "b", 1, np.bool_),
    ]
}
I32, U1, F32, I64, F64, F16 = (TYPES[n] for n in ("i32", "u1", "f32", "i64", "f64", "f16"))


class Scalar:
    """A value of the running program. `ulp`: how far the real result may be from `v` (then a longdouble), 0 for exact;
    `most`: see fast.py."""

    __slots__ = ("most", "t", "ulp", "v")

    def __init__(self, t, v, ulp=0):
        self.t, self.v, self.ulp, self.most = t, v, ulp, None

    def __repr__(self):
        return f"{self.t.name}({self.v!r}{f' within {self.ulp} ulp' if self.ulp else ''})"


class Invalid(Exception):
    """The program is none of the language's, or leaves what the model knows: never a difference."""


class Beyond(Invalid):
    """Too long, or no longer of the kind that the program was written as: left out."""


def bounds(t):
    if t.kind == "i":
        return -(1 << (t.bits - 1)), (1 << (t.bits - 1)) - 1
    return 0, (1 << t.bits) - 1


def wrapped(t, v: int) -> int:
    v &= (1 << t.bits) - 1
    return v - (1 << t.bits) if t.kind == "i" and v >> (t.bits - 1) else v


def convert(t, x: Scalar) -> Scalar:
    """`qd.cast(x, t)`: float to int truncates and saturates, int to int wraps, to u1 is `!= 0`."""
    s, v = x.t, x.v
    if x.ulp:
        raise Invalid("an approximate value is used further")
    if s is t:
        return x
    if t.kind == "b":
        return Scalar(t, bool(v != 0))
    if t.real:
        out = Scalar(t, _to_real(t, s, v))
        out.most = x.most
        return out
    if s.real:
        low, high = bounds(t)
        f = float(v)
        return Scalar(t, 0 if math.isnan(f) else low if f < low else high if f > high else min(int(f), high))
    return Scalar(t, wrapped(t, int(v)))


def _to_real(t, s, v):
    if s.real:
        return t.np(np.float32(v)) if t is F16 else t.np(v)  # halves are made of floats
    wide = (np.uint64 if s.kind == "u" else np.int64)(int(v))
    if t is F16:
        return np.float16(np.float32(np.float64(wide)))
    return wide.astype(t.np)


def promote(a: Type, b: Type) -> Type:
    """Real beats integer; the wider wins; of two integers of one width the unsigned; a truth value loses."""
    if a is b:
        return a
    if a.real != b.real:
        return a if a.real else b
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a.kind == "u" else b


def arithmetic(t: Type) -> Type:
    return I32 if t is U1 else t


# ------------------------------------------------------------------------------------------- meanings on Python integers
def int_div(x, y):
    """Toward zero; 0 for y == 0."""
    q = abs(x) // abs(y) if y else 0
    return -q if (x < 0) != (y < 0) else q


def int_rem(x, y):
    return x - int_div(x, y) * y if y else 0


def floor_div(x, y):
    return x // y if y else 0


def floor_mod(x, y):
    return x % y if y else 0


def int_pow(t, x, y):
    return pow(int(x), int(y), 1 << 64) if y > 0 else 1


def raw_bits(x: Scalar) -> int:
    if x.t.real:
        return int(np.asarray(x.v, x.t.np).view(f"u{x.t.bits // 8}"))
    return int(x.v) & ((1 << x.t.bits) - 1)


def bit_cast(t: Type, x: Scalar) -> Scalar:
    bits = raw_bits(x)
    if t.real:
        return Scalar(t, np.asarray(bits, f"u{t.bits // 8}").view(t.np)[()])
    return Scalar(t, wrapped(t, bits))


def half_away(x):
    whole = np.trunc(x)
    return whole + type(x)(math.copysign(1, x) if x == x else 1) if np.abs(x - whole) >= type(x)(0.5) else whole


# --------------------------------------------------------------------------------------------------------- comparison
def same(expected: Scalar, got, signs=True) -> bool:
    """Whether a result is the model's: equal bits, any NaN for a NaN, or within the documented units in the last place.
    signs: whether zeros have theirs."""
    t = expected.t
    if not t.real:
        return int(got) == int(expected.v)
    got = t.np(got)
    if expected.ulp:
        return _near(expected, got)
    v = t.np(expected.v)
    if np.isnan(v) or np.isnan(got):
        return bool(np.isnan(v) and np.isnan(got))
    return bool(v == got and (not signs or np.signbit(v) == np.signbit(got)))


def _near(expected, got):
    t, v = expected.t, expected.v
    if np.isnan(v) or np.isnan(got):
        return bool(np.isnan(v) and np.isnan(got))
    info = np.finfo(t.np)
    if np.isinf(got) or abs(v) > float(info.max):
        return (
            bool(np.isinf(got) or abs(got) >= float(info.max) * 0.999)
            and np.sign(got) == np.sign(v)
            and abs(v) > float(info.max) * 0.99
        )
    exponent = max(math.frexp(float(v))[1], int(np.frexp(info.tiny)[1])) if v else int(np.frexp(info.tiny)[1])
    unit = math.ldexp(1.0, exponent - info.nmant - 1) if exponent - info.nmant - 1 > -1074 else 5e-324
    return abs(np.longdouble(got) - v) <= (expected.ulp + 0.51) * np.longdouble(unit)

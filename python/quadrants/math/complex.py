"""Complex numbers as vectors of two entries: real and imaginary part."""

from quadrants.lang.func import func
from quadrants.lang.matrix import Vector
from quadrants.lang.ops import atan2, cos, exp, log, pow, sin, sqrt


@func
def cmul(z1, z2):
    """Product."""
    return Vector([z1[0] * z2[0] - z1[1] * z2[1], z1[0] * z2[1] + z1[1] * z2[0]])


@func
def cconj(z):
    """Conjugate."""
    return Vector([z[0], -z[1]])


@func
def cdiv(z1, z2):
    """Quotient."""
    return cmul(z1, cconj(z2)) / z2.norm_sqr()


@func
def cinv(z):
    """1 / z."""
    return cconj(z) / z.norm_sqr()


@func
def csqrt(z):
    """The square root with non-negative real part."""
    half = atan2(z[1], z[0]) * 0.5
    return Vector([cos(half), sin(half)]) * sqrt(z.norm())


@func
def cpow(z, n):
    """z to the real power n, from the angle in (-pi, pi]."""
    angle = atan2(z[1], z[0]) * n
    return Vector([cos(angle), sin(angle)]) * pow(z.norm(), n)


@func
def cexp(z):
    """Exponential."""
    return Vector([cos(z[1]), sin(z[1])]) * exp(z[0])


@func
def clog(z):
    """Logarithm with the angle in (-pi, pi]."""
    return Vector([log(z.norm()), atan2(z[1], z[0])])

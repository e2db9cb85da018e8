"""Functions of numbers and vectors. Element-wise where that makes sense; angles are in radians."""

from math import inf, pi

from quadrants.lang.func import func
from quadrants.lang.ops import abs, cast, floor, log, max, min, select, sqrt

_LOG_2 = 0.6931471805599453


@func
def clamp(x, xmin, xmax):
    """x moved into [xmin, xmax]."""
    return min(xmax, max(xmin, x))


@func
def mix(x, y, a):
    """x where a is 0, y where a is 1, linear between."""
    return x * (1.0 - a) + y * a


@func
def step(edge, x):
    """1 where x >= edge, else 0."""
    return select(x >= edge, 1.0, 0.0)


@func
def smoothstep(edge0, edge1, x):
    """0 below edge0, 1 above edge1, a cubic between."""
    t = clamp((x - edge0) / (edge1 - edge0), 0.0, 1.0)
    return t * t * (3.0 - t * 2.0)


@func
def fract(x):
    """x - floor(x)."""
    return x - floor(x)


@func
def mod(x, y):
    """x - y * floor(x / y)."""
    return x - y * floor(x / y)


@func
def sign(x):
    """-1, 0 or 1, as a real number."""
    return cast(select(x > 0, 1.0, select(x < 0, -1.0, 0.0)), float)


@func
def log2(x):
    """Logarithm to the base 2."""
    return log(x) / _LOG_2


@func
def degrees(x):
    """An angle, given in radians, in degrees."""
    return x * (180.0 / pi)


@func
def radians(x):
    """An angle, given in degrees, in radians."""
    return x * (pi / 180.0)


@func
def isnan(x):
    """Whether x is not a number; true also under fast_math, which keeps comparisons honest."""
    return x != x


@func
def isinf(x):
    """Whether x is infinite."""
    return abs(x) == inf


@func
def dot(x, y):
    """Scalar product."""
    return x.dot(y)


@func
def cross(x, y):
    """Cross product: a vector for three entries, a number for two."""
    return x.cross(y)


@func
def length(x):
    """Euclidean norm."""
    return x.norm()


@func
def distance(x, y):
    """Norm of the difference."""
    return (x - y).norm()


@func
def normalize(v):
    """v over its norm."""
    return v / v.norm()


@func
def reflect(x, n):
    """x mirrored at the plane with unit normal n."""
    return x - 2.0 * x.dot(n) * n


@func
def refract(x, n, eta):
    """Unit direction x refracted at unit normal n with the ratio eta of indices; zero when totally reflected."""
    along = x.dot(n)
    k = 1.0 - eta * eta * (1.0 - along * along)
    bent = eta * x - (eta * along + sqrt(max(k, 0.0))) * n
    return bent * select(k >= 0.0, 1.0, 0.0)


@func
def determinant(m):
    """Determinant of a square matrix up to 4x4."""
    return m.determinant()


@func
def inverse(mat):
    """Inverse of a square matrix."""
    return mat.inverse()

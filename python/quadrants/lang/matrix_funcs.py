"""Matrix functions written in the language itself, for sizes where unrolled formulas would be too much code."""

from quadrants.lang.func import func
from quadrants.lang.matrix import Matrix
from quadrants.lang.ops import abs
from quadrants.lang.static import loop_config
from quadrants.types.annotations import template


@func
def gauss_jordan(a, n: template(), dt: template()):
    """Inverse of an n x n matrix by elimination with row pivoting. Not finite where `a` is singular."""
    left = a
    right = Matrix.identity(dt, n)
    loop_config(serialize=True)
    for k in range(n):
        pivot = k
        best = abs(left[k, k])
        for i in range(k + 1, n):
            size = abs(left[i, k])
            if size > best:
                best = size
                pivot = i
        scale = 1.0 / left[pivot, k]
        for j in range(n):
            p = left[pivot, j]
            left[pivot, j] = left[k, j]
            left[k, j] = p * scale
            q = right[pivot, j]
            right[pivot, j] = right[k, j]
            right[k, j] = q * scale
        for i in range(n):
            if i != k:
                factor = left[i, k]
                for j in range(n):
                    left[i, j] -= factor * left[k, j]
                    right[i, j] -= factor * right[k, j]
    return right


def inverse_large(w, x):
    """Inverse of a kernel-side matrix of more than 4 rows."""
    from quadrants.lang.frontend.calls import call_with_values

    return call_with_values(w, gauss_jordan, (x, x.n, x.dtype))

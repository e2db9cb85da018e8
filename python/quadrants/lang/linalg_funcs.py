"""Decompositions of small matrices, written in the language itself: `qd.svd`, `qd.sym_eig`, `qd.solve`, ...

Everything is Jacobi's method or elimination with pivoting, with loops that end: at most 12 sweeps, so that a NaN or an
infinity ends them too. `while` loops, never `for`: these functions are inlined, and a `for` at the top level of a kernel
would be a parallel task. Inputs come scaled by their largest magnitude, so squares neither overflow nor vanish.
"""

from quadrants.lang.func import func
from quadrants.lang.matrix import Matrix, Vector
from quadrants.lang.ops import abs, max, sqrt
from quadrants.lang.static import static
from quadrants.types.annotations import template

SWEEPS = 12


@func
def _largest(a, n: template()):
    size = abs(a[0, 0])
    for i in static(range(n)):
        for j in static(range(n)):
            size = max(size, abs(a[i, j]))
    return size


@func
def _tangent(difference, twice_product):
    """tan of the smaller angle that makes the product of two rotated columns vanish: cot(2 angle) is their ratio."""
    cot = difference / twice_product
    t = 1.0 / (abs(cot) + sqrt(1.0 + cot * cot))
    return t if cot >= 0.0 else -t


# ------------------------------------------------------------------------------------------------ symmetric eigenvalues
@func
def _rotate_symmetric(a: template(), v: template(), p, q, n: template(), unroll: template()):
    """One rotation that makes a[p, q] zero. `unroll`: p and q are known now."""
    product = a[p, q]
    t = _tangent(a[q, q] - a[p, p], 2.0 * product)
    c = 1.0 / sqrt(1.0 + t * t)
    s = t * c
    if static(unroll):
        for k in static(range(n)):
            _rotate_pair(a, k, p, k, q, c, s)
            _rotate_pair(v, k, p, k, q, c, s)
        for k in static(range(n)):
            _rotate_pair(a, p, k, q, k, c, s)
    else:
        k = 0
        while k < n:
            _rotate_pair(a, k, p, k, q, c, s)
            _rotate_pair(v, k, p, k, q, c, s)
            k += 1
        k = 0
        while k < n:
            _rotate_pair(a, p, k, q, k, c, s)
            k += 1
    a[p, q] = 0.0
    a[q, p] = 0.0


@func
def _matters(a: template(), p: template(), q: template(), eps):
    """Whether an off-diagonal entry is more than rounding next to its diagonal ones."""
    return a[p, q] * a[p, q] > eps * eps * abs(a[p, p] * a[q, q])


@func
def _rotate_pair(a: template(), i0: template(), j0: template(), i1: template(), j1: template(), c, s):
    x = a[i0, j0]
    y = a[i1, j1]
    a[i0, j0] = c * x - s * y
    a[i1, j1] = s * x + c * y


@func
def _swap_columns(a: template(), i: template(), j: template(), n: template()):
    k = 0
    while k < n:
        x = a[k, i]
        a[k, i] = a[k, j]
        a[k, j] = x
        k += 1


@func
def sym_eig_small(a, n: template(), dt: template(), pairs: template(), eps):
    """Up to 4x4: the pairs of a sweep are unrolled."""
    size = _largest(a, n)
    scale = size if size > 0.0 else 1.0
    b = (a + a.transpose()) * (0.5 / scale)
    v = Matrix.identity(dt, n)
    sweep = 0
    while sweep < SWEEPS:
        turned = 0
        for p, q in static(pairs):
            if _matters(b, p, q, eps):
                _rotate_symmetric(b, v, p, q, n, True)
                turned = 1
        sweep = sweep + 1 if turned == 1 else SWEEPS
    w = Vector.zero(dt, n)
    for i in static(range(n)):
        w[i] = b[i, i] * scale
    for end in static(range(n - 1)):
        for i in static(range(n - 1 - end)):
            if w[i] > w[i + 1]:
                x = w[i]
                w[i] = w[i + 1]
                w[i + 1] = x
                for k in static(range(n)):
                    y = v[k, i]
                    v[k, i] = v[k, i + 1]
                    v[k, i + 1] = y
    return w, v


@func
def sym_eig_large(a, n: template(), dt: template(), eps):
    """5x5 and 6x6: loops over local arrays, so that the code stays short."""
    size = abs(a[0, 0])
    i = 0
    while i < n:
        j = 0
        while j < n:
            size = max(size, abs(a[i, j]))
            j += 1
        i += 1
    scale = size if size > 0.0 else 1.0
    b = (a + a.transpose()) * (0.5 / scale)
    v = Matrix.identity(dt, n)
    sweep = 0
    while sweep < SWEEPS:
        turned = 0
        p = 0
        while p < n - 1:
            q = p + 1
            while q < n:
                if _matters(b, p, q, eps):
                    _rotate_symmetric(b, v, p, q, n, False)
                    turned = 1
                q += 1
            p += 1
        sweep = sweep + 1 if turned == 1 else SWEEPS
    w = Vector.zero(dt, n)
    i = 0
    while i < n:
        w[i] = b[i, i] * scale
        i += 1
    end = n - 1
    while end > 0:
        i = 0
        while i < end:
            if w[i] > w[i + 1]:
                x = w[i]
                w[i] = w[i + 1]
                w[i + 1] = x
                _swap_columns(v, i, i + 1, n)
            i += 1
        end -= 1
    return w, v


@func
def without_negative(w, v, n: template()):
    """V max(w, 0) V^T."""
    scaled = v
    i = 0
    while i < n:
        j = 0
        while j < n:
            scaled[i, j] = scaled[i, j] * max(w[j], 0.0)
            j += 1
        i += 1
    return scaled @ v.transpose()


# ------------------------------------------------------------------------------------------------------ singular values
@func
def svd(a, n: template(), dt: template(), pairs: template(), eps):
    """2x2 and 3x3, one-sided: columns of B = A V are rotated until they are orthogonal, so that small singular values
    keep their relative precision."""
    size = _largest(a, n)
    scale = size if size > 0.0 else 1.0
    b = a * (1.0 / scale)
    v = Matrix.identity(dt, n)
    sweep = 0
    while sweep < SWEEPS:
        turned = 0
        for p, q in static(pairs):
            pp = b[0, p] * b[0, p]
            qq = b[0, q] * b[0, q]
            pq = b[0, p] * b[0, q]
            for k in static(range(1, n)):
                pp += b[k, p] * b[k, p]
                qq += b[k, q] * b[k, q]
                pq += b[k, p] * b[k, q]
            if abs(pq) > sqrt(pp * qq) * eps:
                t = _tangent(qq - pp, 2.0 * pq)
                c = 1.0 / sqrt(1.0 + t * t)
                s = t * c
                for k in static(range(n)):
                    _rotate_pair(b, k, p, k, q, c, s)
                    _rotate_pair(v, k, p, k, q, c, s)
                turned = 1
        sweep = sweep + 1 if turned == 1 else SWEEPS
    for end in static(range(n - 1)):
        for i in static(range(n - 1 - end)):
            _order_columns(b, v, i, n)
    first = b[:, 0].norm()
    sigma = Matrix.zero(dt, n, n)
    sigma[0, 0] = first * scale
    u = Matrix.identity(dt, n)
    if static(n == 2):
        second = b[:, 1].norm()
        sigma[1, 1] = second * scale
        if first > 0.0:
            u0 = b[:, 0] / first
            u1 = Vector([-u0[1], u0[0]])
            if u1.dot(b[:, 1]) < 0.0:
                u1 = -u1
            u = Matrix.cols([u0, u1])
    else:
        if first > 0.0:
            u0 = b[:, 0] / first
            rest = b[:, 1] - u0 * u0.dot(b[:, 1])
            if not rest.norm() > 0.0:
                rest = _perpendicular(u0)
            u1 = rest / rest.norm()
            u2 = u0.cross(u1)
            sigma[1, 1] = b[:, 1].dot(u1) * scale
            sigma[2, 2] = b[:, 2].dot(u2) * scale
            u = Matrix.cols([u0, u1, u2])
    return u, sigma, v


@func
def _perpendicular(u):
    """Some vector at a right angle to a unit vector, not short."""
    x, y, z = abs(u[0]), abs(u[1]), abs(u[2])
    r = Vector([0.0 * x, u[2], -u[1]])
    if x > y or x > z:
        r = Vector([u[1], -u[0], 0.0 * x])
        if z > y:
            r = Vector([u[2], 0.0 * x, -u[0]])
    return r


@func
def _order_columns(b: template(), v: template(), i: template(), n: template()):
    """The longer of the columns i and i + 1 goes first; one changes its sign, so that V stays a rotation."""
    left = b[0, i] * b[0, i]
    right = b[0, i + 1] * b[0, i + 1]
    for k in static(range(1, n)):
        left += b[k, i] * b[k, i]
        right += b[k, i + 1] * b[k, i + 1]
    if right > left:
        for k in static(range(n)):
            x = b[k, i]
            b[k, i] = -b[k, i + 1]
            b[k, i + 1] = x
            y = v[k, i]
            v[k, i] = -v[k, i + 1]
            v[k, i + 1] = y


@func
def polar(u, sigma, v):
    """U V^T and V sigma V^T."""
    return u @ v.transpose(), v @ sigma @ v.transpose()


# --------------------------------------------------------------------------------------- general 2x2, and linear systems
@func
def eig2(a, dt: template()):
    """Eigenvalues by the quadratic formula, with the half difference of the diagonal so that nothing cancels; an
    eigenvector of one is a column of A less the other."""
    middle = (a[0, 0] + a[1, 1]) * 0.5
    half = (a[0, 0] - a[1, 1]) * 0.5
    square = half * half + a[0, 1] * a[1, 0]
    w = Matrix.zero(dt, 2, 2)
    v = Matrix.zero(dt, 4, 2)
    if square >= 0.0:
        root = sqrt(square)
        w[0, 0] = middle + root
        w[1, 0] = middle - root
        for k in static(range(2)):
            plus = half + root  # of these two, one cancels, and their product is -a01 a10
            minus = half - root
            if half < 0.0:
                plus = -a[0, 1] * a[1, 0] / minus
            elif root > 0.0:
                minus = -a[0, 1] * a[1, 0] / plus
            x = Vector([plus if static(k == 0) else minus, a[1, 0]])
            if not x.norm_sqr() > 0.0:
                x = Vector([a[0, 1], -minus if static(k == 0) else -plus])
            length = x.norm()
            if length > 0.0:
                v[0, k] = x[0] / length
                v[2, k] = x[1] / length
            else:
                v[2 * k, k] = 1.0
    else:
        root = sqrt(-square)
        w[0, 0] = middle
        w[0, 1] = root
        w[1, 0] = middle
        w[1, 1] = -root
        length = sqrt(half * half + root * root + a[1, 0] * a[1, 0])
        for k in static(range(2)):
            v[0, k] = half / length
            v[1, k] = (root if k == 0 else -root) / length
            v[2, k] = a[1, 0] / length
    return w, v


@func
def solve(a, b, n: template()):
    """Elimination with row pivoting."""
    left = a
    x = b
    for k in static(range(n)):
        for i in static(range(k + 1, n)):
            if abs(left[i, k]) > abs(left[k, k]):
                for j in static(range(n)):
                    y = left[k, j]
                    left[k, j] = left[i, j]
                    left[i, j] = y
                z = x[k]
                x[k] = x[i]
                x[i] = z
        assert left[k, k] != 0.0, "Matrix is singular in linear solve."
        for i in static(range(k + 1, n)):
            factor = left[i, k] / left[k, k]
            for j in static(range(k, n)):
                left[i, j] -= factor * left[k, j]
            x[i] -= factor * x[k]
    for back in static(range(n)):
        total = x[n - 1 - back]
        for j in static(range(n - back, n)):
            total -= left[n - 1 - back, j] * x[j]
        x[n - 1 - back] = total / left[n - 1 - back, n - 1 - back]
    return x

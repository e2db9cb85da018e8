"""Handlers of `qd.svd` and its kin: checks of sizes, the type to compute in, and the code of lang/linalg_funcs.py inlined."""

from quadrants.lang import decompositions
from quadrants.lang.elementwise import cast
from quadrants.lang.exception import QuadrantsCompilationError, QuadrantsTypeError
from quadrants.lang.frontend.calls import PLAIN, call_with_values
from quadrants.lang.util import cook_dtype
from quadrants.lang.values import MATRICES, describe, element_dtype, load, make

_EPSILON = {2: 9.8e-4, 4: 1.2e-7, 8: 2.3e-16}


def _funcs():
    from quadrants.lang import linalg_funcs

    return linalg_funcs


def _matrix(w, name, x, sizes, refusal, dt):
    """(a square matrix cast to the type to compute in, its size, that type)."""
    x = load(w, x)
    if type(x) not in MATRICES or x.ndim != 2 or x.n != x.m:
        raise QuadrantsTypeError(f"qd.{name} takes a square matrix, got '{describe(w, x)}'")
    if x.n not in sizes:
        raise QuadrantsCompilationError(refusal)
    if dt is None:
        have = element_dtype(w, x)
        dt = w.promote(have, w.default_fp) if have.is_real else w.default_fp
    dt = cook_dtype(dt)
    if not dt.is_real:
        raise QuadrantsTypeError(f"qd.{name} computes in a real type, got dt={dt}")
    return cast(w, x, dt), x.n, dt


def _pairs(n):
    return tuple((p, q) for p in range(n) for q in range(p + 1, n))


def _cast_all(w, values, dt):
    return tuple(cast(w, v, dt) for v in values)


def svd_(w, A, dt=None):
    a, n, dt = _matrix(w, "svd", A, (2, 3), "SVD only supports 2×2 and 3×3 matrices.", dt)
    eps = w.b.const(_EPSILON[dt.size], dt)
    return _cast_all(w, call_with_values(w, _funcs().svd, (a, n, dt, _pairs(n), eps)), dt)


def _symmetric(w, name, A, dt):
    refusal = "Symmetric eigen solver currently supports sizes up to 6×6."
    a, n, dt = _matrix(w, name, A, range(1, 7), refusal, dt)
    one = w.b.const(1.0, dt)
    if n == 1:
        return n, dt, make(w, 1, 1, 1, list(a.data)), make(w, 1, 1, 2, [one])
    eps = w.b.const(_EPSILON[dt.size], dt)
    if n <= 4:
        found = call_with_values(w, _funcs().sym_eig_small, (a, n, dt, _pairs(n), eps))
    else:
        found = call_with_values(w, _funcs().sym_eig_large, (a, n, dt, eps))
    return n, dt, *_cast_all(w, found, dt)


def sym_eig_(w, A, dt=None):
    return _symmetric(w, "sym_eig", A, dt)[2:]


def make_spd_(w, A, dt=None):
    n, dt, values, vectors = _symmetric(w, "make_spd", A, dt)
    return cast(w, call_with_values(w, _funcs().without_negative, (values, vectors, n)), dt)


def polar_(w, A, dt=None):
    a, n, dt = _matrix(w, "polar_decompose", A, (2, 3), "Polar decomposition only supports 2×2 and 3×3 matrices.", dt)
    return _cast_all(w, call_with_values(w, _funcs().polar, svd_(w, a, dt)), dt)


def eig_(w, A, dt=None):
    a, _, dt = _matrix(w, "eig", A, (2,), "Eigen solver only supports 2×2 matrices.", dt)
    return _cast_all(w, call_with_values(w, _funcs().eig2, (a, dt)), dt)


def solve_(w, A, b, dt=None):
    a, n, dt = _matrix(w, "solve", A, (2, 3), "Only 2×2 and 3×3 matrices are supported", dt)
    b = load(w, b)
    if type(b) not in MATRICES or b.m != 1 or b.n != n:
        raise QuadrantsCompilationError(
            f"Matrix and Vector dimension dismatch: qd.solve takes a vector of {n} entries, got '{describe(w, b)}'"
        )
    return cast(w, call_with_values(w, _funcs().solve, (a, cast(w, b, dt), n)), dt)


PLAIN.update({
    decompositions.svd: svd_, decompositions.sym_eig: sym_eig_, decompositions.make_spd: make_spd_,
    decompositions.polar_decompose: polar_, decompositions.eig: eig_, decompositions.solve: solve_,
})  # fmt: skip

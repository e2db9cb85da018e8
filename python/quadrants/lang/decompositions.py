"""`qd.svd`, `qd.sym_eig` and the other decompositions of small matrices, one per thread. Inside kernels only.

The front end recognises these objects (frontend/decompositions.py) and inlines the code of linalg_funcs.py. All take the
matrix by value and compute in the type `dt`; None means the element type or `default_fp`, whichever is wider. Sizes are
known at compile time; one that isn't supported is a QuadrantsCompilationError.
"""

from typing import Any

from quadrants.lang.exception import QuadrantsSyntaxError


def _kernel_only(name: str) -> QuadrantsSyntaxError:
    return QuadrantsSyntaxError(f"qd.{name} can only be called inside kernels and functions.")


def svd(A: Any, dt: Any = None) -> Any:
    """Singular values: `U, S, V` with `A == U @ S @ V.transpose()`, for 2x2 and 3x3.

    U and V are orthogonal, S is diagonal and descending in magnitude. V is a rotation (det V = +1). For 2x2 the
    singular values are not negative and U takes the sign of det A; for 3x3 U is a rotation as well, and the last
    singular value has the sign of det A.
    """
    raise _kernel_only("svd")


def sym_eig(A: Any, dt: Any = None) -> Any:
    """Eigenvalues of a symmetric matrix, 1x1 to 6x6: `w, V`, w a vector in ascending order, the columns of V its
    orthonormal eigenvectors (their signs are unspecified). Of a matrix that isn't symmetric, the symmetric part."""
    raise _kernel_only("sym_eig")


def make_spd(A: Any, dt: Any = None) -> Any:
    """The nearest positive semidefinite matrix to a symmetric one, 1x1 to 6x6: negative eigenvalues become 0."""
    raise _kernel_only("make_spd")


def polar_decompose(A: Any, dt: Any = None) -> Any:
    """`U, P` with `A == U @ P`, U orthogonal and P symmetric, for 2x2 and 3x3.

    For 2x2, P is positive semidefinite; for 3x3, U is a rotation and the smallest eigenvalue of P has the sign of det A.
    """
    raise _kernel_only("polar_decompose")


def eig(A: Any, dt: Any = None) -> Any:
    """Eigenvalues of a general 2x2 matrix: a 2x2 matrix with one complex number per row (real and imaginary part), and a
    4x2 matrix with one eigenvector of norm 1 per column: real part, imaginary part of its two entries in turn.

    Real eigenvalues come in descending order, of a complex pair the one with positive imaginary part comes first.
    """
    raise _kernel_only("eig")


def solve(A: Any, b: Any, dt: Any = None) -> Any:
    """The vector x with `A @ x == b`, for 2x2 and 3x3, by elimination with pivoting.

    Of a singular matrix the result is not finite; with debug=True it is a QuadrantsAssertionError.
    """
    raise _kernel_only("solve")

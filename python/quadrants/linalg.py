"""`qd.linalg`: sparse matrices and solvers. Not supported yet; each name says so when it is used."""

import sys as _sys

from quadrants.lang.later import fill_module as _fill_module

_NAMES = _fill_module(
    _sys.modules[__name__],
    """
    class LinearOperator(matvec_kernel): matvec
    MatrixFreeBICGSTAB(A, b, x, tol=1e-06, maxiter=5000, quiet=True)
    MatrixFreeCG(A, b, x, tol=1e-06, maxiter=5000, quiet=True)
    class SparseCG(A, b, x0=None, max_iter=50, atol=1e-06): solve
    class SparseMatrix(n=None, m=None, sm=None, dtype=f32, storage_format="col_major"): build_from_ndarray mmwrite shape transpose
    class SparseMatrixBuilder(num_rows=None, num_cols=None, max_num_triplets=0, dtype=f32, storage_format="col_major"): build print_triplets
    class SparseSolver(dtype=f32, solver_type="LLT", ordering="AMD"): analyze_pattern compute factorize info solve
    """,
)


def __dir__() -> list[str]:
    return _NAMES

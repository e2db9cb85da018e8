"""`qd.svd`, `qd.sym_eig`, `qd.make_spd`, `qd.polar_decompose`, `qd.eig`, `qd.solve` and inverses, against NumPy."""

import numpy as np
import pytest

import quadrants as qd

RNG = np.random.default_rng(5)
NAMES = ["svd", "sym_eig", "make_spd", "polar_decompose", "eig"]


def matrices(n):
    """Matrices that decompositions find hard: equal, zero, tiny, huge, graded and negative values, rank 1."""
    general = RNG.normal(size=(n, n))
    ones = np.ones((n, n))
    ramp = np.diag(np.arange(1.0, n + 1))
    signs = np.diag([1.0, -2.0, 3.0, 0.5, -0.25, 7.0][:n])
    graded = np.diag(10.0 ** -np.arange(0.0, 2 * n, 2)) @ (np.eye(n) + 0.1 * general)
    return [general, -general, np.eye(n), -np.eye(n), 0 * ones, ones, ramp, ramp[::-1].copy(), signs, graded]


def scaled(n, dtype):
    big = 1e30 if dtype == "f32" else 1e200
    return matrices(n) + [big * m for m in matrices(n)[:2]] + [m / big for m in matrices(n)[:2]]


def run(name, inputs, shapes, dtype, dt=None, right=None):
    """`name` applied to each matrix inside a parallel loop; arrays of the results, whose shapes are given."""
    n, count, real = inputs[0].shape[0], len(inputs), getattr(qd, dtype)
    out = [np.zeros((count, *s), np.float64 if dtype == "f64" else np.float32) for s in shapes]
    a = np.stack(inputs).astype(out[0].dtype)
    b = np.zeros((count, n)) if right is None else np.stack(right)
    f, several, linear = getattr(qd, name), len(shapes), right is not None

    @qd.kernel
    def k(a: qd.types.NDArray[qd.types.matrix(n, n, real), 1], b: qd.types.NDArray[qd.types.vector(n, real), 1],
          r0: qd.types.ndarray(), r1: qd.types.ndarray(), r2: qd.types.ndarray()):  # fmt: skip
        for i in a:
            if qd.static(linear):
                x = f(a[i], b[i], dt)
                for j in qd.static(range(n)):
                    r0[i, j] = x[j]
            elif qd.static(several == 1):
                store(r0, i, f(a[i], dt))
            elif qd.static(several == 2):
                p, q = f(a[i], dt)
                store(r0, i, p)
                store(r1, i, q)
            else:
                p, q, s = f(a[i], dt)
                store(r0, i, p)
                store(r1, i, q)
                store(r2, i, s)

    k(a, b.astype(a.dtype), *(out * 3)[:3])
    return out


@qd.func
def store(r: qd.template(), i, m):
    for j in qd.static(range(m.n)):
        if qd.static(len(r.shape) == 2):
            r[i, j] = m[j]
        else:
            for k in qd.static(range(m.m)):
                r[i, j, k] = m[j, k]


def tolerance(dtype):
    return 3e-15 if dtype == "f64" else 2e-6


def close(got, want, dtype, factor=10.0):
    size = max(np.abs(want).max(), np.finfo(want.dtype).tiny)
    assert np.abs(got - want).max() <= factor * tolerance(dtype) * size, (got, want)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("n", [2, 3])
def test_svd(arch, n, dtype):
    inputs = scaled(n, dtype)
    for a, u, s, v in zip(inputs, *run("svd", inputs, [(n, n)] * 3, dtype)):
        a = a.astype(u.dtype)
        close(u @ s @ v.T, a, dtype)
        close(u @ u.T, np.eye(n, dtype=u.dtype), dtype)
        close(v @ v.T, np.eye(n, dtype=u.dtype), dtype)
        found = np.diag(s)
        assert (s == np.diag(found)).all() and np.linalg.det(v) > 0
        close(np.abs(found), np.linalg.svd(a.astype(np.float64))[1].astype(u.dtype), dtype)
        assert (np.diff(np.abs(found)) <= 0).all()
        if n == 2:
            assert (found >= 0).all()
        else:
            assert np.linalg.det(u) > 0 and (found[:2] >= 0).all()


def test_svd_keeps_small_values(arch):
    """Of a graded matrix each singular value is right to its own size, not to that of the largest."""
    a = np.diag([1.0, 1e-8, 1e-16]) @ np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4.0]])
    _, s, _ = run("svd", [a], [(3, 3)] * 3, "f64")
    product = np.prod(np.diag(s[0]))
    assert product == pytest.approx(np.linalg.det(a), rel=1e-12)
    assert np.diag(s[0])[2] == pytest.approx(np.linalg.svd(a)[1][2], rel=1e-6)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_symmetric_eigenvalues(arch, n, dtype):
    inputs = [m + m.T for m in scaled(n, dtype)]
    for a, w, v in zip(inputs, *run("sym_eig", inputs, [(n,), (n, n)], dtype)):
        a = a.astype(w.dtype)
        close(w, np.linalg.eigvalsh(a.astype(np.float64)).astype(w.dtype), dtype)
        close(v @ np.diag(w) @ v.T, a, dtype)
        close(v @ v.T, np.eye(n, dtype=w.dtype), dtype)
        assert (np.diff(w) >= 0).all()


def test_the_symmetric_part_counts(arch):
    (w, _) = run("sym_eig", [np.array([[1.0, 2.0], [5.0, 1.0]])], [(2,), (2, 2)], "f64")
    assert w[0] == pytest.approx([-2.5, 4.5])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_make_spd(arch, n):
    inputs = [m + m.T for m in matrices(n)]
    for a, got in zip(inputs, run("make_spd", inputs, [(n, n)], "f64")[0]):
        w, v = np.linalg.eigh(a)
        want = v @ np.diag(np.maximum(w, 0)) @ v.T
        assert np.abs(got - want).max() <= 1e-13 * max(np.abs(a).max(), 1e-300)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("n", [2, 3])
def test_polar(arch, n, dtype):
    inputs = scaled(n, dtype)
    for a, u, p in zip(inputs, *run("polar_decompose", inputs, [(n, n)] * 2, dtype)):
        a = a.astype(u.dtype)
        close(u @ p, a, dtype)
        close(u @ u.T, np.eye(n, dtype=u.dtype), dtype)
        close(p, p.T, dtype)
        if n == 3:
            assert np.linalg.det(u) > 0
        else:
            assert np.linalg.eigvalsh(p.astype(np.float64)).min() >= -tolerance(dtype) * np.abs(p).max()


PLANE = [
    [[1.0, 2.0], [3.0, 4.0]], [[1.0, -2.0], [3.0, 4.0]], [[0.0, -1.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]],
    [[1.0, 0.0], [0.0, 2.0]], [[2.0, 1.0], [0.0, 2.0]], [[2.0, 0.0], [1.0, 2.0]], [[3.0, 0.0], [0.0, 3.0]],
    [[0.0, 0.0], [0.0, 0.0]], [[-1.0, 1e-9], [1e-9, 1.0]], [[1.0, 5.0], [0.0, 2.0]], [[-4.0, 2.0], [1.0, -3.0]],
]  # fmt: skip


def test_general_eigenvalues(arch):
    inputs = [np.array(a) for a in PLANE]
    for a, w, v in zip(inputs, *run("eig", inputs, [(2, 2), (4, 2)], "f64")):
        values = w[:, 0] + 1j * w[:, 1]
        vectors = v[0::2] + 1j * v[1::2]
        assert np.abs(a @ vectors - vectors * values).max() <= 1e-14 * max(np.abs(a).max(), 1.0)
        assert np.abs(vectors).__pow__(2).sum(0) == pytest.approx([1.0, 1.0])
        assert values[0].real >= values[1].real and values[0].imag >= values[1].imag


def test_signs_of_eigenvectors(arch):
    """The older system's: a column of A less the other eigenvalue."""
    inputs = [np.array(a) for a in PLANE[:2]]
    _, v = run("eig", inputs, [(2, 2), (4, 2)], "f64")
    assert v[0, 0::2].tolist() == [
        pytest.approx([0.4159735579, -0.8245648401]),
        pytest.approx([0.9093767091, 0.5657674650]),
    ]
    assert v[1, :, 0].tolist() == pytest.approx([-0.3872983346, 0.5, 0.7745966692, 0.0])


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("n", [2, 3])
def test_solve(arch, n, dtype):
    inputs = [m for m in matrices(n) if np.linalg.matrix_rank(m) == n]
    inputs.append(np.roll(np.eye(n), 1, axis=0) + 1e-12 * np.ones((n, n)))  # needs pivoting
    right = [RNG.normal(size=n) for _ in inputs]
    for a, b, x in zip(inputs, right, run("solve", inputs, [(n,)], dtype, right=right)[0]):
        assert np.abs(a @ x - b).max() <= 100 * tolerance(dtype) * np.linalg.cond(a)


def test_solve_of_a_singular_matrix(init):
    init(debug=True)
    a = qd.Matrix.field(2, 2, qd.f32, shape=())

    @qd.kernel
    def k() -> qd.types.vector(2, qd.f32):
        return qd.solve(a[None], qd.Vector([1.0, 2.0]))

    with pytest.raises(qd.QuadrantsAssertionError, match="singular"):
        k()


SQUARE = "SVD only supports 2×2 and 3×3 matrices."
SIZES = [
    ("svd", 1, SQUARE), ("svd", 4, SQUARE),
    ("polar_decompose", 4, "Polar decomposition only supports 2×2 and 3×3 matrices."),
    ("sym_eig", 7, "Symmetric eigen solver currently supports sizes up to 6×6."),
    ("make_spd", 7, "Symmetric eigen solver currently supports sizes up to 6×6."),
    ("eig", 3, "Eigen solver only supports 2×2 matrices."),
    ("solve", 4, "Only 2×2 and 3×3 matrices are supported"),
]  # fmt: skip


@pytest.mark.parametrize("name, n, text", SIZES)
def test_sizes_refused(arch, name, n, text):
    f = getattr(qd, name)

    @qd.kernel
    def k():
        m = qd.Matrix.zero(qd.f32, n, n)
        if qd.static(name == "solve"):
            f(m, qd.Vector.zero(qd.f32, n))
        else:
            f(m)

    with pytest.raises(qd.QuadrantsCompilationError, match=text.replace(".", r"\.")):
        k()


@pytest.mark.parametrize("name", NAMES)
def test_only_square_matrices_of_reals(arch, name):
    f = getattr(qd, name)

    @qd.kernel
    def not_square():
        f(qd.Matrix.zero(qd.f32, 2, 3))

    @qd.kernel
    def not_real():
        f(qd.Matrix.identity(qd.f32, 2), qd.i32)

    with pytest.raises(qd.QuadrantsTypeError, match="takes a square matrix"):
        not_square()
    with pytest.raises(qd.QuadrantsTypeError, match="real type, got dt=i32"):
        not_real()
    with pytest.raises(qd.QuadrantsSyntaxError, match=f"qd.{name} can only be called inside kernels"):
        f(qd.Matrix([[1.0, 0.0], [0.0, 1.0]]))


def test_vector_of_another_size(arch):
    @qd.kernel
    def k():
        qd.solve(qd.Matrix.identity(qd.f32, 2), qd.Vector([1.0, 2.0, 3.0]))

    with pytest.raises(qd.QuadrantsCompilationError, match="dimension dismatch"):
        k()


def test_the_wider_type_computes(init):
    """Without `dt`: the element type or the default, whichever is wider; integers become the default."""
    init(default_fp=qd.f64)

    @qd.kernel
    def k() -> qd.types.vector(2, qd.f64):
        w, _ = qd.sym_eig(qd.Matrix([[1, 2], [2, 2]]))
        v, _ = qd.sym_eig(qd.cast(qd.Matrix([[1, 2], [2, 2]]), qd.f32))
        return qd.Vector([w[0], v[1]])

    assert list(k()) == pytest.approx(np.linalg.eigvalsh([[1.0, 2], [2, 2]]).tolist(), rel=1e-14)


@pytest.mark.parametrize("n", range(1, 13))
def test_inverse(arch, n):
    a = RNG.normal(size=(4, n, n)) + 2 * np.eye(n)
    got = np.zeros_like(a)

    @qd.kernel
    def k(a: qd.types.NDArray[qd.types.matrix(n, n, qd.f64), 1], r: qd.types.NDArray[qd.types.matrix(n, n, qd.f64), 1]):
        for i in a:
            r[i] = a[i].inverse()

    k(a, got)
    assert np.allclose(got, np.linalg.inv(a), rtol=1e-9, atol=1e-11)


def test_another_name_for_a_large_argument_is_a_copy(arch):
    @qd.func
    def changed(v):
        c = v
        c[0] = 100
        return v[0] * 1000 + c[0]

    @qd.kernel
    def k() -> qd.i32:
        return changed(qd.Vector.one(qd.i32, 20))

    assert k() == 1100

"""Vectors and matrices inside kernels, against NumPy. Sizes up to 16 scalars are tuples of scalars, larger ones local arrays."""

import numpy as np
import pytest
from program_text import kernel_of, load

import quadrants as qd

V = {"u": np.array([1.5, -2.0, 3.0]), "v": np.array([4.0, 5.0, -6.5])}
A = np.array([[2.0, 1.0, 0.5], [0.0, 3.0, -1.0], [1.0, -2.0, 4.0]])
B = np.array([[1.0, 0.0, 2.0], [-1.0, 1.0, 0.0], [0.5, 2.0, 1.0]])
NAMES = "u = qd.Vector([1.5, -2.0, 3.0])\nv = qd.Vector([4.0, 5.0, -6.5])\n" + "".join(
    f"{n} = qd.Matrix({m.tolist()})\n" for n, m in (("A", A), ("B", B))
)
u, v = V["u"], V["v"]

ROWS = [
    # expression, result type (number of rows, columns; 0 for a scalar), value
    ("u + v * 2.0", 3, u + v * 2),
    ("2.0 - u", 3, 2 - u),
    ("u / v", 3, u / v),
    ("-u", 3, -u),
    ("u // 1.0", 3, u // 1),
    ("u ** 2", 3, u**2),
    ("abs(u)", 3, abs(u)),
    ("qd.max(u, v)", 3, np.maximum(u, v)),
    ("qd.floor(u)", 3, np.floor(u)),
    ("qd.select(u > v, u, v)", 3, np.maximum(u, v)),
    ("u.dot(v)", 0, u @ v),
    ("u.cross(v)", 3, np.cross(u, v)),
    ("u.outer_product(v)", (3, 3), np.outer(u, v)),
    ("u.norm()", 0, np.linalg.norm(u)),
    ("u.norm(1.0)", 0, np.sqrt((u * u).sum() + 1)),
    ("u.norm_sqr()", 0, (u * u).sum()),
    ("u.norm_inv()", 0, 1 / np.linalg.norm(u)),
    ("u.normalized()", 3, u / np.linalg.norm(u)),
    ("u.sum() + u.max() - u.min()", 0, u.sum() + u.max() - u.min()),
    ("A @ B", (3, 3), A @ B),
    ("A @ u", 3, A @ u),
    ("u @ A", 3, u @ A),
    ("A * B - 1.0", (3, 3), A * B - 1),
    ("A.transpose()", (3, 3), A.T),
    ("A.trace()", 0, np.trace(A)),
    ("A.determinant()", 0, np.linalg.det(A)),
    ("A.inverse()", (3, 3), np.linalg.inv(A)),
    ("A.sum()", 0, A.sum()),
    ("A.frobenius_inner(B)", 0, (A * B).sum()),
    ("A[1, 2] + A[0, 0]", 0, A[1, 2] + A[0, 0]),
    ("A[0:2, 1]", 2, A[0:2, 1]),
    ("A[1, :]", 3, A[1]),
    ("A[0:2, 1:3]", (2, 2), A[0:2, 1:3]),
    ("u[0:2]", 2, u[0:2]),
    ("u.zyx", 3, u[::-1]),
    ("u.xy", 2, u[:2]),
    ("u.r + v.t", 0, u[0] + v[1]),
    ("qd.Matrix.rows([u, v])", (2, 3), np.stack([u, v])),
    ("qd.Matrix.cols([u, v])", (3, 2), np.stack([u, v]).T),
    ("qd.Vector([[1.0, 2.0], [3.0, 4.0]])", (2, 2), np.array([[1.0, 2.0], [3.0, 4.0]])),
    ("qd.Matrix.identity(qd.f64, 3)", (3, 3), np.eye(3)),
    ("qd.Matrix.diag(2, 4.0)", (2, 2), np.eye(2) * 4),
    ("qd.Vector.zero(qd.f64, 3) + qd.Vector.one(qd.f64, 3)", 3, np.ones(3)),
    ("qd.Vector.unit(3, 1, qd.f64)", 3, [0, 1, 0]),
    ("qd.math.mix(u, v, 0.25)", 3, u * 0.75 + v * 0.25),
    ("qd.math.normalize(u)", 3, u / np.linalg.norm(u)),
    ("qd.types.vector(3, qd.f64)(1, u.x, 2)", 3, [1, 1.5, 2]),
    ("qd.math.vec4(u, 7.0)[3]", 0, 7.0),
    ("qd.cast(u, qd.i32) * 1.0", 3, [1, -2, 3]),
    ("(u * 1.0).cast(qd.i32) * 1.0", 3, [1, -2, 3]),
    ("u.n * 10 + A.m", 0, 33),
    ("len(u)", 0, 3),
    ("any(u * 0.0) + all(u) * 2 + (A - A).any() * 4 + B.all() * 8", 0, 2 + 8 * B.all()),  # of reals: not zero
]


def _type(shape):
    if shape == 0:
        return "qd.f64"
    return (
        f"qd.types.vector({shape}, qd.f64)"
        if isinstance(shape, int)
        else f"qd.types.matrix({shape[0]}, {shape[1]}, qd.f64)"
    )


def _value(got):
    return got.to_numpy() if hasattr(got, "to_numpy") else got


@pytest.mark.parametrize("expression, shape, expected", ROWS)
def test_small(init, expression, shape, expected):
    init(default_fp=qd.f64)
    np.testing.assert_allclose(
        _value(kernel_of(expression, "", _type(shape), NAMES)()), expected, rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("expression, shape, expected", ROWS)
def test_small_variables(init, expression, shape, expected):
    """The same with operands that are variables, changed after they were made."""
    init(default_fp=qd.f64)
    change = "u += 1.0\nu -= 1.0\nv *= 2.0\nv /= 2.0\nA[0, 0] += 1.0\nA[0, 0] -= 1.0\nB += 1.0\nB -= 1.0\n"
    np.testing.assert_allclose(
        _value(kernel_of(expression, "", _type(shape), NAMES + change)()), expected, rtol=1e-12, atol=1e-14
    )


_rng = np.random.default_rng(0)
P, Q = _rng.normal(size=(5, 5)), _rng.normal(size=(5, 5))
p = _rng.normal(size=20)
LARGE = [
    ("P + Q * 2.0", (5, 5), P + Q * 2),
    ("P @ Q", (5, 5), P @ Q),
    ("P @ P[0, :]", 5, P @ P[0]),
    ("P.transpose()", (5, 5), P.T),
    ("P.trace()", 0, np.trace(P)),
    ("P.inverse()", (5, 5), np.linalg.inv(P)),
    ("p.sum() + p.max()", 0, p.sum() + p.max()),
    ("p.dot(p)", 0, p @ p),
    ("p.norm()", 0, np.linalg.norm(p)),
    ("qd.sin(p)", 20, np.sin(p)),
    ("p[3] + p[19]", 0, p[3] + p[19]),
    ("p[2:5]", 3, p[2:5]),
    ("P[1, 4]", 0, P[1, 4]),
    ("p * (p > 0.0)", 20, p * (p > 0)),
]


@pytest.mark.parametrize("expression, shape, expected", LARGE)
def test_large(init, expression, shape, expected):
    init(default_fp=qd.f64)
    text = f"""
    @qd.kernel
    def k(P0: qd.types.NDArray[qd.types.matrix(5, 5, qd.f64), 1], p0: qd.types.NDArray[qd.types.vector(20, qd.f64), 1]) -> {_type(shape)}:
        P = P0[0]
        Q = P0[1]
        p = p0[0]
        return {expression}
    """
    got = load(text)["k"](np.stack([P, Q]), p[None])
    np.testing.assert_allclose(_value(got), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [3, 16, 17, 40])
def test_run_time_index(arch, n):
    """Reads and writes at a run-time index, of small and large vectors."""

    @qd.kernel
    def k(out: qd.types.NDArray[qd.i32, 2]):
        for r in range(out.shape[0]):
            v = qd.Vector.zero(qd.i32, n)
            for i in range(n):
                v[i] = i * i + r
            v[r] += 100
            w = v
            w[0] = -1
            for i in range(n):
                out[r, i] = v[i]

    out = np.zeros((3, n), np.int32)
    k(out)
    want = np.arange(n) ** 2 + np.arange(3)[:, None]
    for r in range(3):
        want[r, r] += 100
    np.testing.assert_array_equal(out, want)


def test_run_time_index_of_matrices(arch):
    @qd.kernel
    def k(out: qd.types.NDArray[qd.i32, 2]):
        for t in range(1):
            m = qd.Matrix.zero(qd.i32, 3, 4)
            for i, j in qd.ndrange(3, 4):
                m[i, j] = i * 10 + j
            for i in range(3):
                row = m[i, :]
                out[i, 0] = row.sum()
                out[i, 1] = m[i, 2]

    out = np.zeros((3, 2), np.int32)
    k(out)
    assert out.tolist() == [[6, 2], [46, 12], [86, 22]]


@pytest.mark.parametrize("layout", ["AOS", "SOA"])
def test_components_of_fields(arch, layout):
    f = qd.Matrix.field(2, 3, qd.f32, shape=(4,), layout=getattr(qd.Layout, layout))

    @qd.kernel
    def k():
        for i in f:
            f[i] = qd.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) * i
            f[i][1, 2] += 0.5
            for j in range(3):
                f[i][0, j] -= j
            f[i] += qd.Matrix.one(qd.f32, 2, 3)

    k()
    want = np.arange(1, 7).reshape(2, 3) * np.arange(4)[:, None, None] + 1.0
    want[:, 1, 2] += 0.5
    want[:, 0, :] -= np.arange(3)
    np.testing.assert_array_equal(f.to_numpy(), want.astype(np.float32))


def test_swizzle_writes(arch):
    f = qd.Vector.field(3, qd.f32, shape=())

    @qd.kernel
    def k():
        v = qd.Vector([1.0, 2.0, 3.0])
        v.zx = v.xy
        v.y *= 10.0
        f[None] = v
        f[None].yz = qd.Vector([7.0, 8.0])

    k()
    assert f[None].to_list() == [2.0, 7.0, 8.0]


def test_assigned_vectors_are_copies(arch):
    @qd.kernel
    def k() -> qd.types.vector(4, qd.i32):
        a = qd.Vector([1, 2])
        b = a
        a[0] = 9
        b.fill(3)
        return qd.Vector([a[0], a[1], b[0], b[1]])

    assert k().to_list() == [9, 2, 3, 3]


@pytest.mark.parametrize("kind", ["vector field", "array"])
def test_reads_follow_writes_of_the_same_iteration(arch, kind):
    """Neighbouring elements written, then read by the same iteration: vector code must not move the reads up."""
    f = qd.Vector.field(2, qd.i32, shape=64)

    @qd.kernel
    def of_field():
        for i in f:
            f[i] = [i, 2 * i]
            f[i].y += f[i].x + 100

    @qd.kernel
    def of_array(a: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in range(64):
            a[2 * i] = i
            a[2 * i + 1] = 2 * i
            a[2 * i + 1] = a[2 * i + 1] + a[2 * i] + 100

    a = np.zeros(128, np.int32)
    of_field() if kind == "vector field" else of_array(a)
    got = f.to_numpy() if kind == "vector field" else a.reshape(64, 2)
    assert got.tolist() == [[i, 3 * i + 100] for i in range(64)]


# Statement, and what all elements and components of a field of three 2x2 matrices add up to after 96 iterations of it.
UPDATES = [
    ("m[i % 3][j, i % 2] += 1", 96),
    ("m[i % 3][0, j] -= 2", -192),
    ("m[i % 3][j, 0:2] += 1", 192),
    ("m[i % 3][j, 0:2] += qd.Vector([1, 2])", 288),
    ("m[i % 3][0:2, j] += m[i % 3][0:2, j] * 0 + 1", 192),
    ("qd.atomic_add(m[i % 3][j, j], 1)", 96),
    ("qd.atomic_add(m[i % 3][j, 0:2], 1)", 192),
    ("qd.atomic_max(m[i % 3][j, j], i)", 93 + 94 + 95),
    ("m[0][j, 0] |= 1 << (i % 16)", 65535),
    ("for k in range(2):\n            m[i % 3][k, j] += k + 1", 288),
    ("last = qd.atomic_add(m[0][j, j], 1)\n        if last == 95:\n            m[1][0, 0] += 1000", 1096),
]


@pytest.mark.parametrize("layout", ["AOS", "SOA"])
@pytest.mark.parametrize("statement, total", UPDATES)
def test_components_of_elements_at_run_time_indices_are_updated_atomically(arch, layout, statement, total):
    m = qd.Matrix.field(2, 2, qd.i32, shape=3, layout=getattr(qd.Layout, layout))
    load(f"@qd.kernel\ndef k(j: qd.i32):\n    for i in range(96):\n        {statement}\n", m=m)["k"](1)
    assert m.to_numpy().sum() == total


def test_components_of_a_shared_vector_are_written_one_by_one(arch):
    """A kernel-scope vector that a parallel loop writes at a run-time index: no iteration undoes another's write."""
    k = load("""
@qd.kernel
def k(n: qd.i32) -> qd.types.vector(4, qd.i32):
    v = qd.Vector([0, 0, 0, 0])
    for i in range(n):
        v[i % 3] += 1
        v[3] = 7
    return v
""")["k"]
    n = 30000 if arch == "reference" else 3000000
    for _ in range(5):
        assert list(k(n)) == [n // 3] * 3 + [7]

"""`qd.simt.Tile16x16` and `Tile32x32` against NumPy. Needs `--arch reference` or `cuda`; the refusal is the CPU's."""

import numpy as np
import pytest

import quadrants as qd

KINDS = {16: "Tile16x16", 32: "Tile32x32"}
DTYPES = {qd.f32: (np.float32, 2e-4), qd.f64: (np.float64, 1e-10)}
both_sizes = pytest.mark.parametrize("n", KINDS)
both_types = pytest.mark.parametrize("dtype", DTYPES, ids=str)
rng = np.random.default_rng(11)


def kind(n):
    return getattr(qd.simt, KINDS[n])


def matrix(dtype, values):
    x = qd.field(dtype, values.shape)
    x.from_numpy(values)
    return x


def positive(n, dtype, count=None):
    m = rng.standard_normal((count or 1, n, n))
    out = (m @ m.transpose(0, 2, 1) + n * np.eye(n)).astype(DTYPES[dtype][0])
    return out if count else out[0]


@both_types
@both_sizes
def test_zeros_eye_and_size(team, n, dtype):
    T = kind(n)
    a, b, c = (matrix(dtype, np.full((n, n), 7, DTYPES[dtype][0])) for _ in range(3))

    @qd.kernel
    def k() -> qd.i32:
        qd.loop_config(block_dim=n)
        for _ in range(n):
            t = T.zeros(dtype=dtype)
            a[0:n, 0:n] = t
            t = T.eye(dtype=dtype)
            b[0 : T.SIZE, 0 : t.SIZE] = t
            t[:] = c[0:n, 0:n]
            t.eye_()
            c[0:n, 0:n] = t
        return T.SIZE

    assert k() == n == T.SIZE
    assert not a.to_numpy().any()
    np.testing.assert_array_equal(b.to_numpy(), np.eye(n))
    np.testing.assert_array_equal(c.to_numpy(), np.eye(n))


def test_default_type(team_init):
    team_init(default_fp=qd.f64)
    x = matrix(qd.f64, rng.random((16, 16)))
    y = matrix(qd.f64, np.zeros((16, 16)))

    @qd.kernel
    def k():
        for _ in range(16):
            t = qd.simt.Tile16x16.zeros()
            t[:] = x[0:16, 0:16]
            y[0:16, 0:16] = t

    k()
    np.testing.assert_array_equal(y.to_numpy(), x.to_numpy())


PLACES = [
    (0, 0, 16, 16),
    (3, 5, 19, 21),
    (30, 5, 46, 17),
    (2, 36, 9, 52),
    (39, 39, 40, 40),
    (4, 4, 4, 20),
    (0, 0, 40, 40),
]


@pytest.mark.parametrize("memory", ["field", "columns first", "ndarray", "numpy", "constants"])
@both_sizes
def test_parts_of_arrays(team, n, memory):
    """What lies outside of the slice or of the array is left alone, in the tile and in memory."""
    T = kind(n)
    a = rng.random((40, 40), dtype=np.float32)

    @qd.func
    def move(x, y, r0, c0, r1, c1):
        t = T.eye()
        t[:] = x[r0:r1, c0:c1]
        y[0:n, 0:n] = t

    @qd.kernel
    def of_fields(x: qd.template(), y: qd.template(), r0: int, c0: int, r1: int, c1: int):
        qd.loop_config(block_dim=n)
        for _ in range(n):
            move(x, y, r0, c0, r1, c1)

    @qd.kernel
    def of_arrays(
        x: qd.types.ndarray(qd.f32, 2), y: qd.types.ndarray(qd.f32, 2), r0: qd.i64, c0: qd.u8, r1: qd.i64, c1: qd.u8
    ):
        qd.loop_config(block_dim=n)
        for _ in range(n):
            move(x, y, r0, c0, r1, c1)

    for r0, c0, r1, c1 in PLACES:
        if memory in ("field", "constants", "columns first"):
            order = {"order": "ji"} if memory == "columns first" else {}
            x, y = qd.field(qd.f32, (40, 40), **order), qd.field(qd.f32, (n, n))
            x.from_numpy(a)
            if memory == "constants":

                @qd.kernel
                def fixed():
                    qd.loop_config(block_dim=n)
                    for _ in range(n):
                        move(x, y, r0, c0, r1, c1)

                fixed()
            else:
                of_fields(x, y, r0, c0, r1, c1)
            got = y.to_numpy()
        elif memory == "numpy":
            got = np.zeros((n, n), np.float32)
            of_arrays(a, got, r0, c0, r1, c1)
        else:
            x, y = qd.ndarray(qd.f32, (40, 40)), qd.ndarray(qd.f32, (n, n))
            x.from_numpy(a)
            of_arrays(x, y, r0, c0, r1, c1)
            got = y.to_numpy()
        want = np.eye(n, dtype=np.float32)
        part = a[r0:r1, c0:c1][:n, :n]
        want[: part.shape[0], : part.shape[1]] = part
        np.testing.assert_array_equal(got, want, err_msg=str((r0, c0, r1, c1)))


def test_stores_stay_inside(team):
    x = matrix(qd.f32, np.zeros((20, 20), np.float32))

    @qd.kernel
    def k(r0: int, c0: int, r1: int, c1: int):
        qd.loop_config(block_dim=32)  # a subgroup with lanes that have no row
        for i in range(32):
            t = qd.simt.Tile16x16.zeros()
            t -= qd.outer(-1.0, 1.0)
            x[r0:r1, c0:c1] = t

    for r0, c0, r1, c1 in [(10, 8, 26, 24), (0, 0, 5, 3), (2, 3, 18, 19)]:
        x.fill(0)
        k(r0, c0, r1, c1)
        want = np.zeros((20, 20), np.float32)
        want[r0:r1, c0:c1] = 1
        np.testing.assert_array_equal(x.to_numpy(), want)


@both_types
@both_sizes
def test_batches_a_subgroup_each(team, n, dtype):
    """Three axes; as many tiles as subgroups."""
    T, count = kind(n), 6
    spd = positive(n, dtype, count)
    x = matrix(dtype, spd)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=64)
        for i in range(count * 32):
            e = i // 32
            t = T.zeros(dtype=dtype)
            t[:] = x[e, 0:n, 0:n]
            t.cholesky_(1e-12)
            x[e, 0:n, 0:n] = t

    k()
    np.testing.assert_allclose(x.to_numpy(), np.linalg.cholesky(spd.astype(float)), atol=DTYPES[dtype][1])


@both_types
@both_sizes
def test_columns_and_rank_one_updates(team, n, dtype):
    T = kind(n)
    a, b, c = (rng.standard_normal((2, n + 3, 5)).astype(DTYPES[dtype][0]) for _ in range(3))
    x, y = matrix(dtype, a), matrix(dtype, b)
    out, kept = matrix(dtype, np.zeros((n, n))), matrix(dtype, np.zeros((n, 2)))

    @qd.kernel
    def k(short: int):
        qd.loop_config(block_dim=n)
        for _ in range(n):
            t = T.eye(dtype=dtype)
            for j in range(5):
                u = x[1, 2 : 2 + n, j]
                t -= qd.outer(u, y[0, 3 : short + 3, j])
            t += qd.outer(x[0, 0:n, 1], x[0, 0:n, 1])
            out[0:n, 0:n] = t
            kept[0:n, 0] = x[0, 1:short, 2]
            kept[0:n, 1] = 2

    k(n - 4)
    v = b[0, 3 : 3 + n].copy()
    v[n - 4 :] = 0  # past the slice
    want = np.eye(n) - a[1, 2 : 2 + n] @ v.T + np.outer(a[0, :n, 1], a[0, :n, 1])
    np.testing.assert_allclose(out.to_numpy(), want, atol=DTYPES[dtype][1])
    column = np.zeros(n)
    column[: n - 5] = a[0, 1 : n - 4, 2]
    np.testing.assert_array_equal(kept.to_numpy()[:, 0], column.astype(DTYPES[dtype][0]))
    assert (kept.to_numpy()[:, 1] == 2).all()


@both_types
@both_sizes
def test_cholesky_and_triangular_solve(team, n, dtype):
    T = kind(n)
    spd, right = positive(n, dtype), rng.standard_normal((n, n)).astype(DTYPES[dtype][0])
    a, b = matrix(dtype, spd), matrix(dtype, right)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=n)
        for _ in range(n):
            L, X = T.zeros(dtype=dtype), T.zeros(dtype=dtype)
            L[:] = a[0:n, 0:n]
            X[:] = b[0:n, 0:n]
            L.cholesky_(1e-12)
            L.solve_triangular_(X)
            a[0:n, 0:n] = L
            b[0:n, 0:n] = X

    k()
    L = np.linalg.cholesky(spd.astype(float))
    np.testing.assert_allclose(a.to_numpy(), L, atol=DTYPES[dtype][1])
    assert not np.triu(a.to_numpy(), 1).any()
    np.testing.assert_allclose(b.to_numpy() @ L.T, right, atol=DTYPES[dtype][1] * n)


def test_small_diagonals_are_eps(team):
    a = matrix(qd.f64, np.diag(np.array([4.0, -1, 0, 9] * 4)))

    @qd.kernel
    def k(eps: qd.f64):
        for _ in range(16):
            t = qd.simt.Tile16x16.zeros(dtype=qd.f64)
            t[:] = a[0:16, 0:16]
            t.cholesky_(eps)
            a[0:16, 0:16] = t

    k(0.25)
    np.testing.assert_array_equal(np.diag(a.to_numpy()), [2, 0.5, 0.5, 3] * 4)


@both_sizes
def test_shared_arrays(team, n):
    T = kind(n)
    spd = positive(n, qd.f32)
    a, narrow = matrix(qd.f32, spd), matrix(qd.f32, np.ones((n, n), np.float32))

    @qd.kernel
    def k():
        qd.loop_config(block_dim=n)
        for i in range(n):
            whole = qd.simt.block.SharedArray((n, n), qd.f32)
            part = qd.simt.block.SharedArray((n, 5), qd.f32)
            t, u = T.zeros(), T.zeros()
            t[:] = a[0:n, 0:n]
            t.cholesky_(1e-9)
            whole[0:n, 0:n] = t
            part[0:n, 0:n] = t
            qd.simt.block.sync()
            t.eye_()
            for j in range(n):
                v = whole[0:n, j]
                t -= qd.outer(v, v)
            u[:] = part[0:n, 0:n]
            a[0:n, 0:n] = t
            narrow[0:n, 0:n] = u

    k()
    np.testing.assert_allclose(a.to_numpy(), np.eye(n) - spd, atol=1e-4 * n)
    want = np.linalg.cholesky(spd.astype(float))
    want[:, 5:] = 0
    np.testing.assert_allclose(narrow.to_numpy(), want, atol=1e-4)


def test_names_copies_lists_and_branches(team):
    T = qd.simt.Tile16x16
    x = matrix(qd.f32, np.zeros((64, 16), np.float32))

    @qd.func
    def doubled(t):
        r = t
        r += qd.outer(1.0, 1.0)
        return r

    @qd.kernel
    def k(c: int):
        qd.loop_config(block_dim=16)
        for _ in range(16):
            t = T.eye()
            u = t  # a copy
            t -= qd.outer(1.0, 1.0)
            if c > 0:
                u = t
            many = [T.zeros() for _ in range(3)]
            for m in qd.static(range(3)):
                many[m] += qd.outer(qd.cast(m, qd.f32), 1.0)
            v = doubled(many[2])
            x[0:16, 0:16] = u
            x[16:32, 0:16] = many[1]
            x[32:48, 0:16] = many[2]
            x[48:64, 0:16] = v

    for c in (0, 1):
        k(c)
        got = x.to_numpy().reshape(4, 16, 16)
        np.testing.assert_array_equal(got[0], np.eye(16) - c)
        np.testing.assert_array_equal(got[1:], np.broadcast_to(np.array([1, 2, 3]).reshape(3, 1, 1), (3, 16, 16)))


@both_sizes
def test_blocked_cholesky(team, n):
    """Many matrices whose size is no multiple of a tile's, one subgroup each: what tiles are for."""
    T, N, envs = kind(n), 2 * n + 11, 3
    blocks = -(-N // n)
    spd = positive(N, qd.f64, envs)
    A, L = matrix(qd.f64, spd), matrix(qd.f64, np.zeros((envs, N, N)))

    @qd.kernel
    def k():
        qd.loop_config(block_dim=n)
        for i in range(envs * n):
            e = i // n
            for kb in range(blocks):
                k0, k1 = kb * n, qd.min(kb * n + n, N)
                d = T.eye(dtype=qd.f64)
                d[:] = A[e, k0:k1, k0:k1]
                for j in range(k0):
                    v = L[e, k0:k1, j]
                    d -= qd.outer(v, v)
                d.cholesky_(1e-12)
                L[e, k0:k1, k0:k1] = d
                for ib in range(kb + 1, blocks):
                    i0, i1 = ib * n, qd.min(ib * n + n, N)
                    t = T.zeros(dtype=qd.f64)
                    t[:] = A[e, i0:i1, k0:k1]
                    for j in range(k0):
                        t -= qd.outer(L[e, i0:i1, j], L[e, k0:k1, j])
                    d.solve_triangular_(t)
                    L[e, i0:i1, k0:k1] = t

    k()
    np.testing.assert_allclose(L.to_numpy(), np.linalg.cholesky(spd), atol=1e-9)


def test_bounds_are_checked(team_init):
    team_init(debug=True)
    x = matrix(qd.f32, np.ones((2, 16, 16), np.float32))

    @qd.kernel
    def k(e: int, r: int):
        qd.loop_config(block_dim=16)
        for _ in range(16):
            t = qd.simt.Tile16x16.zeros()
            t[:] = x[e, r : r + 16, 0:16]
            x[0, 0:16, 0:16] = t

    k(1, 8)
    with pytest.raises(AssertionError, match="with indices"):
        k(2, 0)
    with pytest.raises(AssertionError, match="with indices"):
        k(0, -1)


WRONG = {
    "t[0:4] = x[0:16, 0:16]": (qd.QuadrantsSyntaxError, "as a whole only"),
    "t[:] = 3.0": (qd.QuadrantsTypeError, "takes a part of an array"),
    "t[:] = y[:]": (qd.QuadrantsSyntaxError, "a part of an array is a"),
    "t[:] = x[0:, 0:16]": (qd.QuadrantsSyntaxError, "need both bounds"),
    "t[:] = x[0:16:2, 0:16]": (qd.QuadrantsSyntaxError, "no step"),
    "t[:] = x[0.5:16, 0:16]": (qd.QuadrantsTypeError, "must be integers, found 'f32'"),
    "t[:] = x[0, 0:16, 0:16]": (IndexError, "dim 2 accessed with indices of dim 3"),
    "t[:] = v[0:16, 0:16]": (qd.QuadrantsTypeError, "arrays of scalars"),
    "x[0:16, 0:16] = 1.0": (qd.QuadrantsSyntaxError, "can be assigned a tile only"),
    "x[0:16, 0:16] -= 1.0": (qd.QuadrantsSyntaxError, "cannot assign"),
    "x[0, 0:16] = 1.0": (qd.QuadrantsSyntaxError, "a column"),
    "t -= 1.0": (qd.QuadrantsSyntaxError, "by `t -= qd.outer"),
    "t *= qd.outer(1.0, 1.0)": (qd.QuadrantsSyntaxError, "by `t -= qd.outer"),
    "u = qd.outer(1.0, 2.0) + 1.0": (TypeError, "Outer"),
    "t -= qd.outer(qd.Vector([1.0, 2.0]), 1.0)": (qd.QuadrantsTypeError, "qd.outer takes columns"),
    "t.solve_triangular_(1.0)": (qd.QuadrantsTypeError, "solve_triangular_ takes a Tile16x16"),
    "t.solve_triangular_(qd.simt.Tile32x32.eye())": (qd.QuadrantsTypeError, "takes a Tile16x16"),
    "t.solve_triangular_(t, lower=False)": (qd.QuadrantsSyntaxError, "lower=True"),
    "t.cholesky_()": (qd.QuadrantsTypeError, "wrong arguments for `Tile16x16.cholesky_`"),
    "qd.simt.Tile16x16.zeros(dtype=qd.i32).cholesky_(1)": (qd.QuadrantsTypeError, "real numbers"),
    "t.inverse()": (AttributeError, "no attribute 'inverse'"),
    "qd.simt.Tile16x16.ones()": (AttributeError, "no attribute 'ones'"),
}


@pytest.mark.parametrize("statement", WRONG)
def test_errors(team, statement, tmp_path):
    error, text = WRONG[statement]
    program = tmp_path / "program.py"
    program.write_text(
        "import quadrants as qd\n@qd.kernel\ndef k():\n    for i in range(16):\n"
        f"        t = qd.simt.Tile16x16.zeros()\n        {statement}\n"
    )
    x, y, v = qd.field(qd.f32, (16, 16)), qd.field(qd.f32, 16), qd.Vector.field(2, qd.f32, (16, 16))
    space = {"x": x, "y": y, "v": v}
    exec(compile(program.read_text(), str(program), "exec"), space)  # noqa: S102 - text of this test
    with pytest.raises(qd.QuadrantsCompilationError) as caught:
        space["k"]()
    assert text in str(caught.value), caught.value
    assert f"{statement}" in str(caught.value)
    assert isinstance(caught.value, error) or not issubclass(error, qd.QuadrantsCompilationError)


def test_outside_of_kernels_and_loops(team):
    for f in (qd.simt.Tile16x16.zeros, qd.simt.Tile32x32.eye):
        with pytest.raises(qd.QuadrantsSyntaxError, match="inside kernels only"):
            f(dtype=qd.f32)
    with pytest.raises(qd.QuadrantsSyntaxError, match="inside kernels only"):
        qd.outer(1, 2)

    @qd.kernel
    def k():
        qd.simt.Tile16x16.zeros()

    with pytest.raises(qd.QuadrantsSyntaxError, match="inside the outermost loop"):
        k()


def test_refused_on_a_cpu(init, arch_name):
    if arch_name != "cpu":
        pytest.skip("the arch has tiles")
    init()
    x = qd.field(qd.f32, (16, 16))

    @qd.kernel
    def make():
        for _ in range(16):
            t = qd.simt.Tile16x16.zeros(dtype=qd.f32)  # noqa: F841

    @qd.kernel
    def identity():
        for _ in range(32):
            t = qd.simt.Tile32x32.eye()  # noqa: F841

    @qd.kernel
    def part():
        for i in range(16):
            x[i, 0] = x[0:16, 1]

    @qd.kernel
    def size() -> int:
        return qd.simt.Tile16x16.SIZE + qd.simt.Tile32x32.SIZE

    for f in (make, identity, part, qd.simt.Tile16x16.zeros):
        with pytest.raises(qd.QuadrantsSyntaxError, match="requires a GPU backend"):
            f()
    assert size() == 48


def test_kernels_with_tiles_are_in_the_source_tier(team, again):
    T, both = qd.simt.Tile16x16, (qd.simt.Tile16x16, qd.simt.Tile32x32)
    for stored in (True, False):
        x = matrix(qd.f32, np.zeros((16, 16), np.float32))

        @qd.kernel
        def k():
            for _ in range(16):
                t = T.zeros()
                t -= qd.outer(1.0, qd.cast(both[1].SIZE, qd.f32))
                x[0:16, 0:16] = t

        k()
        assert (x.to_numpy() == -32).all()
        seen = k._primal.src_ll_cache_observations
        assert (seen.cache_stored, seen.cache_loaded) == (stored, not stored)
        again()

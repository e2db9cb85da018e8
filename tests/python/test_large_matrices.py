"""Vectors and matrices of more than 16 numbers are local arrays in the IR: they have the values that small ones have,
whoever shares them, and captured ones may be used anywhere. Each program runs with small and large matrices."""

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.usefixtures("arch")


@pytest.fixture(params=[3, 5])
def n(request):
    return request.param


def test_names_do_not_share(n):
    @qd.kernel
    def run() -> qd.types.vector(8, qd.f32):
        a = b = qd.Matrix.identity(qd.f32, n)
        a[0, 0] = 5.0
        c, d = b, a
        c, d = d, c
        pair = [c, qd.Matrix.zero(qd.f32, n, n)]
        c[0, 1] = 3.0
        e = pair[0]
        e[0, 2] = 7.0
        named = {"m": qd.Matrix.identity(qd.f32, n)}
        f = named["m"]
        f[0, 0] = 9.0
        return qd.Vector([b[0, 0], c[0, 0], d[0, 0], pair[0][0, 1], pair[0][0, 2], e[0, 2], f[0, 0], named["m"][0, 0]])

    assert run().to_list() == [1, 5, 1, 0, 0, 7, 9, 1]


def test_swapped_matrices(n):
    square = qd.types.matrix(n, n, qd.i32)

    @qd.kernel
    def run() -> (square, square):
        a, b = qd.Matrix.identity(qd.i32, n), qd.Matrix.zero(qd.i32, n, n)
        a, b = b, a
        return a, b

    zero, one = run()
    assert (zero.to_numpy() == 0).all() and (one.to_numpy() == np.eye(n)).all()


def test_unrolled_loops_over_matrices(n):
    @qd.kernel
    def run() -> qd.types.vector(3, qd.f32):
        both, total = [qd.Matrix.identity(qd.f32, n), qd.Matrix.identity(qd.f32, n) * 2.0], 0.0
        for m in qd.static(both):
            copied = m
            copied[0, 0] = 100.0
            total += m[0, 0]
        return qd.Vector([total, both[0][0, 0], both[1][0, 0]])

    assert run().to_list() == [3, 1, 2]


def test_members_do_not_share(n):
    pair = qd.types.struct(m=qd.types.matrix(n, n, qd.f32), k=qd.i32)

    @qd.kernel
    def run() -> qd.types.vector(5, qd.f32):
        m = qd.Matrix.identity(qd.f32, n)
        s = pair(m, 1)
        m[0, 0] = 9.0
        t = s
        member = s.m
        member[0, 1] = 8.0
        s.m[0, 2] = 7.0
        return qd.Vector([s.m[0, 0], s.m[0, 1], t.m[0, 2], member[0, 1], s.m[0, 2]])

    assert run().to_list() == [1, 0, 0, 8, 7]


def test_parameters_are_copied(n):
    square = qd.types.matrix(n, n, qd.f32)
    pair = qd.types.struct(m=square, k=qd.i32)

    @qd.kernel
    def run(x: square, s: pair) -> qd.types.vector(4, qd.f32):
        r = x
        qd.loop_config(serialize=True)
        for i in range(3):
            if i % 2 == 0:
                r = r * 2.0 + 1.0
            else:
                r = r - x
        m, u = s.m, s
        m[0, 0] = 40.0
        u.m[0, 1] = 41.0
        return qd.Vector([r[1, 1], x[1, 1], s.m[0, 0], s.m[0, 1]])

    x = qd.Matrix(np.full((n, n), 3, np.float32).tolist())
    assert run(x, pair(x, 1)).to_list() == [((3 * 2 + 1) - 3) * 2 + 1, 3, 3, 3]


def test_functions_get_copies(n):
    @qd.func
    def changed(m):
        m[0, 0] = 50.0
        return m

    @qd.func
    def kept(m):
        r = m
        r[0, 0] = 60.0
        return m

    @qd.kernel
    def run() -> qd.types.vector(4, qd.f32):
        a = qd.Matrix.identity(qd.f32, n)
        b, c, d = changed(a), kept(a), kept(qd.Matrix.identity(qd.f32, n))
        return qd.Vector([a[0, 0], b[0, 0], c[0, 0], d[0, 0]])

    assert run().to_list() == [1, 50, 1, 1]


def test_captured_matrices_in_branches_and_loops(n):
    """First used where only some iterations come, then elsewhere; in two parallel loops; at run-time indices."""
    table = np.arange(n * n, dtype=np.float32).reshape(n, n)
    m, other = qd.Matrix(table.tolist()), qd.Struct(v=qd.Vector([float(k) for k in range(4 * n)]))
    f = qd.field(qd.f32, 8)

    @qd.func
    def chosen(k):
        return other.v[k] if k > 2 else m[k, 1]

    @qd.kernel
    def run(k: qd.i32) -> qd.f32:
        total = 0.0
        if k > 0:
            total += m[1, 0]
        for i in f:
            f[i] = m[i % n, 1] + chosen(i)
        for i in f:
            f[i] += m[1, i % n]
        while total < 10.0:
            total += m[2, 2] if k > 0 else other.v[5]
        return total + m[2, 1] + chosen(1)

    for k in (1, 0):
        total = table[1, 0] if k else 0.0
        while total < 10:
            total += table[2, 2] if k else 5
        assert run(k) == total + table[2, 1] + table[1, 1]
        expected = [table[i % n, 1] + (i if i > 2 else table[i, 1]) + table[1, i % n] for i in range(8)]
        assert f.to_numpy().tolist() == expected


def test_captured_matrices_are_copied(n):
    m = qd.Matrix(np.ones((n, n)).tolist())

    @qd.kernel
    def run() -> qd.types.vector(3, qd.f32):
        r = m
        r[0, 0] = 5.0
        r += m
        q = m
        return qd.Vector([r[0, 0], m[0, 0], q[0, 0]])

    assert run().to_list() == [6, 1, 1]


def test_small_and_large_together():
    """As in a lattice Boltzmann step: a captured 9x2 matrix times a vector gives one of 9, to be used with others."""
    directions = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
    weights = np.arange(9) / 10
    e, w = qd.Matrix(directions.tolist()), qd.types.vector(9, qd.f64)(*weights)
    u = qd.Vector.field(2, qd.f64, 2)
    out = qd.Vector.field(9, qd.f64, 2)

    @qd.kernel
    def run(rho: qd.f64):
        for i in u:
            eu = e @ u[i]
            out[i] = w * rho * (1 + 3 * eu + 4.5 * eu * eu - 1.5 * u[i].norm_sqr())

    u.from_numpy(np.array([[0.1, 0.2], [0.3, -0.1]]))
    run(2.0)
    for value, got in zip(u.to_numpy(), out.to_numpy()):
        eu = directions @ value
        assert np.allclose(got, weights * 2 * (1 + 3 * eu + 4.5 * eu * eu - 1.5 * (value @ value)), rtol=1e-6)


def test_constants_meet_other_types():
    """A captured large vector's numbers are literals, as a small one's are."""
    found = []
    for count in (3, 20):
        kind = qd.types.vector(count, qd.f64)
        v = kind(*[0.1] * count)

        @qd.kernel
        def run(x: kind, v: qd.template(), k: qd.i32) -> qd.types.vector(3, qd.f64):
            y = x * v + v
            return qd.Vector([y[0], v[1], v[k] * x[k]])

        found.append(run(kind(*[3.0] * count), v, 2).to_list())
    assert found[0] == found[1] and np.allclose(found[0], [0.4, 0.1, 0.3])


@pytest.mark.parametrize("count", [4, 20])
def test_atomics_of_components_at_run_time_indices(count):
    """Of a vector that no assignment names, shared by the iterations of a parallel loop and by none."""

    @qd.kernel
    def run(n: qd.i32) -> qd.types.vector(6, qd.i32):
        a = qd.Vector.zero(qd.i32, count)
        for i in range(n):
            qd.atomic_add(a[i % 3], 1)
            qd.atomic_max(a[3], i)
        b, low = a, qd.Vector.one(qd.i32, count)
        k = n % 3
        old = qd.atomic_sub(b[k], 5)
        old += qd.atomic_exchange(low[k], 9)
        return qd.Vector([a[0], a[1], a[2], a[3], b[k] * 10 + low[k], old])

    assert run(1000).to_list() == [334, 333, 333, 999, 3289, 334]


def test_atomic_updates_by_constants():
    m, f = qd.Matrix(np.full((5, 5), 2.0).tolist()), qd.Matrix.field(5, 5, qd.f32, 3)

    @qd.kernel
    def run():
        for _ in range(100):
            f[1] += m

    run()
    assert (f[1].to_numpy() == 200).all() and (f[0].to_numpy() == 0).all()

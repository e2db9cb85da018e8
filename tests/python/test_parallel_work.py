"""Loops whose work a backend may spread as it likes: reductions, and bodies that are done for several positions at once."""

import numpy as np
import pytest

import quadrants as qd

SIZES = [1, 2, 31, 33, 255, 257, 1000, 4097, 100_003, 1_500_001]
BIG = 1_500_001


def few(arch_name, sizes):
    """The interpreter takes a microsecond a record."""
    return [n for n in sizes if n <= 5000] if arch_name == "reference" else sizes


def sum_kernel(dtype):
    array = qd.types.ndarray(dtype=dtype, ndim=1)

    @qd.kernel
    def add_up(x: array, s: array):
        for i in range(x.shape[0]):
            s[0] += x[i]

    return add_up


def array_of(values, dtype):
    made = qd.ndarray(dtype, values.shape)
    made.from_numpy(values)
    return made


@pytest.mark.parametrize("name", ["f32", "f64", "i32", "i64", "u32"])
def test_sums_of_every_size(arch, name):
    dtype = getattr(qd, name)
    kernel = sum_kernel(dtype)
    numbers = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u32": np.uint32}[name]
    rng = np.random.default_rng(1)
    for n in few(arch, SIZES):
        values = rng.random(n).astype(numbers) if name[0] == "f" else rng.integers(0, 1000, n).astype(numbers)
        total = qd.ndarray(dtype, (1,))
        total.fill(5)
        kernel(array_of(values, dtype), total)
        exact = 5 + values.astype(np.float64).sum() if name[0] == "f" else 5 + int(values.astype(np.int64).sum())
        if name[0] == "f":
            assert total.to_numpy()[0] == pytest.approx(exact, rel=1e-6 if name == "f32" else 1e-12), n
        else:
            assert int(total.to_numpy()[0]) == exact, n


def test_float_sums_are_the_same_bits_each_time(arch):
    kernel = sum_kernel(qd.f32)
    for n in few(arch, [1000, 100_003, BIG]):
        values = np.random.default_rng(2).standard_normal(n).astype(np.float32)
        x, seen = array_of(values, qd.f32), set()
        for _ in range(8):
            total = qd.ndarray(qd.f32, (1,))
            total.fill(0)
            kernel(x, total)
            seen.add(total.to_numpy().tobytes())
        if arch == "cuda":
            assert len(seen) == 1
        assert all(
            np.frombuffer(one, np.float32)[0] == pytest.approx(values.astype(np.float64).sum(), rel=1e-3, abs=0.05)
            for one in seen
        )


def test_several_reductions_of_one_loop(arch):
    array = qd.types.ndarray(dtype=qd.f32, ndim=1)
    counts = qd.types.ndarray(dtype=qd.i32, ndim=1)

    @qd.kernel
    def look(x: array, sums: array, ends: array, n: counts):
        for i in range(x.shape[0]):
            sums[0] += x[i]
            sums[1] += x[i] * x[i]
            if x[i] > 0.5:
                n[0] += 1
            qd.atomic_min(ends[0], x[i])
            qd.atomic_max(ends[1], x[i])

    for size in few(arch, SIZES):
        values = np.random.default_rng(size).random(size).astype(np.float32)
        sums, ends, n = qd.ndarray(qd.f32, (2,)), qd.ndarray(qd.f32, (2,)), qd.ndarray(qd.i32, (1,))
        sums.fill(0), n.fill(0), ends.from_numpy(np.array([9, -9], np.float32))
        look(array_of(values, qd.f32), sums, ends, n)
        wide = values.astype(np.float64)
        assert sums.to_numpy() == pytest.approx([wide.sum(), (wide * wide).sum()], rel=1e-5)
        assert list(ends.to_numpy()) == [values.min(), values.max()]
        assert n.to_numpy()[0] == (values > 0.5).sum()


def test_products(arch):
    array = qd.types.ndarray(dtype=qd.f64, ndim=1)

    @qd.kernel
    def multiply(x: array, p: array):
        for i in range(x.shape[0]):
            qd.atomic_mul(p[0], x[i])

    for size in few(arch, [1, 300, 20_000]):
        values = np.exp(np.random.default_rng(size).standard_normal(size) * 0.01)
        product = qd.ndarray(qd.f64, (1,))
        product.fill(2)
        multiply(array_of(values, qd.f64), product)
        assert product.to_numpy()[0] == pytest.approx(2 * values.prod(), rel=1e-9)


def test_reductions_over_several_axes(arch):
    array = qd.types.ndarray(dtype=qd.f32, ndim=2)
    line = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def add_up(x: array, s: line):
        for i, j in qd.ndrange((1, x.shape[0]), x.shape[1]):
            s[0] += x[i, j]

    for shape in [(2, 3), (40, 50)] if arch == "reference" else [(2, 3), (40, 50), (1001, 1003)]:
        values = np.random.default_rng(3).random(shape).astype(np.float32)
        s = qd.ndarray(qd.f32, (1,))
        s.fill(0)
        add_up(array_of(values, qd.f32), s)
        assert s.to_numpy()[0] == pytest.approx(values[1:].astype(np.float64).sum(), rel=1e-6)


def test_positions_one_after_another_or_side_by_side(arch):
    array = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def work(x: array, y: array, first: qd.i32):
        for i in range(first, x.shape[0]):
            before = y[i]
            y[i] = 2 * x[i] + before
            if x[i] > 0.5:
                y[i] += 1
            x[i] += 3

    for n in few(arch, SIZES):
        first = min(7, n - 1)
        a, b = np.random.default_rng(n).random((2, n)).astype(np.float32)
        x, y = array_of(a, qd.f32), array_of(b, qd.f32)
        work(x, y, first)
        c, d = a.copy(), b.copy()
        d[first:] = 2 * a[first:] + b[first:] + (a[first:] > 0.5)
        c[first:] += 3
        assert np.allclose(x.to_numpy(), c, rtol=1e-6) and np.allclose(y.to_numpy(), d, rtol=1e-6), n


@pytest.mark.parametrize("shape", [(3, 3), (5, 130), (63, 65), (2050, 1030), (1500, 3), (3, 400_000)])
def test_neighbours_on_a_plane(arch, shape):
    if arch == "reference" and shape[0] * shape[1] > 5000:
        pytest.skip("too long for the interpreter")
    array = qd.types.ndarray(dtype=qd.f32, ndim=2)

    @qd.kernel
    def smooth(u: array, v: array):
        for i, j in qd.ndrange((1, u.shape[0] - 1), (1, u.shape[1] - 1)):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    grid = np.random.default_rng(4).random(shape).astype(np.float32)
    u, v = array_of(grid, qd.f32), qd.ndarray(qd.f32, shape)
    v.fill(-1)
    smooth(u, v)
    want = np.full(shape, -1, np.float32)
    want[1:-1, 1:-1] = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
    assert np.allclose(v.to_numpy(), want, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 3, 4), (7, 61, 67), (3, 1, 100), (130, 65, 129), (100, 101, 2)])
def test_every_point_of_a_box_once(arch, shape):
    if arch == "reference" and np.prod(shape) > 5000:
        pytest.skip("too long for the interpreter")
    cells = qd.field(qd.i32, shape)

    @qd.kernel
    def visit():
        for i, j, k in cells:
            cells[i, j, k] = cells[i, j, k] * 1000003 + (i * 257 + j) * 131 + k

    visit()
    visit()
    i, j, k = np.indices(shape)
    once = ((i * 257 + j) * 131 + k).astype(np.int64)
    want = (once * 1000003 + once).astype(np.int64).astype(np.uint32).astype(np.int32)
    assert np.array_equal(cells.to_numpy(), want)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_scattered_vectors(arch, n):
    size, cells = (2000 if arch == "reference" else 40_000), 37
    grid, mass = qd.Vector.field(n, qd.f32, cells), qd.field(qd.f32, cells)

    @qd.kernel
    def scatter():
        for p in range(size):
            grid[p * 7 % cells] += qd.Vector([1.0 + c for c in qd.static(range(n))])
            mass[p * 5 % cells] += 0.5

    scatter()
    hits = np.bincount(np.arange(size) * 7 % cells, minlength=cells)
    assert np.array_equal(grid.to_numpy(), np.outer(hits, 1 + np.arange(n)).astype(np.float32))
    assert np.array_equal(
        mass.to_numpy(), 0.5 * np.bincount(np.arange(size) * 5 % cells, minlength=cells).astype(np.float32)
    )


def test_inner_loops_of_every_length(arch):
    array = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def triangle(x: array, y: array):
        for i in range(y.shape[0]):
            total = 0.0
            for j in range(i):
                total += x[j] * x[i]
            y[i] = total

    x, y = array_of(np.arange(1, 41, dtype=np.float32), qd.f32), qd.ndarray(qd.f32, (40,))
    triangle(x, y)
    values = np.arange(1, 41, dtype=np.float64)
    assert y.to_numpy() == pytest.approx([values[:i].sum() * values[i] for i in range(40)])

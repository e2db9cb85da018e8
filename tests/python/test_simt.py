"""`qd.simt`: threads of a block, against NumPy, on every backend that has them. Needs `--arch reference` or `cuda`."""

import numpy as np
import pytest
from simt_programs import N, run

import quadrants as qd

block, subgroup = qd.simt.block, qd.simt.subgroup
rng = np.random.default_rng(7)


def test_threads_and_blocks(team):
    t, g, q = (qd.field(qd.i32, 1000) for _ in range(3))

    @qd.kernel
    def k():
        qd.loop_config(block_dim=96)
        for i in range(1000):
            t[i], g[i], q[i] = block.thread_idx(), block.global_thread_idx(), qd.global_thread_idx()

    k()
    assert t.to_numpy().tolist() == [i % 96 for i in range(1000)]
    assert g.to_numpy().tolist() == q.to_numpy().tolist() == list(range(1000))


def test_the_block_size_is_128_where_none_is_given(team):
    t = qd.field(qd.i32, (4, 100))

    @qd.kernel
    def k():
        for i, j in t:
            t[i, j] = block.thread_idx()

    k()
    assert t.to_numpy().reshape(-1).tolist() == [i % 128 for i in range(400)]


BLOCK_DIMS = [  # default_gpu_block_dim, max_block_dim, asked, got
    (256, 0, None, 256),
    (64, 0, None, 64),
    (64, 0, 96, 96),
    (128, 32, None, 32),
    (512, 200, None, 200),
    (64, 200, None, 64),
    (64, 32, 128, 128),
]


@pytest.mark.parametrize("default, most, asked, got", BLOCK_DIMS)
def test_the_default_block_size_is_that_of_init(team_init, default, most, asked, got):
    team_init(default_gpu_block_dim=default, max_block_dim=most)
    t, plain = qd.field(qd.i32, 600), qd.field(qd.i32, 600)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=asked)
        for i in t:
            t[i] = block.thread_idx()
        for i in plain:
            plain[i] = i

    k()
    assert t.to_numpy().tolist() == [i % got for i in range(600)]
    assert plain.to_numpy().tolist() == list(range(600))


def test_block_sizes_of_init_reach_the_code_of_ordinary_loops(init, arch_name, capfd):
    init(default_gpu_block_dim=192, print_ir=True, log_level="info")
    x = qd.field(qd.i32, 8)

    @qd.kernel
    def k():
        for i in x:
            x[i] = i

    k()
    said = "".join(capfd.readouterr())
    assert ("parallel.i32 1, 192 {" in said) == (arch_name != "cpu"), said


def test_shared_arrays_without_a_block_size(team):
    z = qd.field(qd.i32, 256)

    @qd.kernel
    def k():
        for i in z:
            a = block.SharedArray((128,), qd.i32)
            t = block.thread_idx()
            a[t] = i
            block.sync()
            z[i] = a[127 - t]

    k()
    assert z.to_numpy().tolist() == [*range(127, -1, -1), *range(255, 127, -1)]


@pytest.mark.parametrize("kib", [48, 49, 96])
def test_large_shared_arrays(team, kib):
    """More than a kernel may have without asking: the launch brings it."""
    if kib << 10 > qd.lang.impl.get_max_shared_memory_bytes():
        pytest.skip("the device has less")
    n, blocks = (kib << 10) // 4 - 64, 5
    z, s = qd.field(qd.i32, (blocks, 64)), qd.field(qd.i32, ())

    @qd.kernel
    def k():
        qd.loop_config(block_dim=64)
        for i, j in z:
            a = block.SharedArray((n,), qd.i32)
            b = block.SharedArray((64,), qd.i32)
            b[j] = j
            for m in range(n // 64):
                a[m * 64 + j] = i * 100000 + m * 64 + j
            block.sync()
            total = 0
            for m in range(n // 64):
                total += a[m * 64 + 63 - j] - (i * 100000 + m * 64 + 63 - j)
            z[i, j] = total + b[63 - j] + a[n // 64 * 64 - 1 - j] - i * 100000
        for i in range(4):  # another task, that shares nothing
            s[None] += 1

    for _ in range(4):  # as single launches and as a graph
        k()
    last = n // 64 * 64 - 1
    assert z.to_numpy().tolist() == [[63 - j + last - j for j in range(64)]] * blocks
    assert s[None] == 16


def test_too_much_shared_memory_says_how_much_there_is(team):
    most = qd.lang.impl.get_max_shared_memory_bytes()
    assert most >= 48 << 10

    @qd.kernel
    def k():
        qd.loop_config(block_dim=64)
        for i in range(64):
            a = block.SharedArray((most // 8,), qd.f64)
            b = block.SharedArray((4,), qd.f32)
            a[i], b[i % 4] = 1, 1

    with pytest.raises(
        qd.QuadrantsSyntaxError, match=f"need {most // 8 * 8 + 16} bytes, a block of this device has at most {most}"
    ):
        k()


@pytest.mark.parametrize("n", [512, 500, 3])
def test_shared_array(team, n):
    x, z = qd.field(qd.f32, n), qd.field(qd.f32, n)
    x.from_numpy(rng.random(n, dtype=np.float32))

    @qd.kernel
    def k():
        qd.loop_config(block_dim=64)
        for i in range(n):
            tile = block.SharedArray((64,), qd.f32)
            t = block.thread_idx()
            tile[t] = x[i]
            block.sync()
            last = min(64, n - (i - t)) - 1
            z[i] = tile[last - t]

    k()
    want = np.concatenate([x.to_numpy()[b : b + 64][::-1] for b in range(0, n, 64)])
    np.testing.assert_array_equal(z.to_numpy(), want)


def test_shared_arrays_of_two_axes_vectors_and_atomics(team):
    z, y, w = qd.field(qd.i32, 128), qd.Vector.field(3, qd.f32, 128), qd.field(qd.i32, 128)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=64)
        for i in range(128):
            a = block.SharedArray((8, 8), qd.i32)
            v = block.SharedArray(64, qd.math.vec3)
            count = block.SharedArray((2,), qd.i32)
            t = block.thread_idx()
            a[t // 8, t % 8] = i
            v[t] = qd.Vector([1.0, 2.0, 3.0]) * t
            if t < 2:
                count[t] = 0
            block.sync()
            count[t % 2] += t
            old = qd.atomic_max(a[0, 0], i)
            block.sync()
            z[i] = a[t % 8, t // 8] if t > 0 else old - old + a[0, 0]
            y[i] = v[63 - t]
            w[i] = count[t % 2]

    k()
    t = np.arange(128) % 64
    want = t % 8 * 8 + t // 8 + np.arange(128) // 64 * 64
    want[t == 0] += 63
    assert z.to_numpy().tolist() == want.tolist()
    np.testing.assert_array_equal(y.to_numpy(), (63 - t)[:, None] * np.array([1.0, 2.0, 3.0], np.float32))
    assert w.to_numpy().tolist() == np.where(t % 2 == 0, sum(range(0, 64, 2)), sum(range(1, 64, 2))).tolist()


def test_barriers_that_count(team):
    x = (rng.random(N) < 0.4).astype(np.int32)
    groups = x.reshape(-1, 64)

    def want(f):
        return np.repeat(f(groups), 64).tolist()

    @qd.func
    def how_many(v):
        return block.sync_count_nonzero(v)

    @qd.func
    def any_of(v):
        return block.sync_any_nonzero(v)

    @qd.func
    def all_of(v):
        return block.sync_all_nonzero(v)

    assert run(how_many, x).tolist() == want(lambda g: g.sum(1))
    assert run(any_of, x).tolist() == want(lambda g: g.any(1))
    assert run(all_of, x).tolist() == want(lambda g: g.all(1))
    assert run(all_of, x * 0 + 5).tolist() == [1] * N


def test_a_stencil_with_many_turns(team):
    """Blocks that walk over shared memory again and again: a barrier is missed at once."""
    x = qd.field(qd.i32, 640)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=64)
        for i in range(640):
            a = block.SharedArray((2, 64), qd.i32)
            t = block.thread_idx()
            a[0, t] = i
            block.sync()
            for turn in range(20):
                a[(turn + 1) % 2, t] = a[turn % 2, (t + 1) % 64] + 1
                block.sync()
            x[i] = a[0, t]

    k()
    i = np.arange(640)
    assert x.to_numpy().tolist() == (i // 64 * 64 + (i + 20) % 64 + 20).tolist()


@pytest.mark.parametrize("size", [32, 64, 256])
def test_whole_blocks(team, size):
    x = rng.integers(-100, 100, 512, dtype=np.int32)
    rows = x.reshape(-1, size)
    a = qd.field(qd.i32, 512)
    a.from_numpy(x)
    z = {name: qd.field(qd.i32, 512) for name in "add all min custom inc exc max scan first".split()}

    @qd.func
    def second(p, q):
        return q + p * 0

    @qd.func
    def larger(p, q):
        return max(p, q)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=size)
        for i in range(512):
            v = a[i]
            z["add"][i] = block.reduce_add(v, size, qd.i32)
            z["all"][i] = block.reduce_all_max(v, size, qd.i32)
            z["min"][i] = block.reduce_all(v, size, larger, qd.i32)
            z["custom"][i] = block.inclusive_scan(v, size, second, qd.i32)
            z["inc"][i] = block.inclusive_add(v, size, qd.i32)
            z["exc"][i] = block.exclusive_add(v, size, qd.i32)
            z["max"][i] = block.exclusive_max(v, size, qd.i32)
            z["scan"][i] = block.exclusive_scan(v, size, larger, -7, qd.i32)
            z["first"][i] = 0
            for turn in range(3):
                z["first"][i] += block.reduce_all_add(v + turn, size, qd.i32)

    k()
    got = {name: f.to_numpy().reshape(-1, size) for name, f in z.items()}
    sums = rows.cumsum(1)
    highest = np.maximum.accumulate(rows, 1)
    assert got["add"][:, 0].tolist() == rows.sum(1).tolist()
    assert (got["all"] == rows.max(1)[:, None]).all() and (got["min"] == rows.max(1)[:, None]).all()
    assert (got["custom"] == rows).all() and (got["inc"] == sums).all() and (got["exc"] == sums - rows).all()
    assert (got["max"][:, 1:] == highest[:, :-1]).all() and (got["max"][:, 0] == -(2**31)).all()
    assert (got["scan"][:, 1:] == highest[:, :-1]).all() and (got["scan"][:, 0] == -7).all()
    assert (got["first"] == (rows.sum(1) * 3 + 3 * size)[:, None]).all()


def test_ranks_of_a_digit(team):
    size, digits = 64, 8
    keys = rng.integers(0, 2**16, 128, dtype=np.uint32)
    a, z = qd.field(qd.u32, 128), qd.field(qd.i32, 128)
    bins_of, before_of = qd.field(qd.i32, (2, digits)), qd.field(qd.i32, (2, digits))
    a.from_numpy(keys)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=size)
        for i in range(128):
            bins, before = block.SharedArray((digits,), qd.i32), block.SharedArray((digits,), qd.i32)
            z[i] = block.radix_rank_match_atomic_or(a[i], size, 3, 4, 3, bins, before)
            t = block.thread_idx()
            if t < digits:
                bins_of[i // size, t], before_of[i // size, t] = bins[t], before[t]

    k()
    for b, part in enumerate(keys.reshape(2, size)):
        digit = part >> 4 & 7
        counts = np.bincount(digit, minlength=digits)
        assert bins_of.to_numpy()[b].tolist() == counts.tolist()
        assert before_of.to_numpy()[b].tolist() == (counts.cumsum() - counts).tolist()
        order = np.empty(size, int)
        order[np.argsort(digit, kind="stable")] = np.arange(size)
        assert z.to_numpy().reshape(2, size)[b].tolist() == order.tolist()


def test_in_real_functions(team):
    z = qd.field(qd.i32, 128)

    @qd.real_func
    def neighbour(v: qd.i32) -> qd.i32:
        return subgroup.shuffle_xor(v, 1)

    @qd.kernel
    def k():
        for i in range(128):
            z[i] = neighbour(i)

    k()
    assert z.to_numpy().tolist() == [i ^ 1 for i in range(128)]

    @qd.kernel
    def alone():
        z[0] = neighbour(1)

    with pytest.raises(qd.QuadrantsSyntaxError, match="must stand inside the outermost loop"):
        alone()


def test_where_it_cannot_stand(team):
    def refused(text, body):
        with pytest.raises(qd.QuadrantsCompilationError, match=text):
            qd.kernel(body)()

    def at_the_top():
        block.sync()

    def serial():
        qd.loop_config(serialize=True)
        for i in range(4):
            block.sync()

    def too_much():
        qd.loop_config(block_dim=64)
        for i in range(64):
            a = block.SharedArray((100, 500), qd.f32)
            b = block.SharedArray((150000,), qd.f32)
            a[0, 0] = b[0]

    def of_a_size_known_later():
        qd.loop_config(block_dim=64)
        for i in range(64):
            block.SharedArray((i,), qd.f32)

    def another_size():
        qd.loop_config(block_dim=64)
        for i in range(64):
            block.reduce_add(i, 128, qd.i32)

    def odd():
        qd.loop_config(block_dim=48)
        for i in range(48):
            block.reduce_add(i, 48, qd.i32)

    refused("must stand inside the outermost loop", at_the_top)
    refused("must not be serialized", serial)
    refused("need 800000 bytes, a block of this device has at most", too_much)
    refused("an extent of SharedArray must be an integer known at compile time", of_a_size_known_later)
    refused("block_dim is 128, but the loop has blocks of 64 threads", another_size)
    refused("must be a multiple of 32, found 48", odd)
    with pytest.raises(qd.QuadrantsSyntaxError, match=r"qd.simt.block.sync can be called inside kernels only"):
        block.sync()


def test_threads_that_never_meet(team, arch_name):
    if arch_name != "reference":
        pytest.skip("undefined on a GPU")

    @qd.kernel
    def k():
        qd.loop_config(block_dim=4)
        for i in range(4):
            if i < 2:
                block.sync()
            else:
                block.sync_count_nonzero(1)

    with pytest.raises(RuntimeError, match="wait for each other in different places"):
        k()
        qd.sync()


def test_checked_accesses_of_shared_arrays(team_init):
    team_init(debug=True)
    z = qd.field(qd.i32, 32)

    @qd.kernel
    def k(at: qd.i32):
        qd.loop_config(block_dim=32)
        for i in range(32):
            a = block.SharedArray((32,), qd.i32)
            a[block.thread_idx()] = i
            block.sync()
            z[i] = a[at]

    k(31)
    assert z.to_numpy().tolist() == [31] * 32
    with pytest.raises(qd.QuadrantsAssertionError, match=r"shared array.*32"):
        k(32)
        qd.sync()


def test_clocks(arch, arch_name):
    t = qd.field(qd.i64, 4)
    z = qd.field(qd.i64, 64)

    @qd.kernel
    def k():
        t[0] = qd.clock_counter()
        t[1] = qd.clock_counter()
        for i in range(64):
            a = qd.clock_counter()
            s = 0.0
            for j in range(100 + i % 2):
                s += qd.sin(s + j)
            z[i] = qd.clock_counter() - a + (1 if s == 12345.0 else 0)

    k()
    assert t[0] > 0 and t[1] >= t[0] and (z.to_numpy() > 0).all()
    with pytest.raises(qd.QuadrantsSyntaxError, match="inside kernels only"):
        qd.clock_counter()


def test_clock_frequency(arch, arch_name):
    @qd.kernel
    def k() -> qd.i64:
        return qd.clock_freq_hz()

    if arch_name != "cuda":
        with pytest.raises(NotImplementedError, match="clock_freq_hz is not implemented for arch"):
            qd.clock_freq_hz()
        with pytest.raises(qd.QuadrantsCompilationError, match="clock_freq_hz is not implemented for arch"):
            k()
        return
    hz = qd.clock_freq_hz()
    assert type(hz) is int and 100_000_000 < hz < 10_000_000_000
    assert k() == hz


def test_positions_on_every_backend(arch):
    g, first = qd.field(qd.i32, (3, 50)), qd.field(qd.i32, ())

    @qd.kernel
    def k():
        first[None] = qd.global_thread_idx() + 5
        for i, j in g:
            g[i, j] = qd.global_thread_idx()

    k()
    assert g.to_numpy().reshape(-1).tolist() == list(range(150)) and first[None] == 5


def test_refused_on_a_cpu(arch, arch_name):
    if arch_name != "cpu":
        pytest.skip("only there")

    @qd.kernel
    def k():
        for i in range(4):
            subgroup.reduce_all_add(i)

    with pytest.raises(
        qd.QuadrantsCompilationError, match=r"qd.subgroup.reduce_all_add is not supported for arch Arch"
    ):
        k()
    with pytest.raises(ValueError, match=r"qd.subgroup.group_size is not supported for arch"):
        subgroup.group_size()

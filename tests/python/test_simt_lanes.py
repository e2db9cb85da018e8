"""`qd.simt.subgroup` and `warp` against NumPy, on every backend that has them. Needs `--arch reference` or `cuda`."""

import numpy as np
import pytest
from program_text import load
from simt_programs import N, run

import quadrants as qd

LANES = 32
block, subgroup, warp, grid = qd.simt.block, qd.simt.subgroup, qd.simt.warp, qd.simt.grid
rng = np.random.default_rng(7)


def lanes_of(values):
    return np.asarray(values).reshape(-1, LANES)


SHUFFLES = {
    "shuffle": lambda v, k: v[:, [(k + 5) % LANES] * LANES],
    "shuffle_up": lambda v, k: np.concatenate([v[:, :k], v[:, : LANES - k]], 1),
    "shuffle_down": lambda v, k: np.concatenate([v[:, k:], v[:, LANES - k :]], 1),
    "shuffle_xor": lambda v, k: v[:, np.arange(LANES) ^ k],
    "broadcast": lambda v, k: v[:, [(k + 5) % LANES] * LANES],
}


@pytest.mark.parametrize("dtype", [qd.i8, qd.u16, qd.i32, qd.u64, qd.f16, qd.f32, qd.f64], ids=str)
@pytest.mark.parametrize("name", SHUFFLES)
def test_shuffles(team, name, dtype):
    x = (rng.random(N) * 100).astype(qd.lang.util.to_numpy_type(dtype))
    f, by = getattr(subgroup, name), (8 if name in ("shuffle", "broadcast") else 3)

    @qd.func
    def operation(v):
        return f(v, by)

    want = SHUFFLES[name](lanes_of(x), 3)
    np.testing.assert_array_equal(run(operation, x, dtype), want.reshape(-1))


def test_shuffle_of_vectors_and_numbers(team):
    x, z, y = qd.Vector.field(2, qd.f32, 64), qd.Vector.field(2, qd.f32, 64), qd.field(qd.i32, 64)
    x.from_numpy(rng.random((64, 2), dtype=np.float32))

    @qd.kernel
    def k():
        for i in range(64):
            z[i] = subgroup.shuffle_xor(x[i], 1)
            y[i] = subgroup.broadcast_first(7)

    k()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy()[np.arange(64) ^ 1])
    assert y.to_numpy().tolist() == [7] * 64


FOLD = {
    "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
IDENTITY = {"add": 0, "mul": 1, "min": 2**31 - 1, "max": -(2**31), "and": -1, "or": 0, "xor": 0}


@pytest.mark.parametrize("log2", [5, 3, 0])
@pytest.mark.parametrize("op", FOLD)
def test_reductions_and_scans(team, op, log2):
    x = rng.integers(-50, 50, N, dtype=np.int32)
    tiles, fold = x.reshape(-1, 1 << log2), FOLD[op]

    def both(name):
        if log2 == 5:
            f = getattr(subgroup, name)
            return qd.func(_call_whole(f))
        f = getattr(subgroup, f"{name}_tiled")
        return qd.func(_call_tiled(f, log2))

    scanned = fold.accumulate(tiles, 1, dtype=np.int32)
    assert run(both(f"inclusive_{op}"), x).tolist() == scanned.reshape(-1).tolist()
    before = np.concatenate([np.full((len(tiles), 1), IDENTITY[op], np.int32), scanned[:, :-1]], 1)
    assert run(both(f"exclusive_{op}"), x).tolist() == before.reshape(-1).tolist()
    if op in ("add", "min", "max"):
        total = np.repeat(fold.reduce(tiles, 1), 1 << log2)
        assert run(both(f"reduce_all_{op}"), x).tolist() == total.tolist()
        assert run(both(f"reduce_{op}"), x)[:: 1 << log2].tolist() == total[:: 1 << log2].tolist()


def _call_whole(f):
    def operation(v):
        return f(v)

    return operation


def _call_tiled(f, log2):
    def operation(v):
        return f(v, log2)

    return operation


def test_extremes_of_floats_and_unsigned(team):
    x = rng.standard_normal(N).astype(np.float32)

    @qd.func
    def smallest_before(v):
        return subgroup.exclusive_min(v)

    got = lanes_of(run(smallest_before, x, qd.f32))
    assert np.isposinf(got[:, 0]).all()
    np.testing.assert_array_equal(got[:, 1:], np.minimum.accumulate(lanes_of(x), 1)[:, :-1])

    @qd.func
    def largest(v):
        return subgroup.reduce_all_max(v)

    big = rng.integers(0, 2**32, N, dtype=np.uint32)
    np.testing.assert_array_equal(run(largest, big, qd.u32), np.repeat(lanes_of(big).max(1), LANES))


@pytest.mark.parametrize("op", ["add", "min", "max"])
def test_segments(team, op):
    x = rng.integers(-9, 9, N, dtype=np.int32)
    heads = rng.random(N) < 0.3
    heads[::LANES] = True
    f = getattr(subgroup, f"segmented_reduce_{op}")
    a, h, z = qd.field(qd.i32, N), qd.field(qd.i32, N), qd.field(qd.i32, N)
    a.from_numpy(x), h.from_numpy(heads.astype(np.int32))

    @qd.kernel
    def k():
        for i in range(N):
            z[i] = f(a[i], h[i])

    k()
    starts = np.flatnonzero(heads)
    want = FOLD[op].reduceat(x, starts)
    assert z.to_numpy()[starts].tolist() == want.tolist()


@pytest.mark.parametrize("log2", [5, 2])
def test_sort(team, log2):
    keys, values = rng.integers(0, 1000, N, dtype=np.int32), np.arange(N, dtype=np.int32)
    a, b = qd.field(qd.i32, N), qd.field(qd.i32, N)
    a.from_numpy(keys), b.from_numpy(values)

    @qd.kernel
    def k():
        for i in range(N):
            key, value = subgroup.bitonic_sort_kv_tiled(a[i], b[i], log2)
            a[i] = key
            b[i] = value

    k()
    assert a.to_numpy().tolist() == np.sort(keys.reshape(-1, 1 << log2), 1).reshape(-1).tolist()
    assert keys[b.to_numpy()].tolist() == a.to_numpy().tolist()


def test_votes(team):
    x = (rng.random(N) < 0.5).astype(np.int32)
    x[:LANES], x[LANES : 2 * LANES] = 1, 0
    rows = lanes_of(x)
    ballots = (rows.astype(np.uint64) << np.arange(LANES, dtype=np.uint64)).sum(1)
    z = {name: qd.field(qd.u64, N) for name in ("ballot", "first", "all", "any", "equal", "unique", "nonzero", "tile")}
    a = qd.field(qd.i32, N)
    a.from_numpy(x)
    everyone = 0xFFFFFFFF

    @qd.kernel
    def k():
        for i in range(N):
            full = qd.u32(everyone)
            z["ballot"][i] = subgroup.ballot(a[i])
            z["first"][i] = subgroup.ballot_first_n(a[i], 5)
            z["all"][i] = subgroup.all_true(a[i])
            z["any"][i] = subgroup.any_true(a[i])
            z["equal"][i] = subgroup.all_equal(a[i])
            z["unique"][i] = warp.unique(full, a[i])
            z["nonzero"][i] = warp.all_nonzero(full, a[i]) * 2 + warp.any_nonzero(full, a[i])
            z["tile"][i] = subgroup.all_true_tiled(a[i], 2) * 2 + subgroup.any_true_tiled(a[i], 2)

    k()
    all_of, any_of = rows.all(1), rows.any(1)
    want = {
        "ballot": ballots, "first": ballots & np.uint64(31), "all": all_of, "any": any_of, "equal": all_of | ~any_of,
        "unique": all_of | ~any_of, "nonzero": all_of * 2 + any_of,
    }  # fmt: skip
    for name, values in want.items():
        assert z[name].to_numpy().tolist() == np.repeat(values.astype(np.uint64), LANES).tolist(), name
    tiles = x.reshape(-1, 4)
    assert z["tile"].to_numpy().tolist() == np.repeat(tiles.all(1) * 2 + tiles.any(1), 4).tolist()


def test_masks_and_warps(team):
    z = {name: qd.field(qd.u32, 64) for name in "lt le eq gt ge any all active same f32".split()}
    one = qd.field(qd.i32, 64)
    everyone = 0xFFFFFFFF

    @qd.kernel
    def k():
        qd.loop_config(block_dim=32)
        for i in range(64):
            me, full = subgroup.invocation_id(), qd.u32(everyone)
            z["lt"][i], z["le"][i], z["eq"][i] = (
                subgroup.lanemask_lt(me),
                subgroup.lanemask_le(me),
                subgroup.lanemask_eq(me),
            )
            z["gt"][i], z["ge"][i] = subgroup.lanemask_gt(me), subgroup.lanemask_ge(me)
            z["any"][i] = warp.match_any(full, me % 3)
            z["all"][i] = warp.match_all(full, me * 0)
            z["same"][i] = warp.match_all(full, me)
            z["active"][i] = warp.active_mask()
            warp.sync(full)
            subgroup.sync()
            subgroup.mem_fence()
            block.mem_fence()
            grid.mem_fence()
            z["f32"][i] = qd.bit_cast(warp.shfl_down_f32(full, qd.cast(me, qd.f32), 1), qd.u32)
            one[i] = subgroup.elect() + warp.shfl_sync_i32(full, me, 4) * 10 + subgroup.group_size() * 1000

    k()
    at = np.arange(64) % 32
    bit = np.uint64(1) << at.astype(np.uint64)
    ones = np.uint64(2**32 - 1)
    want = {"lt": bit - 1, "le": bit * 2 - 1, "eq": bit, "gt": ones ^ (bit * 2 - 1), "ge": ones ^ (bit - 1)}
    want |= {"all": ones + 0 * bit, "same": 0 * bit, "active": ones + 0 * bit}
    want["any"] = np.array([sum(1 << j for j in range(32) if j % 3 == a % 3) for a in at], np.uint64)
    for name, values in want.items():
        assert z[name].to_numpy().tolist() == values.tolist(), name
    assert z["f32"].to_numpy().view(np.float32).tolist() == np.minimum(at + 1, 31).tolist()
    assert one.to_numpy().tolist() == ((at == 0) + 40 + 32000).tolist()
    assert subgroup.group_size() == 32 and subgroup.log2_group_size() == 5


NAMED = [  # a call, its result in lane k
    ("subgroup.shuffle(index=3, value=v)", lambda v, k: v[3]),
    ("subgroup.shuffle_up(offset=2, value=v)", lambda v, k: v[k - 2] if k > 1 else v[k]),
    ("subgroup.shuffle_xor(v, mask=1)", lambda v, k: v[k ^ 1]),
    ("subgroup.shuffle_tiled(log2_size=2, index=1, value=v)", lambda v, k: v[k // 4 * 4 + 1]),
    ("subgroup.broadcast(index=5, value=v)", lambda v, k: v[5]),
    ("subgroup.reduce_all_max_tiled(log2_size=1, value=v)", lambda v, k: max(v[k // 2 * 2], v[k // 2 * 2 + 1])),
    ("subgroup.segmented_reduce_add(head_flag=1, value=v)", lambda v, k: v[k]),
    ("subgroup.segmented_reduce_add_tiled(log2_size=3, head_flag=1, value=v)", lambda v, k: v[k]),
    ("subgroup.bitonic_sort_kv(value=0, key=v)[0]", lambda v, k: sorted(v)[k]),
    ("qd.cast(subgroup.ballot_first_n(n=3, predicate=1), qd.i32)", lambda v, k: 7),
    ("block.sync_count_nonzero(predicate=v > 5)", lambda v, k: 26),
    ("warp.shfl_down_i32(offset=1, val=v, mask=qd.u32(0xFFFFFFFF))", lambda v, k: v[min(k + 1, 31)]),
]


@pytest.mark.parametrize("call, want", NAMED, ids=[c for c, _ in NAMED])
def test_arguments_by_name(team_init, call, want):
    team_init(default_ip=qd.i64)
    z = qd.field(qd.i32, 32)
    text = f"@qd.kernel\ndef k():\n    qd.loop_config(block_dim=32)\n    for i in z:\n        v = qd.cast(31 - i, qd.i32)\n        z[i] = {call}"
    load(text, z=z, subgroup=subgroup, block=block, warp=warp)["k"]()
    v = list(range(31, -1, -1))
    assert z.to_numpy().tolist() == [want(v, k) for k in range(32)]


@pytest.mark.parametrize(
    "call, text",
    [
        ("subgroup.shuffle(v, lane=3)", "unexpected keyword argument 'lane'"),
        ("subgroup.reduce_add(v, 3)", "it does not take 2 positional arguments"),
        ("subgroup.reduce_add_tiled(v)", "missing 1 required positional argument: 'log2_size'"),
    ],
)
def test_wrong_arguments(team, call, text):
    z = qd.field(qd.i32, 32)
    with pytest.raises(qd.QuadrantsTypeError, match=text):
        load(f"@qd.kernel\ndef k():\n    for i in z:\n        v = i\n        z[i] = {call}", z=z, subgroup=subgroup)[
            "k"
        ]()


OLD = {
    "block.mem_sync()": "block.mem_fence",
    "subgroup.barrier()": "subgroup.sync",
    "subgroup.memory_barrier()": "subgroup.mem_fence",
    "z[i] = qd.cast(subgroup.ballot_full_subgroup(predicate=1), qd.u32)": "subgroup.ballot",
    "grid.memfence()": "grid.mem_fence",
}


@pytest.mark.parametrize("statement", OLD)
def test_old_names_work_and_warn(team, statement):
    z = qd.field(qd.u32, 32)
    k = load(f"@qd.kernel\ndef k():\n    for i in z:\n        z[i] = 1\n        {statement}", z=z, **GROUPS)["k"]
    with pytest.warns(DeprecationWarning, match=f"use qd.simt.{OLD[statement]}"):
        k()
    assert z.to_numpy().tolist() == [2**32 - 1 if "ballot" in statement else 1] * 32


GROUPS = {"block": block, "subgroup": subgroup, "warp": warp, "grid": grid}


def test_every_name_means_something_in_kernels():
    from quadrants.lang.frontend.calls import PLAIN

    missing = [f"{g}.{name}" for g, group in GROUPS.items() for name, f in vars(group).items() if f not in PLAIN]
    assert not missing

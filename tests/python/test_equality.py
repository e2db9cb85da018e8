"""Whole kernel and per offload give what plain Python gives: every row of the table of conditions under which an older
system had to keep a kernel whole.

A row's text is run three ways: as Python on NumPy arrays (the model), and as a kernel in both granularities; on arrays
that are distinct, one and the same, and (NumPy) overlapping. Values are small integers, so every order of additions
gives the same sums. Loops touch element i in iteration i only, or one array only, so all results are determined.
"""

import types

import numpy as np
import pytest
from program_text import load

import quadrants as qd

N = 9
SHIM = types.SimpleNamespace(  # `qd` for the model
    static=lambda x: x,
    ndrange=lambda *n: [tuple(map(int, k)) for k in np.ndindex(*n)],
    volatile_load=lambda x: x,
    cast=lambda x, dtype: x,
    i32=int,
    loop_config=lambda **options: None,
    Vector=lambda values: np.array(values),
    func=lambda f: f,
)

# name: body of k(a, b, out), all of them i32 and one-dimensional. Lines above `---` stand outside the kernel.
ROWS = {
    "running total": """
        total = 0
        for i in range(a.shape[0]):
            total += a[i]
        for i in range(out.shape[0]):
            out[i] = total
    """,
    "stale snapshot": """
        first = a[0]
        for i in range(a.shape[0]):
            a[i] = 0
        for i in range(out.shape[0]):
            out[i] = first
    """,
    "snapshot of another parameter": """
        first = a[3]
        for i in range(b.shape[0]):
            b[i] = 7
        for i in range(out.shape[0]):
            out[i] = first
    """,
    "read between two writers": """
        for i in range(a.shape[0]):
            a[i] += 10
        middle = a[2] * b[1]
        for i in range(a.shape[0]):
            a[i] += 10
        for i in range(out.shape[0]):
            out[i] = middle + a[i]
    """,
    "volatile read": """
        first = qd.volatile_load(a[1])
        for i in range(a.shape[0]):
            a[i] = 2
        for i in range(out.shape[0]):
            out[i] = first + a[i]
    """,
    "variable changed between loops": """
        x = a[0]
        for i in range(out.shape[0]):
            out[i] = x
        x *= 3
        x -= b[1]
        for i in range(out.shape[0]):
            out[i] += x
        x = x + out[0]
        for i in range(b.shape[0]):
            b[i] += x
    """,
    "conditional variable": """
        x = 1
        if a[1] > b[0]:
            x = a[2]
        else:
            x = b[2] + 100
        for i in range(a.shape[0]):
            a[i] = -1
        for i in range(out.shape[0]):
            out[i] = x
    """,
    "bound overwritten": """
        n = a[2]
        for i in range(a.shape[0]):
            a[i] = 0
        for i in range(n):
            out[i] = 5
    """,
    "bound from an earlier loop": """
        for i in range(a.shape[0]):
            a[i] = 4
        for i in range(a[3]):
            out[i] += 100
    """,
    "bound summed up": """
        n = 0
        for i in range(b.shape[0]):
            n += 1
        for i in range(n - 2):
            out[i] = n
    """,
    "serial run between loops": """
        for i in range(a.shape[0]):
            a[i] += 1
        n = 0
        while n < 5:
            a[n] += a[n + 1]
            n += 1
        for i in range(out.shape[0]):
            out[i] = a[i] + n
    """,
    "serialized loop": """
        for i in range(a.shape[0]):
            a[i] += 1
        qd.loop_config(serialize=True)
        for i in range(a.shape[0] - 1):
            a[i + 1] += a[i]
        for i in range(out.shape[0]):
            out[i] += a[i]
    """,
    "long chain of pure values": """
        x = a[0]
        y = x
        for k in qd.static(range(30)):
            y = (y * 3 + k + x) % 1009
        for i in range(a.shape[0]):
            a[i] = y
        for i in range(out.shape[0]):
            out[i] += y - x
    """,
    "vector carried": """
        v = qd.Vector([a[0], a[1], a[2]])
        for i in range(a.shape[0]):
            a[i] = 0
        w = v + v
        for i in range(out.shape[0]):
            out[i] = w[0] * 100 + v[1] * 10 + w[2]
    """,
    "local array carried": """
        v = qd.Vector([a[0], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
        for i in range(a.shape[0]):
            a[i] = v[i * 2]
        v[3] = a[1]
        for i in range(out.shape[0]):
            out[i] += v[i] + v[19 - i]
    """,
    "two sums in one loop": """
        s = 0
        t = 1
        for i in range(a.shape[0]):
            s += a[i]
            t += b[i] * 2
        for i in range(out.shape[0]):
            out[i] = s * 100 + t
    """,
    "sum continued": """
        s = 0
        for i in range(a.shape[0]):
            s += a[i]
        for i in range(b.shape[0]):
            b[i] = s
        for i in range(b.shape[0]):
            s += b[i]
        for i in range(out.shape[0]):
            out[i] = s
    """,
    "function before and after": """
        def weight(x):
            return x * 3 + 1
        ---
        x = weight(a[0])
        for i in range(a.shape[0]):
            a[i] = weight(a[i])
        for i in range(out.shape[0]):
            out[i] = x + weight(x)
    """,
    "loops over two axes": """
        x = a[4]
        for i, j in qd.ndrange(3, 3):
            a[i * 3 + j] += i * 10 + j
        for i, j in qd.ndrange(3, 3):
            out[i * 3 + j] = a[i * 3 + j] + x
    """,
    "equal loops": """
        for i in range(a.shape[0]):
            a[i] += 1
        for i in range(a.shape[0]):
            a[i] += 1
        for i in range(out.shape[0]):
            out[i] += a[i]
    """,
}


def texts(row: str) -> tuple[str, str]:
    """Lines outside the kernel, and its body."""
    lines = [line[8:] for line in row.strip("\n").splitlines()]
    if "---" not in lines:
        return "", "\n".join("    " + line for line in lines)
    cut = lines.index("---")
    return "@qd.func\n" + "\n".join(lines[:cut]) + "\n", "\n".join("    " + line for line in lines[cut + 1 :])


def model(row: str):
    outside, body = texts(row)
    return load(f"{outside}def k(a, b, out):\n{body}\n", qd=SHIM)["k"]


def kernel(row: str):
    outside, body = texts(row)
    array = "qd.types.NDArray[qd.i32, 1]"
    return load(f"{outside}@qd.kernel\ndef k(a: {array}, b: {array}, out: {array}):\n{body}\n")["k"]


START = [np.arange(N, dtype=np.int32) * 3 % 7 + 1, np.arange(N, dtype=np.int32) + 2, np.zeros(N, np.int32)]
SHARED = [(0, 1, 2), (0, 0, 2), (0, 1, 0), (0, 1, 1), (0, 0, 0)]  # which array each parameter gets


def arrays_of(share, copy):
    made = [copy(values) for values in START]
    return made, [made[k] for k in share]


def from_numpy(values):
    array = qd.ndarray(qd.i32, values.shape)
    array.from_numpy(values)
    return array


MODES = {"whole kernel": False, "per offload": True}


@pytest.fixture(params=MODES)
def mode(request, init):
    """A runtime in one granularity; its value tells whether kernels are split."""
    init(per_offload_cache=MODES[request.param])
    return MODES[request.param]


def check_granularity(k, split):
    seen = k._primal.per_offload_cache_observations
    assert (seen.frontend_constructs_total > 0) == split, seen
    assert (seen.whole_kernel_reason == "") == split, seen
    assert seen.tasks_total > 1, seen


@pytest.mark.parametrize("name", ROWS)
def test_row(mode, name):
    plain, k = model(ROWS[name]), kernel(ROWS[name])
    for share in SHARED:
        expected, given = arrays_of(share, np.copy)
        plain(*given)
        for copy in (from_numpy, np.copy):
            made, given = arrays_of(share, copy)
            k(*given)
            got = [x.to_numpy() if copy is from_numpy else x for x in made]
            for x, y in zip(got, expected):
                assert x.tolist() == y.tolist(), (share, copy)
    check_granularity(k, mode)


OVERLAP = [
    "running total",
    "stale snapshot",
    "snapshot of another parameter",
    "bound overwritten",
    "conditional variable",
]


@pytest.mark.parametrize("name", OVERLAP)
def test_overlapping_views(mode, name):
    plain, k = model(ROWS[name]), kernel(ROWS[name])
    for shifts in ((0, 1, 2), (2, 1, 0), (1, 0, 1)):
        both = [np.arange(N + 2, dtype=np.int32) % 5 + 1 for _ in range(2)]
        for run, base in zip((plain, k), both):
            run(*(base[s : s + N] for s in shifts))
        assert both[0].tolist() == both[1].tolist(), shifts


@pytest.mark.parametrize("same", [False, True])
def test_gradient_snapshot(mode, same):
    array, plain = "qd.types.ndarray(dtype=qd.f32, ndim=1, needs_grad=True)", "qd.types.ndarray(dtype=qd.f32, ndim=1)"
    k = load(f"""
        @qd.kernel
        def k(a: {array}, b: {array}, out: {plain}):
            g = a.grad[0]
            for i in range(b.shape[0]):
                b.grad[i] = 0.0
            for i in range(out.shape[0]):
                out[i] = g
    """)["k"]
    a, b = (qd.ndarray(qd.f32, N, needs_grad=True) for _ in range(2))
    b = a if same else b
    for x in (a, b):
        x.grad.fill(3.0)
    a.grad[0] = 5.0
    out = qd.ndarray(qd.f32, N)
    k(a, b, out)
    assert out.to_numpy().tolist() == [5.0] * N and b.grad.to_numpy().tolist() == [0.0] * N
    assert same or a.grad.to_numpy().tolist() == [5.0] + [3.0] * (N - 1)
    k(a, b, a.grad)  # the third parameter is bound to the gradients of the first
    assert a.grad.to_numpy().tolist() == [0.0 if same else 5.0] * N
    check_granularity(k, mode)


@pytest.mark.parametrize("make", [from_numpy, np.copy])
def test_clamped_read_of_overwritten_data(mode, make):
    k = load("""
        array = qd.types.ndarray(qd.i32, 1, boundary="clamp")
        @qd.kernel
        def k(a: array, out: array):
            last = a[1000]
            first = a[0 - out.shape[0]]
            for i in range(a.shape[0]):
                a[i] = 0
            for i in range(out.shape[0]):
                out[i] = last * 10 + first
    """)["k"]
    for same in (False, True):
        a = make(START[0])
        out = a if same else make(START[2])
        k(a, out)
        got = out if make is np.copy else out.to_numpy()
        assert got.tolist() == [int(START[0][-1]) * 10 + int(START[0][0])] * N
    check_granularity(k, mode)


def test_a_side_effect_happens_once(mode):
    k = load("""
        @qd.kernel
        def k(count: qd.types.NDArray[qd.i32, 1], out: qd.types.NDArray[qd.i32, 1]):
            ticket = qd.atomic_add(count[0], 1)
            for i in range(out.shape[0]):
                out[i] = ticket
            for i in range(out.shape[0]):
                out[i] += ticket * 10
    """)["k"]
    for make in (from_numpy, np.copy):
        count, out = make(np.array([4, 0], np.int32)), make(START[2])
        k(count, out)
        k(count, out)
        got = [x if make is np.copy else x.to_numpy() for x in (count, out)]
        assert got[0].tolist() == [6, 0] and got[1].tolist() == [55] * N
    check_granularity(k, mode)


DRAW = """
    @qd.kernel
    def k(a: qd.types.NDArray[qd.f32, 1], out: qd.types.NDArray[qd.f32, 1]):
        r = qd.random()
        for i in range(a.shape[0]):
            a[i] = r
        for i in range(out.shape[0]):
            out[i] = r + qd.random()
"""


def test_a_draw_happens_once_and_is_the_same_in_both_modes(init):
    seen = []
    for split in (False, True):
        init(per_offload_cache=split, random_seed=17, src_ll_cache=False)
        k = load(DRAW)["k"]
        a, out = np.zeros(N, np.float32), np.zeros(N, np.float32)
        k(a, out)
        assert len(set(a.tolist())) == 1 and len(set(out.tolist())) == N
        assert ((out >= a) & (out < a + 1)).all()
        check_granularity(k, split)
        seen.append((a.tolist(), out.tolist()))
    assert seen[0] == seen[1]


def test_fields_and_arrays(mode):
    f, v, s = qd.field(qd.i32, N), qd.Vector.field(2, qd.i32, N), qd.field(qd.i32, ())
    k = load(
        """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i32, 1]) -> qd.i32:
            first = f[0] + v[1][1]
            for i in f:
                f[i] = a[i] + first
                v[i] = qd.Vector([i, first])
                s[None] += f[i]
            total = s[None]
            for i in range(a.shape[0]):
                a[i] = total + v[i].sum()
            return total - first
        """,
        f=f, v=v, s=s,
    )["k"]  # fmt: skip
    f.fill(3)
    v.fill(4)
    a = np.copy(START[0])
    total = int(START[0].sum()) + 7 * N
    assert k(a) == total - 7
    assert a.tolist() == [total + i + 7 for i in range(N)] and f.to_numpy().tolist() == (START[0] + 7).tolist()
    check_granularity(k, mode)


@pytest.mark.parametrize("op, start, expected", [("max", -9, 7), ("min", 99, 1), ("or", 0, 7)])
def test_reductions_into_variables(mode, op, start, expected):
    k = load(f"""
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i32, 1], out: qd.types.NDArray[qd.i32, 1]):
            m = {start}
            for i in range(a.shape[0]):
                qd.atomic_{op}(m, a[i])
            for i in range(out.shape[0]):
                out[i] = m
    """)["k"]
    for same in (False, True):
        a = np.copy(START[0])
        out = a if same else np.copy(START[2])
        k(a, out)
        assert out.tolist() == [expected] * N
    check_granularity(k, mode)


@pytest.mark.parametrize("split", [False, True])
def test_a_failed_assertion_skips_later_tasks(init, split):
    init(per_offload_cache=split, debug=True)
    k = load("""
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i32, 1], out: qd.types.NDArray[qd.i32, 1]):
            for i in range(a.shape[0]):
                assert i != 4
                a[i] = 1
            for i in range(out.shape[0]):
                out[i] = 1
    """)["k"]
    a, out = np.zeros(N, np.int32), np.zeros(N, np.int32)
    with pytest.raises(qd.QuadrantsAssertionError):
        k(a, out)
    assert a.tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1] and not out.any()


WAITING = {
    "gradient kernels": "kernel.grad and qd.ad are not supported yet",
    "unstructured mesh loops": "qd.Mesh is not supported yet",
    "concurrent regions": "qd.stream_parallel is not supported yet",
    "line coverage": "kernel coverage is not supported yet",
    "torch arguments": "torch tensors are not supported yet",
}


@pytest.mark.parametrize("name", WAITING)
def test_waiting(name):
    """Rows of the table that the language cannot write yet; the skip says what is missing."""
    assert name not in ROWS
    pytest.skip(WAITING[name])

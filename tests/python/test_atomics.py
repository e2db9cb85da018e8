"""Atomic functions: the old value, the new element; on fields, arrays, vectors and local variables."""

import numpy as np
import pytest
from program_text import load

import quadrants as qd

ROWS = [
    # function, element before, operand, element after
    ("add", 5, 3, 8), ("sub", 5, 3, 2), ("mul", 5, 3, 15), ("min", 5, 3, 3), ("max", 5, 3, 5), ("and", 6, 3, 2), ("or", 6, 3, 7),
    ("xor", 6, 3, 5), ("exchange", 5, 3, 3),
]  # fmt: skip
TARGETS = {"field": "x[None]", "array": "a[1]", "component": "v[None][1]", "local": "s", "local vector": "w[1]"}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name, before, operand, after", ROWS)
def test_function(arch, name, before, operand, after, target):
    x, v, a = qd.field(qd.i32, shape=()), qd.Vector.field(2, qd.i32, shape=()), np.zeros(2, np.int32)
    place = TARGETS[target]
    text = f"""
    @qd.kernel
    def k(a: qd.types.NDArray[qd.i32, 1], n: qd.i32) -> qd.types.vector(2, qd.i32):
        s = 0
        w = qd.Vector([0, 0])
        {place} = {before}
        old = qd.atomic_{name}({place}, n)
        return qd.Vector([old, {place}])
    """
    assert load(text, x=x, v=v)["k"](a, operand).to_list() == [before, after]


def test_compare_and_swap(arch):
    @qd.kernel
    def k(a: qd.types.NDArray[qd.i32, 1]) -> qd.types.vector(2, qd.i32):
        p = qd.atomic_cas(a[0], 5, 9)
        q = qd.atomic_cas(a[1], 4, 9)
        return qd.Vector([p, q])

    a = np.array([5, 5], np.int32)
    assert k(a).to_list() == [5, 5] and a.tolist() == [9, 5]


def test_compare_and_swap_of_variables(arch):
    @qd.kernel
    def k() -> qd.types.vector(4, qd.i32):
        a, v = 1, qd.Vector([1, 2])
        p = qd.atomic_cas(a, 1, 5)
        q = qd.atomic_cas(v[1], 3, 7)
        return qd.Vector([p, a, q, v[1]])

    assert k().to_list() == [1, 5, 2, 2]


@pytest.mark.parametrize("dtype", ["i32", "i64", "u32", "f32", "f64"])
def test_sums_from_many_iterations(arch, dtype):
    t = getattr(qd, dtype)
    f = qd.field(t, shape=3)

    @qd.kernel
    def k(n: qd.i32):
        for i in range(n):
            f[0] += i
            f[1] -= 1
            qd.atomic_max(f[2], i)

    f[1] = 3000
    k(2000)
    assert f.to_numpy().tolist() == [1999000, 1000, 1999]


def test_vectors_fan_out(arch):
    f = qd.Vector.field(2, qd.f32, shape=())

    @qd.kernel
    def k():
        for i in range(10):
            qd.atomic_add(f[None], qd.Vector([1.0, 2.0]))
            f[None] += 1.0

    k()
    assert f[None].to_list() == [20.0, 30.0]


def test_tickets_are_unique(arch):
    @qd.kernel
    def k(count: qd.types.NDArray[qd.i32, 1], seen: qd.types.NDArray[qd.i32, 1]):
        for i in range(seen.shape[0]):
            seen[qd.atomic_add(count[0], 1)] = 1

    count, seen = np.zeros(1, np.int32), np.zeros(5000, np.int32)
    k(count, seen)
    assert count[0] == 5000 and seen.all()


ERRORS = [
    ("qd.atomic_add(x, 1)", "QuadrantsSyntaxError", "index it"),
    ("qd.atomic_and(y[None], 1)", "QuadrantsTypeError", "integers"),
    ("z = 1.0\n    qd.atomic_cas(z, 1.0, 2.0)", "QuadrantsTypeError", "integers"),
    ("qd.atomic_cas(y[None], 1.0, 2.0)", "QuadrantsTypeError", "integers"),
    ("qd.atomic_add(1 + 2, 1)", "QuadrantsSyntaxError", "target"),
    ("qd.volatile_load(1)", "QuadrantsSyntaxError", "target"),
]


@pytest.mark.parametrize("statement, error, message", ERRORS)
def test_refused(arch, statement, error, message):
    x, y = qd.field(qd.i32, shape=()), qd.field(qd.f32, shape=())
    with pytest.raises(getattr(qd, error), match=message):
        load(f"@qd.kernel\ndef k():\n    {statement}\n", x=x, y=y)["k"]()


def test_outside_kernels():
    with pytest.raises(qd.QuadrantsSyntaxError, match="inside kernels"):
        qd.atomic_add(1, 2)


@pytest.mark.parametrize("kind", ["field", "numpy"])
def test_truth_values_count_to_one(arch, kind):
    """`+=` on an element of u1 is a read and a write: there is no atomic addition of truth values."""
    a = qd.field(qd.u1, 3) if kind == "field" else np.zeros(3, bool)
    annotation = qd.template() if kind == "field" else qd.types.ndarray()

    @qd.kernel
    def k(a: annotation):
        for i in range(3):
            a[i] += i

    k(a)
    assert (a.to_numpy() if kind == "field" else a).tolist() == [False, True, True]


@pytest.mark.parametrize("dtype, operands", [
    *((t, ["i", "qd.u64(i)", "qd.f64(i)"]) for t in ("i8", "u16", "u32")), ("f32", ["i", "qd.f64(i)"]),
])  # fmt: skip
def test_updates_of_shared_variables_of_any_type_are_atomic(init, dtype, operands, monkeypatch, tmp_path):
    monkeypatch.setenv("QD_DUMP_IR", "1")
    init(offline_cache=False, src_ll_cache=False, debug_dump_path=str(tmp_path), log_level="error")
    updates = [
        f"{place} {op}= {operand}"
        for place in ("s", "v[i % 2]")
        for operand in operands
        for op in "+-&|^"
        if op in "+-" or "f" not in dtype + operand  # the others are not for real numbers
    ]
    text = f"""
    @qd.kernel
    def k(n: qd.i32) -> qd.f64:
        s = qd.cast(0, qd.{dtype})
        v = qd.Vector([s, s])
        for i in range(n):
            {"; ".join(updates)}
        return s + v[0] + v[1]
    """
    load(text)["k"](8)
    loop = next(t for t in (p.read_text() for p in tmp_path.glob("k_*.kir")) if "parallel" in t)
    assert loop.count("atomic_") == len(updates) * 3 // 2 and "store" not in loop, loop  # each component has one

"""BufferView: parts of 1-D ndarrays on the host and in kernels."""

import numpy as np
import pytest
from program_text import load

import quadrants as qd
from quadrants.lang.exception import QuadrantsRuntimeTypeError, QuadrantsSyntaxError, QuadrantsTypeError


def numbers(n=10):
    a = qd.ndarray(qd.i32, n)
    a.from_numpy(np.arange(n, dtype=np.int32))
    return a


HEAD = """
@qd.func
def first(v: qd.BufferView):
    return v[0]
@qd.func
def any_first(v):
    return v[0]
"""
ROWS = {
    # name: (body that computes r for v = a[2:8] of 0..9 and n = 2, value)
    "element": ("r = v[1]", 3),
    "run-time element": ("r = v[n]", 4),
    "size and shape": ("r = v.size * 10 + v.shape[0]", 66),
    "sum": ("for i in range(v.size):\n    r += v[i]", 27),
    "loop over the view": ("for i in v:\n    r += v[i] * i", sum((i + 2) * i for i in range(6))),
    "slice": ("w = v[1:3]\nr = w[0] * 100 + w[1] * 10 + w.size", 342),
    "run-time slice": ("w = v[n:n + 3]\nr = w[0] * 10 + w.size", 43),
    "open slice": ("r = v[4:].size * 10 + v[:1].size", 21),
    "slice of a slice": ("r = v[1:5][1:3][1]", 5),
    "subview": ("w = v.subview(2, 2)\nr = w[1] * 10 + w.size", 52),
    "in a function": ("r = first(v) * 100 + any_first(v[1:]) * 10 + first(v[n:])", 234),
    "write": ("v[1] = 50\nv[2] += 5\nqd.atomic_add(v[3], 1)\nr = v[1] + v[2] + v[3]", 65),
}


@pytest.mark.parametrize("annotation", ["qd.BufferView", "qd.BufferView[qd.i32]", "qd.types.BufferViewType(qd.i32)"])
@pytest.mark.parametrize("name", ROWS)
def test_kernel(arch, name, annotation):
    body, expected = ROWS[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    k = load(f"{HEAD}\n@qd.kernel\ndef k(v: {annotation}, n: qd.i32) -> qd.i32:\n    r = 0\n{lines}    return r\n")["k"]
    assert k(numbers()[2:8], 2) == expected


def test_one_specialisation_for_all_views(arch):
    k = load("@qd.kernel\ndef k(v: qd.BufferView, x: qd.i32):\n    for i in v:\n        v[i] = x\n")["k"]
    a, b = numbers(), numbers(5)
    made, compile_ = [], k._primal._compile
    k._primal._compile = lambda *args: made.append(1) or compile_(*args)
    for v, x in ((a[2:4], 20), (a[8:], 30), (b[:1], 40), (a[3:3], 50)):
        k(v, x)
    assert a.to_numpy().tolist() == [0, 1, 20, 20, 4, 5, 6, 7, 30, 30] and b[0] == 40 and len(made) == 1


def test_vectors(arch):
    a = qd.Vector.ndarray(2, qd.f32, 4)
    a[1] = [3, 4]
    k = load("@qd.kernel\ndef k(v: qd.BufferView) -> qd.f32:\n    v[1] = v[0] * 2\n    return v[0][1]\n")["k"]
    assert k(a[1:3]) == 4 and a[2].to_list() == [6, 8]


@pytest.mark.parametrize("index", [4, -1, 100])
def test_bounds_are_checked(init, index):
    init(debug=True)
    k = load("@qd.kernel\ndef kernel(v: qd.BufferView, i: qd.i32):\n    v[i] = 7\n")["kernel"]
    a = numbers()
    with pytest.raises(
        qd.QuadrantsAssertionError,
        match=f"(?s)kernel=kernel.*BufferView Out Of Range: 'v' of size 4, got index {index}",
    ):
        k(a[2:6], index)
    assert a.to_numpy().tolist() == list(range(10))
    k(a[2:6], 3)
    assert a[5] == 7


def test_host(arch):
    a = numbers()
    v = a[2:6]
    assert (v.size, v.shape, v.offset, len(v)) == (4, (4,), 2, 4) and v.get_ndarray() is a
    w = v[1:3]
    assert (w.offset, w.size) == (3, 2) and v.subview(1, 2).offset == 3 and isinstance(w, qd.BufferView)
    assert [a[8:20].size, a[5:2].size, a[-3:].offset, a[:].size, v[1:9].size] == [2, 0, 7, 10, 3]


ERRORS = [
    ("a[2:6:2]", ValueError, "requires step=1, got step=2"),
    ("qd.BufferView(a, 2, 20)", ValueError, "offset=2, size=20, ndarray length=10"),
    ("qd.BufferView(a, -1, 2)", ValueError, "offset=-1"),
    ("a[2:6][0]", TypeError, "requires a slice, got int"),
    ("a[2:6].subview(3, 5)", ValueError, "view size=4"),
    ("qd.BufferView(np.zeros(3), 0, 1)", TypeError, "takes an ndarray, got ndarray"),
    ("qd.BufferView(qd.ndarray(qd.i32, (2, 2)), 0, 1)", TypeError, "one dimension"),
    ("qd.ndarray(qd.i32, (2, 2))[0:1]", TypeError, "requires a 1D array"),
    ("qd.BufferView(qd.ndarray(qd.f32, 2, needs_grad=True), 0, 1)", TypeError, "gradients"),
    ("a[2:6].subscript(0)", QuadrantsSyntaxError, "in kernels only"),
    ("k(a)", QuadrantsRuntimeTypeError, "Argument v expects a BufferView, got ScalarNdarray"),
    ("f32(a[2:6])", ValueError, "dtype=f32"),
]


@pytest.mark.parametrize("make, kind, text", ERRORS)
def test_errors(arch, make, kind, text):
    space = load(
        "@qd.kernel\ndef k(v: qd.BufferView):\n    v[0] = 1\n@qd.kernel\ndef f32(v: qd.BufferView[qd.f32]):\n    v[0] = 1\n"
    )
    with pytest.raises(kind, match=text):
        eval(make, {**space, "a": numbers()})


def test_real_indices(arch):
    with pytest.raises(QuadrantsTypeError, match="indices must be integers"):
        load("@qd.kernel\ndef k(v: qd.BufferView):\n    v[1.5] = 1\n")["k"](numbers()[1:3])


@qd.real_func
def summed(v: qd.BufferView[qd.i32], weight: qd.i32) -> qd.i32:
    if v.size == 0:
        return 0
    total = 0
    for k in range(v.size):
        total += v[k] * weight
    return total


@qd.real_func
def halves(v: qd.BufferView[qd.i32]) -> qd.i32:
    if v.size <= 1:
        return summed(v, 1)
    half = v.size // 2
    return halves(v[0:half]) * 2 + halves(v[half : v.size])


def test_slices_go_to_real_functions(arch):
    """Where a slice begins and ends is passed at each call: one function serves all slices of an array."""

    @qd.kernel
    def k(v: qd.BufferView[qd.i32], other: qd.BufferView[qd.i32], n: qd.i32) -> (qd.i32, qd.i32, qd.i32, qd.i32):
        return summed(v[2:n], 1), summed(v[0:1], 10), summed(other.subview(1, 2), 100), halves(v)

    a, b = qd.ndarray(qd.i32, 10), qd.ndarray(qd.i32, 4)
    for i in range(10):
        a[i] = i
    b.fill(1)
    whole = a[3:9].get_ndarray().to_numpy()[3:9]

    def expected(values):
        half = len(values) // 2
        return sum(values) if len(values) <= 1 else expected(values[:half]) * 2 + expected(values[half:])

    for n in (5, 3, 2):
        assert k(a[3:9], b[0:4], n) == (sum(whole[2:n]), 30, 200, expected(list(whole)))

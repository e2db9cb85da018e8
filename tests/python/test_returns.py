"""What kernels return: every scalar type, vectors, matrices, tuples; the annotation's rules."""

import math
import typing

import numpy as np
import pytest
from program_text import load

import quadrants as qd

SCALARS = [
    ("qd.i8", -128), ("qd.i16", -32768), ("qd.i32", -(2**31)), ("qd.i64", -(2**63)), ("qd.u8", 255), ("qd.u16", 65535),
    ("qd.u32", 2**32 - 1), ("qd.u64", 2**63 + 5), ("qd.u1", True), ("int", -7), ("bool", False), ("qd.f64", 0.1), ("float", 0.5),
    ("qd.f32", 0.5), ("qd.f16", 1.5), ("qd.f64", math.inf),
]  # fmt: skip


@pytest.mark.parametrize("dtype, value", SCALARS)
def test_scalar(arch, dtype, value):
    got = load(f"@qd.kernel\ndef k(x: {dtype}) -> {dtype}:\n    return x\n")["k"](value)
    assert got == value and type(got) is type(value)


def test_compound(arch):
    V, M = qd.types.vector(3, qd.i32), qd.types.matrix(2, 2, qd.f32)

    @qd.kernel
    def several(a: qd.i32, v: V) -> typing.Tuple[qd.i32, V, M, qd.f64]:  # noqa: UP006
        return a, v * 2, qd.Matrix([[1.0, 2.0], [3.0, 4.0]]), 0.25

    @qd.kernel
    def pair() -> (qd.i32, qd.f32):
        return 1, 2.5

    a, v, m, x = several(5, [1, 2, 3])
    assert (a, v.to_list(), m.to_numpy().tolist(), x) == (5, [2, 4, 6], [[1.0, 2.0], [3.0, 4.0]], 0.25)
    assert pair() == (1, 2.5)


def test_large_vector(arch):
    @qd.kernel
    def k(n: qd.i32) -> qd.types.vector(40, qd.i32):
        v = qd.Vector.zero(qd.i32, 40)
        for i in range(40):
            v[i] = i * n
        return v

    @qd.kernel
    def serial(n: qd.i32) -> qd.types.vector(40, qd.i32):
        v = qd.Vector.zero(qd.i32, 40)
        qd.loop_config(serialize=True)
        for i in range(40):
            v[i] = i * n
        return v

    assert serial(3).to_list() == [i * 3 for i in range(40)]
    assert k(2).to_list() == [i * 2 for i in range(40)]


def test_none(arch):
    @qd.kernel
    def k() -> None:
        return

    assert k() is None


ERRORS = [
    ("def k():\n    return 1", "must be annotated with a return type"),
    ("def k() -> qd.i32:\n    pass", "Kernel has a return type but does not have a return statement"),
    ("def k() -> qd.i32:\n    return", "Kernel has a return type but does not have a return statement"),
    ("def k() -> qd.i32:\n    return None", "Kernel has a return type but does not have a return statement"),
    ("def k() -> tuple:\n    return 1, 2", "Invalid return type annotation"),
    ("def k() -> qd.types.vector(2):\n    return qd.Vector([1, 2])", "needs a size and an element type"),
    (
        "def k() -> (qd.i32, qd.types.struct(v=qd.types.matrix(2, 2))):\n    return 1, 2",
        "needs a size and an element type",
    ),
    (
        "def k(a: qd.i32) -> qd.i32:\n    if a:\n        return 1\n    return 2",
        "Return inside non-static if/for is not supported",
    ),
    ("def k() -> qd.i32:\n    return qd.Vector([1, 2])", "cannot be converted into required type i32"),
    ("def k() -> qd.types.vector(2, qd.i32):\n    return qd.Vector([1.5, 2])", "cannot be converted"),
    ("def k() -> (qd.i32, qd.i32):\n    return 1", "2"),
    ("def k() -> tuple[qd.i32, ...]:\n    return 1", "Ellipsis"),
    ("def k() -> qd.types.vector(2, qd.i32):\n    return qd.Vector([1, 2, 3])", "cannot be converted"),
]


@pytest.mark.parametrize("program, message", ERRORS)
def test_refused(arch, program, message):
    with pytest.raises((qd.QuadrantsCompilationError, qd.QuadrantsRuntimeTypeError), match=message):
        k = load(f"@qd.kernel\n{program}\n")["k"]
        k(*([1] if "a:" in program else []))


def test_return_without_an_annotation_is_a_syntax_error(arch):
    with pytest.raises(qd.QuadrantsSyntaxError, match="must be annotated with a return type"):
        load("@qd.kernel\ndef k():\n    return 1\n")["k"]()


@pytest.mark.parametrize(
    "value, read", [("qd.Vector([x, x + 1])", "f(1)[1]"), ("x, x + 1", "f(1)[1]"), ("x * 2.5", "f(1)")]
)
def test_scalar_annotation_of_an_inlined_function_casts_scalars_only(arch, value, read):
    program = f"@qd.func\ndef f(x) -> qd.i32:\n    return {value}\n@qd.kernel\ndef k() -> qd.f32:\n    return {read}\n"
    assert load(program)["k"]() == 2


def test_tuple_of_one(arch):
    for value in ("7", "7,"):
        assert load(f"@qd.kernel\ndef k() -> (qd.i32,):\n    return {value}\n")["k"]() == (7 if value == "7" else (7,))


def test_result_of_loops(arch):
    @qd.kernel
    def total(a: qd.types.NDArray[qd.f64, 1]) -> qd.f64:
        s = 0.0
        for i in a:
            s += a[i]
        return s

    assert total(np.arange(1000, dtype=np.float64)) == 499500.0

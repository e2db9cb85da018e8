"""Statements: assignment, unpacking, loops of every kind, branches, scopes. Bodies write to `out`; one row a case."""

import numpy as np
import pytest
from program_text import load

import quadrants as qd

ROWS = {
    # name: (body, what `out`, eight integers that were zero, holds afterwards)
    "assign": ("a = 1\na = a + 2\nout[0] = a", [3]),
    "chain": ("a = b = 4\na += 1\nout[0] = a\nout[1] = b", [5, 4]),
    "narrowing": ("a = 1\na = 2.9\nout[0] = a", [2]),
    "annotated": ("a: qd.i8 = 300\nout[0] = a", [44]),
    "unpack": ("a, b = 1, 2\na, b = b, a\nout[0] = a\nout[1] = b", [2, 1]),
    "unpack nested": ("(a, b), c = (1, 2), 3\nout[0] = a + b + c", [6]),
    "unpack vector": ("a, b = qd.Vector([3, 4])\nout[0] = a * 10 + b", [34]),
    "swap elements": ("out[0] = 7\nout[1] = 8\nout[0], out[1] = out[1], out[0]", [8, 7]),
    "aug": ("a = 17\na //= 5\na <<= 2\na |= 1\na %= 8\nout[0] = a", [5]),
    "aug element": ("out[0] = 9\nout[0] *= 3\nout[0] //= 4\nout[0] -= 1\nout[0] **= 2\nout[0] >>= 1", [12]),
    "if": ("a = 5\nif a > 3:\n    out[0] = 1\nelif a > 1:\n    out[0] = 2\nelse:\n    out[0] = 3", [1]),
    "elif": ("a = n\nif a > 30:\n    out[0] = 1\nelif a > 1:\n    out[0] = 2\nelse:\n    out[0] = 3", [2]),
    "while": (
        "i = 0\nwhile i < n:\n    i += 1\n    if i == 3:\n        continue\n    if i == 5:\n        break\n    out[i] = i",
        [0, 1, 2, 0, 4],
    ),
    "while static": ("i = 0\nwhile qd.static(True):\n    i += 2\n    if i > n:\n        break\nout[0] = i", [10]),
    "while static, never": ("while qd.static(False):\n    out[0] = 1\nout[1] = 2", [0, 2]),
    "break in what is left out": (
        "for i in range(n):\n    if qd.static(False):\n        break\n    out[i] = 1",
        [1] * 8,
    ),
    "while true": ("i = 0\nwhile True:\n    i += 2\n    if i > n:\n        break\nout[0] = i", [10]),
    "parallel": ("for i in range(n):\n    out[i] = i * i", [0, 1, 4, 9, 16, 25, 36, 49]),
    "range from": ("for i in range(2, 5):\n    out[i] = i", [0, 0, 2, 3, 4]),
    "empty range": ("for i in range(5, 2):\n    out[i] = 1", [0]),
    "continue": ("for i in range(n):\n    if i % 2 == 0:\n        continue\n    out[i] = 1", [0, 1, 0, 1, 0, 1, 0, 1]),
    "serialize": (
        "qd.loop_config(serialize=True)\nfor i in range(n):\n    if i == 3:\n        break\n    out[i] = 1",
        [1, 1, 1],
    ),
    "nested break": (
        "for i in range(4):\n    for j in range(10):\n        if j > i:\n            break\n        out[i] += 1",
        [1, 2, 3, 4],
    ),
    "nested ndrange break": (
        "for t in range(1):\n    for i, j in qd.ndrange(3, 3):\n        if i * 3 + j == 4:\n            break\n        out[0] += 1",
        [4],
    ),
    "nested ndrange continue": (
        "for t in range(1):\n    for i, j in qd.ndrange(3, 3):\n        if i == j:\n            continue\n        out[0] += 1",
        [6],
    ),
    "ndrange": ("for i, j in qd.ndrange(2, (1, 4)):\n    out[i * 4 + j] = i * 10 + j", [0, 1, 2, 3, 0, 11, 12, 13]),
    "ndrange axes": (
        "for i, j in qd.ndrange(2, 3, axes=(1, 0)):\n    out[i * 3 + j] = i * 10 + j",
        [0, 1, 2, 10, 11, 12],
    ),
    "grouped ndrange": ("for I in qd.grouped(qd.ndrange(2, 2)):\n    out[I[0] * 2 + I[1]] = I.sum()", [0, 1, 1, 2]),
    "ndrange hides a name": (
        "i = 5\nfor i, j in qd.ndrange(2, 2):\n    out[i * 2 + j] = 1\nout[4] = i",
        [1, 1, 1, 1, 5],
    ),
    "grouped ndrange hides a name": (
        "I = 5\nfor I in qd.grouped(qd.ndrange(2, 2)):\n    out[I[1]] = 1\nout[2] = I",
        [1, 1, 5],
    ),
    "annotated element": ("out[1]: qd.i8 = 300", [0, 44]),
    "list with an assigned element": (
        "d = [1, 2]\nd[0] = 5\nout[0], out[1] = d\nout[2], out[3] = qd.max(*d), sum(d)\nfor x in qd.static(d):\n    out[4] += x",
        [5, 2, 5, 7, 7],
    ),
    "elements of a tuple": ("t = (1, 2)\nt[0] = 5\nout[0], out[1] = t", [5, 2]),
    "struct for": ("for i in out:\n    out[i] = 7 - i", [7, 6, 5, 4, 3, 2, 1, 0]),
    "grouped": ("for I in qd.grouped(out):\n    out[I] = I[0] + 1", [1, 2, 3, 4, 5, 6, 7, 8]),
    "static range": ("for i in qd.static(range(4)):\n    out[i] = i + 1", [1, 2, 3, 4]),
    "static list": ("for i, c in qd.static(enumerate([3, 5])):\n    out[i] = c", [3, 5]),
    "static zip": ("for a, b in qd.static(zip((0, 1), (6, 7))):\n    out[a] = b", [6, 7]),
    "static ndrange": ("for i, j in qd.static(qd.ndrange(2, 2)):\n    out[i * 2 + j] = i + j", [0, 1, 1, 2]),
    "static grouped": (
        "for I in qd.static(qd.grouped(qd.ndrange(2, 2))):\n    out[I[0] * 2 + I[1]] = I.sum()",
        [0, 1, 1, 2],
    ),
    "static break": (
        "for i in qd.static(range(8)):\n    if qd.static(i == 3):\n        break\n    if qd.static(i == 1):\n        continue\n"
        "    out[i] = 1",
        [1, 0, 1],
    ),
    "static choice": ("for i in range(2) if qd.static(False) else qd.static(range(3)):\n    out[i] = 1", [1, 1, 1]),
    "static if": ("if qd.static(1 > 2):\n    undefined_name()\nelse:\n    a = 5\nout[0] = a", [5]),
    "static and": ("if qd.static(1 in (1, 2) and 'a' not in ['b']):\n    out[0] = 1", [1]),
    "static alias": ("y = qd.static(out)\ny[2] = 5", [0, 0, 5]),
    "loop variable assigned": ("for i in range(3):\n    j = i\n    i = 10\n    out[j] = i", [10, 10, 10]),
    "carried": ("s = 0\nfor i in range(n):\n    s += i\nout[0] = s", [28]),
    "carried min": ("s = 99\nfor i in range(n):\n    qd.atomic_min(s, 5 - i)\nout[0] = s + 100", [98]),
    "updates in the type of a variable": ("s = 10\ns -= 1.7\ns += 1.7\ns *= 1.5\nout[0] = s", [15]),
    "updates in the type of components": (
        "v = qd.Vector([10, 20])\nv -= 1.7\nv[1] -= 1.7\nout[0], out[1] = v[0], v[1]",
        [9, 18],
    ),
    "updates of a truth value": ("s = True\ns -= 5\nt = True\nt += 1\nout[0], out[1] = s, t", [0, 1]),
    "carried narrow": ("s = qd.u8(250)\nfor i in range(n):\n    s += i\nout[0] = s", [22]),
    "fresh in loop": ("for i in range(n):\n    c = 0\n    c += i\n    out[i] = c", [0, 1, 2, 3, 4, 5, 6, 7]),
    "list elements": ("a = [1, 2, 3]\na[1] = 9\nout[0] = a[0] + a[1]", [10]),
    "list at run time": ("a = [4, 5, 6]\nfor i in range(3):\n    out[i] = a[i]", [4, 5, 6]),
    "comprehension": (
        "a = [i * i for i in range(4) if i != 1]\nout[0] = a[0]\nout[1] = a[1]\nout[2] = a[2]",
        [0, 4, 9],
    ),
    "dict": ("d = {'p': 3, **{'q': 4}}\nout[0] = d['p'] + d['q']", [7]),
    "pass and docstring": ("'a docstring'\npass\nout[0] = 1", [1]),
    "i64 index": ("for i in range(qd.cast(n, qd.i64)):\n    out[i] = 1", [1] * 8),
    "if in parallel scopes": (
        "for i in range(n):\n    v = 0\n    if i > 5:\n        w = 3\n        v = w\n    out[i] = v",
        [0, 0, 0, 0, 0, 0, 3, 3],
    ),
}


@pytest.mark.parametrize("kind", ["ndarray", "numpy", "field"])
@pytest.mark.parametrize("name", ROWS)
def test_statement(arch, name, kind):
    body, expected = ROWS[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    annotation = "qd.template()" if kind == "field" else "qd.types.NDArray[qd.i32, 1]"
    k = load(f"@qd.kernel\ndef k(out: {annotation}, n: qd.i32):\n{lines}")["k"]
    if kind == "numpy":
        out = np.zeros(8, np.int32)
    else:
        out = (qd.field if kind == "field" else qd.ndarray)(qd.i32, shape=(8,))
    k(out, 8)
    got = out if kind == "numpy" else out.to_numpy()
    assert got.tolist() == expected + [0] * (8 - len(expected))


def test_scope_ends_with_the_block(arch):
    k = load("@qd.kernel\ndef k(n: qd.i32) -> qd.i32:\n    if n > 0:\n        v = 1\n    return v\n")["k"]
    with pytest.raises(qd.QuadrantsNameError, match='"v" is not defined'):
        k(1)


def test_two_dimensional_struct_for_with_offset(arch):
    x = qd.field(qd.i32, shape=(3, 4), offset=(-1, 2))

    @qd.kernel
    def k():
        for i, j in x:
            x[i, j] = i * 10 + j

    k()
    assert x.to_numpy().tolist() == [[i * 10 + j for j in range(2, 6)] for i in range(-1, 2)]


def test_zero_dimensional(arch):
    s = qd.field(qd.i32, shape=())
    v = qd.Vector.field(2, qd.f32, shape=())

    @qd.kernel
    def k():
        s[None] = 4
        s[()] += 1
        v[None] = qd.Vector([1.0, 2.0])
        v[None].y += 3.0

    k()
    assert s[None] == 5 and v[None].to_list() == [1.0, 5.0]


def test_clamp(arch):
    @qd.kernel
    def k(a: qd.types.ndarray(qd.i32, ndim=1, boundary="clamp"), out: qd.types.NDArray[qd.i32, 1]):
        for i in range(5):
            out[i] = a[i - 1]

    a, out = np.array([10, 20, 30], np.int32), np.zeros(5, np.int32)
    k(a, out)
    assert out.tolist() == [10, 10, 20, 30, 30]


def test_unrolling_warns(init):
    init(unrolling_limit=4)
    k = load(
        "@qd.kernel\ndef k(a: qd.types.NDArray[qd.i32, 1]):\n    for i in qd.static(range(5)):\n        a[i] = i\n"
    )["k"]
    with pytest.warns(SyntaxWarning, match="unrolling more than 4"):
        k(np.zeros(5, np.int32))


def test_real_bounds_of_range_warn(arch):
    @qd.kernel
    def k(x: qd.f32) -> qd.i32:
        s = 0
        for i in range(1.5, x / 2):
            s += i
        return s

    with pytest.warns(SyntaxWarning, match="bound of range from f32 to i32"):
        assert k(9.0) == 6


def test_body_without_code(arch):
    k = load("@qd.kernel\ndef k():\n    global x\n")["k"]
    with pytest.raises(qd.QuadrantsSyntaxError, match='Unsupported node "Global"'):
        k()


def test_static_loop_variable_stays_known_where_others_assign_the_name(arch):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        s = 0
        for i in qd.static(range(3)):
            s += [1, 2, 3][i]
        for j in range(n):
            i = 5
            i += j
            s += i
        return s

    assert k(1) == 11


@pytest.mark.parametrize("nested", [False, True])
def test_fill_of_fields(arch, nested):
    """`field.fill` inside kernels is a loop over the field; where a loop cannot be parallel, an ordinary one."""
    vec2 = qd.types.vector(2, qd.f32)
    Pair = qd.types.struct(a=qd.i32, v=vec2)
    x, o = qd.field(qd.i32, (2, 3)), qd.field(qd.f32, 4, offset=-2)
    v, m, s = vec2.field(shape=3), qd.Matrix.field(2, 2, qd.i32, shape=()), Pair.field(shape=2)

    @qd.func
    def fill(f: qd.template(), value):
        f.fill(value)

    @qd.kernel
    def k(n: qd.i32):
        if qd.static(not nested):
            x.fill(n)
            fill(o, 1.5)
            v.fill([1, n])
            m.fill(7)
            s.v.fill(val=qd.Vector([2.0, 3.0]))
            v.get_scalar_field(0).fill(9)
            s.a[1] = v.get_scalar_field(1)[2]
        else:
            for i in range(1):
                x.fill(n)
                o.fill(n / 2)

    k(3)
    assert (x.to_numpy() == 3).all() and (o.to_numpy() == 1.5).all()
    if not nested:
        assert v.to_numpy().tolist() == [[9, 3]] * 3 and (m.to_numpy() == 7).all()
        assert s.v.to_numpy().tolist() == [[2, 3]] * 2 and s.a.to_numpy().tolist() == [0, 3]


def test_components_that_are_not_there(arch):
    v = qd.Vector.field(2, qd.f32, shape=3)

    @qd.kernel
    def k():
        v.get_scalar_field(2).fill(0)

    with pytest.raises(qd.QuadrantsCompilationError, match="have no component"):
        k()


def test_while_static(arch):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        i = 0
        while qd.static(True):
            i += 1
            if i >= n:
                break
        return i

    assert k(5) == 5

"""Structs: values in kernels, types, methods, arguments and results, fields of structs, the same in Python scope."""

import numpy as np
import pytest
from program_text import load

import quadrants as qd
from quadrants.lang.exception import (
    QuadrantsCompilationError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)

HEAD = """
V = qd.types.vector(3, qd.f32)
T = qd.types.struct(a=qd.i32, v=V)
N = qd.types.struct(p=T, q=qd.f32)
@qd.dataclass
class Ball:
    centre: qd.types.vector(2, qd.f32)
    r: qd.f32
    @qd.func
    def area(self):
        return 4.0 * self.r
    @qd.func
    def grow(self, by):
        self.r += by
    @qd.func
    def area_and(self, x: qd.i32):
        return self.area() + x
    @qd.pyfunc
    def twice(self):
        return 2.0 * self.r
@qd.func
def read(s):
    return s.a * 2
@qd.func
def change(s):
    s.a = 50
    return s.a
@qd.func
def write(s: qd.template()):
    s.a = 60
@qd.func
def typed(s: T) -> T:
    return T(a=s.a + 1, v=s.v)
@qd.func
def pair():
    return T(a=3), 4
G = qd.Struct(a=7, inner={"b": 2.5}, v=[1, 2])
"""
ROWS = {
    # name: (body that computes r, value)
    "positional": ("r = T(3, qd.Vector([1.0, 2.0, 3.0])).a", 3),
    "a struct as the first member": ("s = N(T(a=4))\nr = s.p.a + s.q", 4),
    "a struct of all members": ("s = T(T(a=4))\nr = s.a", 4),
    "keywords": ("s = T(v=qd.Vector([1.0, 2.0, 3.0]), a=4)\nr = s.a + s.v[2]", 7),
    "left out": ("s = T(a=4)\nr = s.v.sum() + s.a", 4),
    "cast": ("s = T(a=2.9)\nr = s.a", 2),
    "broadcast": ("s = T(1, 2.0)\nr = s.v.sum()", 6),
    "member assigned": ("s = T(a=1)\ns.a = 5\nr = s.a", 5),
    "member augmented": ("s = T(a=1)\ns.a += 5\ns.v[1] += 2.0\ns.v.x = 3.0\nr = s.a + s.v.sum()", 11),
    "copy": ("s = T(a=1)\nt = s\nt.a = 5\nr = s.a * 10 + t.a", 15),
    "whole assigned": ("s = T(a=1)\ns = T(a=6)\nr = s.a", 6),
    "in a branch": ("s = T(a=1)\nif r == 0:\n    s = T(a=6)\nr = s.a", 6),
    "in a loop": ("s = T(a=1)\nfor i in range(4):\n    s.a += i\n    s.v[i % 3] += 1.0\nr = s.a * 10 + s.v.x", 72),
    "nested": ("n = N(T(a=2), 0.5)\nn.p.a += 1\nn.p.v[0] = 4.0\nr = n.p.a + n.p.v.sum() + n.q", 7.5),
    "nested copy": ("n = N(T(a=2), 0.5)\np = n.p\np.a = 9\nr = n.p.a", 2),
    "nested assigned": ("n = N()\nn.p = T(a=8)\nr = n.p.a", 8),
    "anonymous": ("s = qd.Struct(a=1, b=2.5)\ns.b *= 2\nr = s.a + s.b", 6),
    "of a dict": ("s = qd.Struct({'a': 1, 'v': [1, 2]})\nr = s.a + s.v.sum()", 4),
    "item": ("s = T(a=3)\ns['a'] = 4\nr = s['a']", 4),
    "keys": ("s = T(a=3)\nr = len(s.keys)", 2),
    "static loop over members": ("s = qd.Struct(a=3, b=4)\nfor k in qd.static(s.keys):\n    r += s[k]", 7),
    "unpacked": ("a, v = T(3, 2.0)\nr = a + v.sum()", 9),
    "swap": ("s = qd.Struct(a=1, b=2)\ns.a, s.b = s.b, s.a\nr = s.a * 10 + s.b", 21),
    "captured": ("r = G.a + G.inner.b + G.v[1]", 11.5),
    "method": ("b = Ball(r=3.0)\nr = b.area()", 12),
    "method that assigns": ("b = Ball(r=3.0)\nb.grow(2.0)\nr = b.r", 5),
    "method that calls another": ("b = Ball(r=1.0)\nr = b.area_and(3)", 7),
    "method of a temporary": ("r = Ball(r=1.0).area()", 4),
    "pyfunc method": ("b = Ball(r=1.5)\nr = b.twice()", 3),
    "argument": ("r = read(T(a=4))", 8),
    "argument by value": ("s = T(a=4)\nc = change(s)\nr = s.a + c", 54),
    "argument by reference": ("s = T(a=4)\nwrite(s)\nr = s.a", 60),
    "typed argument and result": ("s = typed(T(a=4))\nr = s.a", 5),
    "several results": ("s, k = pair()\nr = s.a + k", 7),
    "annotated": ("s: T = T(a=4)\nr = s.a", 4),
    "walrus": ("r = (s := T(a=5)).a", 5),
    "list comprehension": ("r = [T(a=i) for i in qd.static(range(3))][2].a", 2),
    "in a while": ("s = T(a=0)\nwhile s.a < 5:\n    s.a += 1\nr = s.a", 5),
    "as a dict": ("r = T(a=5).to_dict()['a']", 5),
    "matrix of 36": (
        "b = qd.types.struct(m=qd.types.matrix(6, 6, qd.f32))(1.0)\nb.m[2, 3] += 4.0\nc = b\nc.m[0, 0] = 9.0\nr = b.m.sum() + c.m[2, 3]",
        45,
    ),
    "in a list": ("l = [T(a=1), T(a=2)]\nr = l[0].a + l[1].a", 3),
    "atomic": ("s = T(a=4)\no = qd.atomic_add(s.a, 3)\nr = s.a * 10 + o", 74),
}


@pytest.mark.parametrize("name", ROWS)
def test_value(arch, name):
    body, expected = ROWS[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    k = load(f"{HEAD}\n@qd.kernel\ndef k() -> qd.f64:\n    r = 0.0\n{lines}    return r\n")["k"]
    assert k() == expected


FIELDS = {
    # name: (body of a kernel that changes f (4 of T) and n (2 x 3 of N), expressions and values)
    "element": ("f[1] = T(a=3, v=2.0)", {"f[1].a": 3, "f.a[1]": 3, "f[1].v.sum()": 6, "f[0].a": 0}),
    "member": ("f[1].a = 3\nf[1].v[2] = 4.0", {"f.a[1]": 3, "f.v[1][2]": 4}),
    "member first": ("f.a[1] = 3\nf.v[1].y = 4.0", {"f[1].a": 3, "f[1].v.y": 4}),
    "struct-for": ("for i in f:\n    f[i].a = i", {"[x for x in f.a.to_numpy()]": [0, 1, 2, 3]}),
    "struct-for of two axes": ("for i, j in n:\n    n[i, j].p.a = i * 10 + j", {"n.p.a.to_numpy().tolist()": [[0, 1, 2], [10, 11, 12]]}),
    "grouped": ("for I in qd.grouped(n):\n    n[I].q = I[0] + I[1]", {"n.q.to_numpy().tolist()": [[0, 1, 2], [1, 2, 3]]}),
    "element copied": ("f[0].a = 7\nf[1] = f[0]\ns = f[0]\ns.a = 9\nf[2] = s", {"f.a.to_numpy().tolist()": [7, 7, 9, 0]}),
    "atomic": ("for i in range(100):\n    f[i % 4].a += 1\n    qd.atomic_max(f[0].v[0], i)", {"f.a.to_numpy().tolist()": [25] * 4, "f[0].v[0]": 99}),
    "nested element": ("n[1, 2] = N(T(5, 1.0), 2.5)", {"n[1, 2].p.a": 5, "n[1, 2].q": 2.5, "n[1, 2].p.v.sum()": 3}),
    "method": ("b[1].r = 2.0\nb[1].grow(1.0)\nb[0].r = b[1].area()", {"b[1].r": 3, "b[0].r": 12, "b[1].twice()": 6}),
    "shape": ("f[0].a = f.shape[0]\nf[1].a = n.shape[1]", {"f[0].a": 4, "f[1].a": 3}),
    "reference": ("write(f[2])", {"f[2].a": 60}),
    "0-D": ("z[None].a = 4\nz[None].v = V(1.0)", {"z[None].a": 4, "z[None].v.sum()": 3}),
    "field as argument": ("fill(f, 6)", {"f.a.to_numpy().tolist()": [6] * 4}),
}  # fmt: skip


@pytest.mark.parametrize("layout", ["AOS", "SOA"])
@pytest.mark.parametrize("name", FIELDS)
def test_fields(arch, name, layout):
    body, expected = FIELDS[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    fields = f"""
L = qd.Layout.{layout}
f, n, b, z = T.field(shape=4, layout=L), N.field(shape=(2, 3), layout=L), Ball.field(shape=2), T.field(shape=())
@qd.func
def fill(x: qd.template(), value):
    for i in x:
        x[i].a = value
"""
    space = load(f"{HEAD}{fields}\n@qd.kernel\ndef k():\n{lines}")
    space["k"]()
    for text, value in expected.items():
        assert eval(text, space) == value, text


def test_bounds_of_an_element_are_checked_once(init):
    init(check_out_of_bound=True)
    space = load(f"{HEAD}\nf = T.field(shape=4)\n@qd.kernel\ndef k(i: qd.i32):\n    f[i] = T(a=1)\n")
    space["k"](3)
    with pytest.raises(qd.QuadrantsAssertionError, match=r"size \(4\) with indices \(4\)"):
        space["k"](4)
    assert space["f"].a.to_numpy().tolist() == [0, 0, 0, 1]


def test_arguments_and_results(arch):
    space = load(
        f"{HEAD}\n@qd.kernel\ndef k(s: T, n: N) -> N:\n    return N(T(s.a + n.p.a, s.v + n.p.v), n.q * 2)\n"
        "@qd.kernel\ndef two(s: T) -> tuple[T, qd.i32]:\n    return s, s.a\n"
    )
    T, N, k = space["T"], space["N"], space["k"]
    s = T(1, [1.0, 2.0, 3.0])
    out = k(s, N(T(2, 1.0), 0.5))
    assert isinstance(out, N) and out.p.a == 3 and out.p.v.to_list() == [2, 3, 4] and out.q == 1
    s.a = 40
    assert k(s, N()).p.a == 40
    assert k({"a": 5, "v": [0, 0, 1]}, {"p": T(1), "q": 0}).p.v[2] == 1
    two = space["two"]
    back, a = two(s)
    assert back.a == a == 40
    f = T.field(shape=2)
    f[1].a = 8
    assert two(f[1])[1] == 8 and two(f[0])[1] == 0


@pytest.mark.parametrize(
    "wrong, where",
    [
        ("3", "s"), ("T", "s"), ("qd.Struct(a=1)", "s"), ("qd.Struct(a=1, v=[1, 2])", "s.v"), ("N()", "s"),
        ("qd.Struct(a=1.5, v=[1, 2, 3])", "s.a"), ("None", "s"),
    ],
)  # fmt: skip
def test_wrong_arguments(arch, wrong, where):
    space = load(f"{HEAD}\n@qd.kernel\ndef k(s: T) -> qd.i32:\n    return s.a\n")
    assert space["k"](space["T"](3)) == 3
    with pytest.raises(QuadrantsRuntimeTypeError, match=rf"Argument \(0,\).*parameter '{where}' of kernel 'k'"):
        space["k"](eval(wrong, space))


ERRORS = {
    # name: (body, class, text)
    "no such member": ("s = T(a=1)\nr = s.zz", AttributeError, "no member 'zz'"),
    "unknown keyword": ("s = T(zz=1)", QuadrantsSyntaxError, "no member 'zz'"),
    "too many": ("s = T(1, 2.0, 3)", QuadrantsSyntaxError, "2 members, got 3"),
    "twice": ("s = T(1, a=3)", QuadrantsSyntaxError, "two values for member 'a'"),
    "other members": ("s = T(a=1)\ns = N()", QuadrantsTypeError, "cannot assign"),
    "to a scalar": ("s = T(a=1)\ns = 3", QuadrantsTypeError, "cannot assign"),
    "from a scalar": ("x = 1\nx = T(a=1)", QuadrantsTypeError, "cannot assign"),
    "vector for a scalar": ("s = T(a=qd.Vector([1, 2]))", QuadrantsTypeError, "a member of type i32"),
    "vector of another size": ("s = T(v=qd.Vector([1, 2]))", QuadrantsTypeError, "vector"),
    "assigned field": ("F = T(a=3)\nx = F.zz", AttributeError, "no member 'zz'"),
    "member of a captured struct": ("G.a = 3", QuadrantsCompilationError, "cannot"),
    "comparison": ("s = T(a=1) == T(a=1)", QuadrantsTypeError, "structs cannot be compared"),
    "sum": ("s = T(a=1) + T(a=1)", QuadrantsTypeError, "unsupported operand"),
    "sum with a number": ("s = T(a=1)\ns += 1", QuadrantsTypeError, "unsupported operand"),
    "field made inside": ("g = T.field(shape=3)", QuadrantsSyntaxError, "cannot be made inside kernels"),
    "condition": ("if T(a=1):\n    pass", QuadrantsTypeError, "use one of its members"),
    "condition of `not`": ("x = not T(a=1)", QuadrantsTypeError, "use one of its members"),
    "arity": ("for i, j in F:\n    pass", QuadrantsCompilationError, "struct-for indices"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(arch, name):
    body, kind, text = ERRORS[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    k = load(f"{HEAD}\nf = F = T.field(shape=4)\n@qd.kernel\ndef k():\n    r = 0\n{lines}")["k"]
    with pytest.raises(kind, match=text):
        k()


def test_guarded_by_content(arch):
    space = load(f"{HEAD}\n@qd.kernel\ndef k() -> qd.f32:\n    return G.a + G.inner.b\n")
    assert space["k"]() == 9.5
    space["G"].a = 10
    assert space["k"]() == 12.5
    space["G"].inner.b = 0.5
    assert space["k"]() == 10.5


# ------------------------------------------------------------------------------------------------------- Python scope
def test_type(arch):
    T = qd.types.struct(a=qd.i32, v=qd.types.vector(2, qd.f32))
    assert str(T) == "<qd.StructType a=i32, v=vector(2, f32), struct_methods={}>"
    assert T == qd.types.struct(a=int, v=qd.types.vector(2, float)) and hash(T) == hash(qd.types.struct(**T.members))
    assert T != qd.types.struct(v=qd.types.vector(2, qd.f32), a=qd.i32)
    x = T(2.9, [1, 2])
    assert x.a == 2 and x.v.to_list() == [1, 2] and isinstance(x, T) and str(x) == "{'a': 2, 'v': [1.0, 2.0]}"
    assert not isinstance(qd.Struct(a=1), T) and not isinstance(3, T) and not isinstance(qd.Struct(a=1, v=2), T)
    assert isinstance(qd.Struct(a=1, v=[1, 2]), T)
    nested = qd.types.struct(t=T, m=qd.types.matrix(2, 2, qd.f32))
    assert str(nested()) == "{'t': {'a': 0, 'v': [0.0, 0.0]}, 'm': [[0.0, 0.0], [0.0, 0.0]]}"
    assert nested({"t": {"a": 4}, "m": 1}).t.a == 4


def test_python_scope_struct():
    s = qd.Struct({"a": 1, "v": [1, 2], "in_": {"b": 2.5}})
    assert s.keys == ["a", "v", "in_"] and s["a"] == s.a == 1 and s.in_.b == 2.5 and s.methods == {}
    assert dict(s.items).keys() == s.entries.keys()
    s.a, s["v"] = 5, [3, 4]
    assert s.to_dict() == {"a": 5, "v": [3, 4], "in_": {"b": 2.5}} and repr(s) == str(s.to_dict())
    assert s.to_dict(True, True)["__matrix_ndim"] == {"v": 1} and s.to_dict(True)["__struct_methods"] == {}
    with pytest.raises(AttributeError, match="no attribute 'zz'"):
        s.zz = 3
    with pytest.raises(AttributeError, match="no attribute 'zz'"):
        s.zz  # noqa: B018


def test_dataclass_refuses_defaults(arch):
    with pytest.raises(QuadrantsSyntaxError, match="Default value in @dataclass is not supported"):

        @qd.dataclass
        class Bad:
            a: qd.i32 = 3


def test_host_access(arch):
    T = qd.types.struct(a=qd.i32, v=qd.types.vector(2, qd.f32), t=qd.types.struct(b=qd.f64))
    f = T.field(shape=(2, 3))
    assert (
        f.shape == (2, 3) and f.keys == ["a", "v", "t"] and f.get_member_field("a") is f.a and isinstance(f, qd.Field)
    )
    f[1, 2].a = 4
    f[1, 2].v[1] = 2.5
    f[1, 2].t.b = 1.5
    assert f.a[1, 2] == 4 and f.v[1, 2][1] == 2.5 and f.t.b[1, 2] == 1.5
    f[0, 0] = T(7, 1.0)
    assert str(f[0, 0]) == "{'a': 7, 'v': [1.0, 1.0], 't': {'b': 0.0}}"
    arrays = f.to_numpy()
    assert set(arrays) == {"a", "v", "t"} and arrays["v"].shape == (2, 3, 2) and arrays["t"]["b"][1, 2] == 1.5
    g = T.field(shape=(2, 3), layout=qd.Layout.SOA)
    g.from_numpy(arrays)
    assert g[1, 2].a == 4 and g.t.b[1, 2] == 1.5
    g.copy_from(f)
    f.fill(3)
    assert (f.a.to_numpy() == 3).all() and (f.v.to_numpy() == 3).all() and g[0, 0].a == 7
    with pytest.raises(AssertionError):
        f[0]
    with pytest.raises(AttributeError, match="its members are"):
        f.zz  # noqa: B018


def test_placing(arch):
    T = qd.types.struct(a=qd.f32, v=qd.types.vector(2, qd.f32))
    f = T.field(needs_grad=True)
    qd.root.dense(qd.i, 4).place(f)
    qd.root.dense(qd.i, 4).place(f.grad)
    f.grad[1].a = 3
    assert f.shape == (4,) and f.a.grad[1] == 3 and f.has_grad()
    g = T.field(shape=3, needs_grad=True, offset=-1)
    g[-1].a = 5
    g.grad[-1].a = 6
    assert g.a[-1] == 5 and g.a.grad[-1] == 6
    field = qd.field(T, shape=3)
    field[2] = T(1.5, 2.0)
    assert np.array_equal(field.to_numpy()["v"], [[0, 0], [0, 0], [2, 2]])


def test_print(arch, capfd):
    load(f"{HEAD}\n@qd.kernel\ndef k():\n    print('it is', N(T(1, 2.0), 0.5))\n")["k"]()
    text = "it is {'p': {'a': 1, 'v': [2.000000, 2.000000, 2.000000]}, 'q': 0.500000}\n"
    assert capfd.readouterr().out == text

"""Nodes of field trees in kernels: loops over them, `parent`, `rescale_index`, `get_addr`."""

import pytest
from program_text import load

import quadrants as qd

LOOPS = {
    "captured": "for i, j in node: x[i, j] = 10 * i + j",
    "grouped": "for I in qd.grouped(node): x[I] = 10 * I[0] + I[1]",
    "parent": "for i, j in x.parent(): x[i, j] = 10 * i + j",
    "snode": "for i, j in x.snode: x[i, j] = 10 * i + j",
    "shape": "for i, j in qd.ndrange(node.shape[0], x.parent().shape[1]): x[i, j] = 10 * i + j",
    "outer": "for i in outer:\n        for j in range(3): x[i, j] = 10 * i + j",
}


def tree():
    outer = qd.root.dense(qd.i, 2)
    node, x = outer.dense(qd.j, 3), qd.field(qd.i32)
    node.place(x)
    return {"outer": outer, "node": node, "x": x}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_loops(arch, loop):
    names = tree()
    load(f"@qd.kernel\ndef k():\n    {loop}\n", **names)["k"]()
    assert names["x"].to_numpy().tolist() == [[0, 1, 2], [10, 11, 12]]


REFUSED = {
    "for i in node: pass": r"does not match loop variable dimensionality \(1 != 2\)",
    "a = x.parent(9).shape": "there is no node 9 levels above",
    "a = node.dense": '"dense" of a node of a field tree is not supported inside kernels',
    "a = qd.rescale_index(3, x, qd.Vector([1, 2]))": "rescale_index takes a field or a node",
    "a = qd.rescale_index(x, x, 3)": "rescale_index takes a vector",
    "a = qd.get_addr(3, 0)": "get_addr takes a field",
}


@pytest.mark.parametrize("statement, text", REFUSED.items(), ids=REFUSED)
def test_refused(arch, statement, text):
    k = load(f"@qd.kernel\ndef k():\n    {statement}\n", **tree())["k"]
    with pytest.raises(qd.QuadrantsCompilationError, match=text):
        k()


RESCALED = [("a, b, [5, 3]", [1, 12]), ("b, a, [1, 9]", [4, 2]), ("a, c, [5, 3]", [5, 3]), ("c, b, [5]", [1]),
            ("a.parent(), b, [5, 3]", [1, 12])]  # fmt: skip


@pytest.mark.parametrize("arguments, expected", RESCALED, ids=str)
def test_rescaled_indices(arch, arguments, expected):
    fields = {"a": qd.field(qd.i32, (8, 4)), "b": qd.field(qd.i32, (2, 16)), "c": qd.field(qd.i32, 8)}
    n = len(expected)
    text = f"@qd.kernel\ndef k() -> qd.types.vector({n}, qd.i32):\n    return qd.rescale_index({arguments})\n"
    assert load(text, **fields)["k"]().to_list() == expected
    assert eval(f"qd.rescale_index({arguments})", {"qd": qd, **fields}).to_list() == expected  # noqa: S307


def test_addresses(arch):
    x, v = qd.field(qd.i32, (8, 4)), qd.Vector.field(3, qd.f64, 5)

    @qd.kernel
    def steps(i: qd.i32) -> (qd.u64, qd.u64, qd.u64, qd.u64):
        here = qd.get_addr(x, [i, i])
        return here - qd.get_addr(x, [0, 0]), qd.get_addr(v, 1) - qd.get_addr(v, [0]), here % 4, here

    *differences, address = steps(1)
    assert differences == [20, 24, 0] and address > 0
    with pytest.raises(qd.QuadrantsSyntaxError, match="only be called inside kernels"):
        qd.get_addr(x, [0, 0])


def test_the_root_before_init():
    qd.reset()
    assert not hasattr(qd.root, "no_such_thing") and not hasattr(qd.root, "_private")
    with pytest.raises(qd.QuadrantsRuntimeError, match="qd.init"):
        qd.root.dense(qd.i, 3)

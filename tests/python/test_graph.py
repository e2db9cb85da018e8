"""`@qd.kernel(graph=True)`: loops driven by the host, sections, and `stream_parallel`: same results, documented errors."""

import textwrap

import numpy as np
import pytest
from program_text import load

import quadrants as qd

A, C = qd.types.ndarray(qd.i32, 1), qd.types.ndarray(qd.i32, 0)


def number(value):
    c = qd.ndarray(qd.i32, ())
    c.fill(value)
    return c


def run(body, *counters, graph="(graph=True)", x=(0, 0, 0, 0)):
    """The array after a kernel with parameters x, c, d."""
    text = f"@qd.kernel{graph}\ndef k(x: A, c: C, d: C):\n"
    kernel = load(text + "".join(f"    {line}\n" for line in body.strip("\n").split("\n")), A=A, C=C)["k"]
    array = qd.ndarray(qd.i32, len(x))
    array.from_numpy(np.array(x, np.int32))
    flags = [number(v) for v in (*counters, 0, 0)[:2]]
    kernel(array, *flags)
    return array.to_numpy().tolist()


LOOPS = [
    ("for i in x: x[i] += 1", (), 1),
    ("while qd.graph.do_while(c):\n    for i in x: x[i] += 1\n    c[()] -= 1", (3,), 3),
    ("while qd.graph.do_while(c):\n    c[()] -= 1\n    for i in x: x[i] += 1", (1,), 1),
    (
        "for i in x: x[i] += 100\nwhile qd.graph.do_while(c):\n    for i in x: x[i] += 1\n    c[()] -= 1\nfor i in x: x[i] *= 2",
        (3,),
        206,
    ),
    (
        "while qd.graph.do_while(c):\n    d[()] = 2\n    while qd.graph.do_while(d):\n        for i in x: x[i] += 1\n"
        "        d[()] -= 1\n    c[()] -= 1",
        (3,),
        6,
    ),
    ("n = x.shape[0]\nstep = n * 2\nwhile qd.graph.do_while(c):\n    for i in range(n): x[i] += step\n    c[()] -= 1", (2,), 16),
    ("while qd.graph.do_while(c):\n    for i in x: x[i] += 1\n    for i in x: x[i] *= 2\n    c[()] -= 1", (2,), 6),
    ("with qd.graph.parallel_context():\n    with qd.graph.parallel():\n        for i in x: x[i] += 1\n"
     "    with qd.graph.parallel():\n        for i in x: x[i] += 10", (), 11),
    ("with qd.graph.parallel_context():\n    for k in qd.static(range(3)):\n        with qd.graph.parallel():\n"
     "            for i in x: x[i] += k\n    if qd.static(False):\n        with qd.graph.parallel():\n            x[0] = 9", (), 3),
]  # fmt: skip


@pytest.mark.parametrize("body, counters, expected", LOOPS, ids=range(len(LOOPS)))
def test_results(arch, body, counters, expected):
    assert run(body, *counters) == [expected] * 4


@pytest.mark.parametrize("shape, dtype", [((), qd.i32), ((2,), qd.i32), ((1, 1), qd.i64), ((), qd.f32)])
def test_conditions(arch, shape, dtype):
    """The documented condition is a number; of an array with axes the first element counts."""
    kernel = load(f"""
        @qd.kernel(graph=True)
        def k(x: A, c: qd.types.ndarray(ndim={len(shape)})):
            while qd.graph.do_while(c):
                for i in x:
                    x[i] += 1
                for i in range(1):
                    c[{(0,) * len(shape)}] -= 1
        """, A=A)["k"]  # fmt: skip
    x, c = qd.ndarray(qd.i32, 4), qd.ndarray(dtype, shape)
    c.fill(3)
    kernel(x, c)
    assert x.to_numpy().tolist() == [3] * 4


def test_streams_inside_kernels(arch):
    sections = "".join(f"with qd.stream_parallel():\n    for i in x: x[i] += {n}\n" for n in (1, 10))
    assert run(sections, graph="") == [11] * 4


SECTIONS = """
with qd.stream_parallel():
    for i in x: x[i] += i
    for i in x: x[i] *= 2
with qd.stream_parallel():
    for i in y: y[i] += 3.0
    for i in y: s[None] += y[i]
with qd.stream_parallel():
    qd.loop_config(name="fill")
    for i in z: z[i] = 7
"""


def test_sections_of_a_kernel_give_what_they_give_one_after_the_other(arch):
    x, y, z, s = qd.field(qd.i32, 3000), qd.field(qd.f32, 5000), qd.ndarray(qd.i32, 2000), qd.field(qd.f32, ())
    text = "@qd.kernel\ndef k(z: qd.types.ndarray()):" + textwrap.indent(SECTIONS, "    ")
    k = load(text, x=x, y=y, s=s)["k"]
    want, rounds = np.zeros(3000, np.int32), 5
    for n in range(rounds):
        k(z)
        want = (want + np.arange(3000, dtype=np.int32)) * 2
    assert x.to_numpy().tolist() == want.tolist()
    assert y.to_numpy().tolist() == [3.0 * rounds] * 5000
    assert s[None] == 5000 * 3 * sum(range(1, rounds + 1))
    assert z.to_numpy().tolist() == [7] * 2000


@pytest.mark.parametrize("same", [False, True])
def test_sections_that_share_memory_keep_their_order(arch, same):
    a, b, first = qd.ndarray(qd.i32, 100000), qd.ndarray(qd.i32, 100000), qd.field(qd.i32, ())

    @qd.kernel
    def k(p: qd.types.ndarray(), q: qd.types.ndarray()):
        with qd.stream_parallel():
            for i in p:
                p[i] += 1
        with qd.stream_parallel():
            for i in q:
                q[i] *= 3
        with qd.stream_parallel():
            for i in range(1):
                first[None] = q[99999]

    want = [0, 0]
    for _ in range(6):
        k(a, a if same else b)
        want = [(want[0] + 1) * (3 if same else 1), want[1]]
    assert (a.to_numpy() == want[0]).all() and (b.to_numpy() == 0).all()
    assert first[None] == (want[0] if same else 0)


ERRORS = [
    ("while qd.graph.do_while(c):\n    for i in x: x[i] += 1", "", "requires @qd.kernel"),
    ("for i in range(4):\n    while qd.graph.do_while(c):\n        x[i] += 1", "(graph=True)", "must be at the kernel top level"),
    ("v = 1\nwhile qd.graph.do_while(v):\n    x[0] += 1", "(graph=True)", "got 'v' which does not resolve to an ndarray kernel parameter"),
    ("while qd.graph.do_while(x[0]):\n    x[0] += 1", "(graph=True)",
     r"do_while\(x\[0\]\)[^$]*\^\^\^[^$]*got 'x\[0\]' which does not resolve to an ndarray kernel parameter"),
    ("m = x[0]\nwhile qd.graph.do_while(c):\n    x[0] += m", "(graph=True)", '"m" is assigned before a qd.graph.do_while'),
    ("with qd.graph.parallel_context():\n    with qd.graph.parallel():\n        x[0] = 1", "", "parallel_context.. requires @qd.kernel"),
    ("with qd.graph.parallel_context():\n    for i in x: x[i] += 1", "(graph=True)", "offending stmt 0: For"),
    ("with qd.graph.parallel():\n    for i in x: x[i] += 1", "(graph=True)", "only be used directly inside a qd.graph.parallel_context"),
    ("with qd.stream_parallel():\n    for i in x: x[i] += 1\nfor i in x: x[i] += 1", "", "stmt 1: For, body_len=2"),
    ("with qd.stream_parallel():\n    for i in x: x[i] += 1", "(graph=True)", "not compatible with graph=True"),
    ("with open('x'):\n    pass", "", "'with' in Quadrants kernels only supports"),
    ("with qd.stream_parallel() as s:\n    pass", "", "'with' in Quadrants kernels only supports"),
]  # fmt: skip


@pytest.mark.parametrize("body, graph, text", ERRORS, ids=range(len(ERRORS)))
def test_errors(arch, body, graph, text):
    with pytest.raises(qd.QuadrantsSyntaxError, match=text):
        run(body, 1, graph=graph)


def test_old_names_are_deprecated(arch):
    with pytest.warns(DeprecationWarning, match=r"use qd\.graph\.do_while\(\) instead"):
        assert run("while qd.graph_do_while(c):\n    for i in x: x[i] += 1\n    c[()] -= 1", 2) == [2] * 4


def test_members_as_conditions(arch):
    @qd.data_oriented
    class Solver:
        def __init__(self):
            self.x, self.left = qd.field(qd.i32, 4), number(5)

        @qd.kernel(graph=True)
        def run(self, left: C):
            while qd.graph.do_while(left):
                for i in self.x:
                    self.x[i] += 1
                left[()] -= 1

    solver = Solver()
    solver.run(solver.left)
    assert solver.x.to_numpy().tolist() == [5] * 4


def test_graph_kernels_live_on_after_reset(init):
    @qd.kernel(graph=True)
    def k(x: A, c: C):
        while qd.graph.do_while(c):
            for i in x:
                x[i] += 1
            c[()] -= 1

    for _ in range(3):
        init()
        x, c = qd.ndarray(qd.i32, 4), number(2)
        for _ in range(2):
            c.fill(2)
            k(x, c=c)
        assert x.to_numpy().tolist() == [4] * 4


def test_streams_and_graphs_exclude_each_other(arch):
    @qd.kernel(graph=True)
    def k(x: A):
        for i in x:
            x[i] += 1

    with pytest.raises(RuntimeError, match="qd_stream is not compatible with graph=True"):
        k(qd.ndarray(qd.i32, 4), qd_stream=qd.create_stream())
    with pytest.raises(qd.QuadrantsSyntaxError, match="checkpoints=True needs graph=True"):
        qd.kernel(checkpoints=True)

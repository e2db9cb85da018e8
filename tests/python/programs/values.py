"""What the model's programs hold: vectors and memory, and what functions and methods do with them."""

import numpy as np

from programs import rows
from programs.scalars import I32, U1, Invalid, Scalar, bit_cast, convert, promote, wrapped


class Vec:
    """A vector or matrix: scalars in rows."""

    __slots__ = ("data", "shape")

    def __init__(self, shape, data):
        self.shape, self.data = shape, data


class Array:
    """Memory: an array or field with its element type."""

    def __init__(self, t, values, element=()):
        self.t, self.shape, self.element = t, values.shape[: values.ndim - len(element)], element
        self.data = [Scalar(t, v if t.real else bool(v) if t is U1 else int(v)) for v in values.reshape(-1)]

    def at(self, index):
        flat = 0
        for k, size in zip(index, self.shape):
            if not 0 <= k < size:
                raise Invalid("index out of bounds")
            flat = flat * size + k
        return flat * int(np.prod(self.element, dtype=int)) if self.element else flat


def apply(key, args):
    """A row of the table on scalars or, element-wise, on vectors."""
    like = next((a for a in args if type(a) is Vec), None)
    if like is not None:
        columns = [a.data if type(a) is Vec else [a] * len(like.data) for a in args]
        if any(type(a) is Vec and a.shape != like.shape for a in args):
            raise Invalid("shapes differ")
        return Vec(like.shape, [apply(key, list(es)) for es in zip(*columns)])
    types = [a.t for a in args]
    row = rows.pick(key, types)
    if row.rule == "pairs":
        return row.meaning(apply, *args)
    t, r = rows.work_type(row.rule, types), rows.result_type(row.rule, types)
    if any(a.ulp for a in args):
        raise Invalid("an approximate value is used further")
    given = [args[0], *args[1:]] if row.rule == "arith_left" else args
    values = [convert(t, a).v if k == 0 or row.rule != "arith_left" else a.v for k, a in enumerate(given)]
    v = row.meaning(t, *values)
    if row.ulp:
        return Scalar(r, v, rows.ULP[row.ulp][r.name])
    if r is U1:
        return Scalar(r, bool(v))
    return Scalar(r, r.np(v) if r.real else wrapped(r, int(v)))


def listed(x):
    return x if isinstance(x, list) else [x]


def total(items):
    out = items[0]
    for e in items[1:]:
        out = apply("Add", [out, e])
    return out


def _cast(m, node, scope):
    v, t = m.ev(node.args[0], scope), m.type_of(node.args[1])
    return Vec(v.shape, [convert(t, e) for e in v.data]) if type(v) is Vec else convert(t, v)


def _bit_cast(m, node, scope):
    v, t = m.ev(node.args[0], scope), m.type_of(node.args[1])
    if v.t.bits != t.bits:
        raise Invalid("bit_cast")
    return bit_cast(t, v)


def _select(m, node, scope):
    c, x, y = (m.ev(a, scope) for a in node.args)
    like = next((v for v in (c, x, y) if type(v) is Vec), None)
    if like is not None:
        columns = [v.data if type(v) is Vec else [v] * len(like.data) for v in (c, x, y)]
        return Vec(like.shape, [_choose(*e) for e in zip(*columns)])
    return _choose(c, x, y)


def _choose(c, x, y):
    if c.t.real:
        raise Invalid("select")
    return convert(promote(x.t, y.t), x if c.v else y)


def _vector(m, node, scope):
    data = [m.ev(e, scope) for e in node.args[0].elts]
    t = data[0].t
    for e in data[1:]:
        t = promote(t, e.t)
    return Vec((len(data),), [convert(t, e) for e in data])


def _matrix(m, node, scope):
    given = node.args[0].elts
    data = [m.ev(e, scope) for row in given for e in row.elts]
    t = data[0].t
    for e in data[1:]:
        t = promote(t, e.t)
    return Vec((len(given), len(given[0].elts)), [convert(t, e) for e in data])


def _truths(name):
    def method(x):
        out = [bool(e.v != 0) for e in x.data]
        return Scalar(U1, all(out) if name == "all" else any(out))

    return method


def _extreme(name):
    def method(x):
        out = x.data[0]
        for e in x.data[1:]:
            out = apply("qd." + name, [out, e])
        return out

    return method


def _cross(x, y):
    p, q = x.data, y.data

    def minor(i, j):
        return apply("Sub", [apply("Mult", [p[i], q[j]]), apply("Mult", [p[j], q[i]])])

    return Vec((3,), [minor(1, 2), minor(2, 0), minor(0, 1)])


def _determinant(x):
    a, b, c, d = x.data
    return apply("Sub", [apply("Mult", [a, d]), apply("Mult", [b, c])])


METHODS = {
    "sum": lambda x: total(x.data),
    "dot": lambda x, y: total(apply("Mult", [x, y]).data),
    "norm_sqr": lambda x: total([apply("Mult", [e, e]) for e in x.data]),
    "any": _truths("any"), "all": _truths("all"), "min": _extreme("min"), "max": _extreme("max"), "cross": _cross,
    "transpose": lambda x: Vec(x.shape[::-1], [x.data[i * x.shape[1] + j] for j in range(x.shape[1]) for i in range(x.shape[0])]),
    "trace": lambda x: total([x.data[i * x.shape[1] + i] for i in range(x.shape[0])]),
    "determinant": _determinant,
    "outer_product": lambda x, y: Vec((len(x.data), len(y.data)), [apply("Mult", [p, q]) for p in x.data for q in y.data]),
}  # fmt: skip
CALLS = {
    "qd.static": lambda m, node, scope: m.ev(node.args[0], scope),
    "qd.loop_config": lambda m, node, scope: Scalar(I32, 0),
    "qd.cast": _cast, "qd.bit_cast": _bit_cast, "qd.select": _select, "qd.Vector": _vector, "qd.Matrix": _matrix,
}  # fmt: skip

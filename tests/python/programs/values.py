"""What the model's programs hold: vectors, structs and memory, and what functions and methods do with them."""

import numpy as np

from programs import fast, rows
from programs.scalars import I32, U1, Invalid, Scalar, Type, bit_cast, convert, promote, wrapped
from programs.specs import Record, Shaped, spec_of


class Vec:
    """A vector or matrix: scalars in rows."""

    __slots__ = ("data", "shape")

    def __init__(self, shape, data):
        self.shape, self.data = shape, data


class Struct:
    __slots__ = ("members", "record")

    def __init__(self, record, members):
        self.record, self.members = record, members


class Array:
    """Memory: an array or field with its element type."""

    def __init__(self, t, values, element=(), clamp=False):
        self.t, self.element, self.clamp = t, element, clamp
        self.shape = values.shape[: values.ndim - len(element)]
        self.data = [Scalar(t, v if t.real else bool(v) if t is U1 else int(v)) for v in values.reshape(-1)]
        self.step = int(np.prod(element, dtype=int))

    def at(self, index):
        flat = 0
        for k, size in zip(index, self.shape):
            k = min(max(k, 0), size - 1) if self.clamp else k
            if not 0 <= k < size:
                raise Invalid("index out of bounds")
            flat = flat * size + k
        return flat * self.step

    def get(self, at):
        return Vec(self.element, self.data[at : at + self.step]) if self.element else self.data[at]

    def set(self, at, v):
        given = spread(self.element, v).data if self.element else [v]
        for k, e in enumerate(given):
            self.data[at + k] = Scalar(self.t, e.v, e.ulp) if e.ulp and e.t is self.t else convert(self.t, e)


class StructArray:
    """A field of structs: an array for each member."""

    def __init__(self, record, members):
        self.record, self.members = record, members
        self.shape = next(iter(members.values())).shape

    def at(self, index):
        return index

    def get(self, index):
        return Struct(self.record, {n: a.get(a.at(index)) for n, a in self.members.items()})

    def set(self, index, v):
        if type(v) is not Struct or v.record != self.record:
            raise Invalid("another struct")
        for n, a in self.members.items():
            a.set(a.at(index), v.members[n])


def spread(shape, v):
    """A number as a vector of that shape."""
    if type(v) is Vec:
        if v.shape != shape:
            raise Invalid("shapes differ")
        return v
    return Vec(shape, [v] * int(np.prod(shape)))


def copied(v):
    if type(v) is Vec:
        return Vec(v.shape, list(v.data))
    return Struct(v.record, {n: copied(m) for n, m in v.members.items()}) if type(v) is Struct else v


def converted(spec, v):
    """A value as one of a type: what parameters, members, results and annotated variables take."""
    if type(spec) is Type:
        if type(v) is not Scalar:
            raise Invalid("another kind of value")
        return v if v.ulp else convert(spec, v)
    if type(spec) is Shaped:
        return Vec(spec.shape, [convert(spec.t, e) for e in spread(spec.shape, v).data])
    if type(spec) is Record and type(v) is Struct and v.record == spec:
        return copied(v)
    raise Invalid("another kind of value")


def like(old, v):
    """A value as one of the kind that a variable has."""
    if type(old) is Scalar and type(v) is Scalar:
        return convert(old.t, v)
    if type(old) is Vec:
        return Vec(old.shape, [convert(o.t, e) for o, e in zip(old.data, spread(old.shape, v).data)])
    if type(old) is Struct and type(v) is Struct and old.record == v.record:
        return copied(v)
    raise Invalid("another kind of value")


def zero(spec):
    if type(spec) is Record:
        return Struct(spec, {n: zero(s) for n, s in spec.members.items()})
    t = spec.t if type(spec) is Shaped else spec
    nothing = Scalar(t, t.np(0) if t.real else t is not U1 and 0)
    return Vec(spec.shape, [nothing] * int(np.prod(spec.shape))) if type(spec) is Shaped else nothing


def built(record, given, named):
    """`T(given…, name=…)`: members left out are zero."""
    out = zero(record)
    for n, v in [*zip(record.members, given), *named.items()]:
        out.members[n] = converted(record.members[n], v)
    return out


def flat(v):
    """The scalars of a value, in order."""
    if isinstance(v, list):
        return [e for part in v for e in flat(part)]
    if type(v) is Struct:
        return flat(list(v.members.values()))
    return list(v.data) if type(v) is Vec else [] if v is None else [v]


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
        return fast.approximate(row, r, v, args) if fast.on else Scalar(r, v, rows.ULP[row.ulp][r.name])
    if r is U1:
        return Scalar(r, bool(v))
    if r.real and fast.on:
        return fast.exact(row, r, r.np(v), args)
    return Scalar(r, r.np(v) if r.real else wrapped(r, int(v)))


def listed(x):
    return x if isinstance(x, list) else [x]


def total(items):
    out = items[0]
    for e in items[1:]:
        out = apply("Add", [out, e])
    return out


def _cast(m, node, scope):
    v, t = m.ev(node.args[0], scope), spec_of(node.args[1])
    return Vec(v.shape, [convert(t, e) for e in v.data]) if type(v) is Vec else convert(t, v)


def _bit_cast(m, node, scope):
    v, t = m.ev(node.args[0], scope), spec_of(node.args[1])
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
    data = m.ev(node.args[0], scope)
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


def _random(m, node, scope):
    return zero(spec_of(node.args[0]))


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
    "qd.random": _random,  # stands for any draw: what programs with draws give is compared between backends
    "qd.cast": _cast, "qd.bit_cast": _bit_cast, "qd.select": _select, "qd.Vector": _vector, "qd.Matrix": _matrix,
}  # fmt: skip

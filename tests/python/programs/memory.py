"""The fields that programs use: one table, read by the generator, the model and the runtimes.

`make(qd)` returns {name: field}; a name with a dot is a member of a field of structs.
"""

from collections.abc import Callable
from typing import NamedTuple

from programs.scalars import TYPES
from programs.specs import Shaped

N = 8  # elements of one-dimensional memory
SHAPE2 = (3, 4)


class Field(NamedTuple):
    name: str
    t: str
    shape: tuple
    element: tuple = ()

    @property
    def type(self):
        return TYPES[self.t]


class Group(NamedTuple):
    """Fields that are made together."""

    fields: list
    make: Callable


def _plain(name, t, shape=(N,), **options):
    return Group([Field(name, t, shape)], lambda qd: {name: qd.field(getattr(qd, t), shape, **options)})


def _vectors(name, n, t, layout="AOS"):
    def make(qd):
        return {name: qd.Vector.field(n, getattr(qd, t), N, layout=getattr(qd.Layout, layout))}

    return Group([Field(name, t, (N,), (n,))], make)


def _nested(qd):
    x, y = qd.field(qd.i32), qd.field(qd.u16)
    qd.root.dense(qd.i, 2).dense(qd.i, N // 2).place(x, y)
    return {"L_i32": x, "L_u16": y}


def _nested2(qd):
    h = qd.field(qd.i64)
    qd.root.dense(qd.ij, (3, 2)).dense(qd.j, 2).place(h)
    return {"H_i64": h}


# Structs of fields. The text of a program that uses one says its type again; equal members make equal types.
STRUCTS = {
    "P": {"a": "i32", "v": ("vector", 3, "i32"), "b": "u8"},
    "Q": {"x": "f32", "c": "i64"},
}


def specs(name):
    """The members of a struct type as specs."""
    return {m: TYPES[s] if isinstance(s, str) else Shaped((s[1],), TYPES[s[2]]) for m, s in STRUCTS[name].items()}


def struct_type(qd, name):
    members = {
        m: getattr(qd, s) if isinstance(s, str) else qd.types.vector(s[1], getattr(qd, s[2]))
        for m, s in STRUCTS[name].items()
    }
    return qd.types.struct(**members)


def _structs(name, of, layout):
    def make(qd):
        return {name: struct_type(qd, of).field(shape=N, layout=getattr(qd.Layout, layout))}

    fields = [
        Field(f"{name}.{m}", s, (N,)) if isinstance(s, str) else Field(f"{name}.{m}", s[2], (N,), (s[1],))
        for m, s in STRUCTS[of].items()
    ]
    return Group(fields, make)


GROUPS = [
    *(_plain(f"F_{t}", t) for t in ("i32", "f32", "u8", "i64", "f64", "i16", "u64", "u32")),
    _plain("G_i32", "i32", SHAPE2),
    _plain("J_i32", "i32", SHAPE2, order="ji"),
    Group([Field("L_i32", "i32", (N,)), Field("L_u16", "u16", (N,))], _nested),
    Group([Field("H_i64", "i64", SHAPE2)], _nested2),
    _vectors("V_i32", 3, "i32"),
    _vectors("V_f32", 3, "f32"),
    Group([Field("M_i32", "i32", (N,), (2, 2))], lambda qd: {"M_i32": qd.Matrix.field(2, 2, qd.i32, N)}),
    _vectors("W_i16", 2, "i16", "SOA"),
    _structs("S_P", "P", "AOS"),
    _structs("S_Q", "Q", "SOA"),
]
FIELDS = {f.name: f for g in GROUPS for f in g.fields}


def used(text):
    """The fields that a program's text names; of structs every member."""
    return [f for f in FIELDS.values() if f.name.split(".")[0] in text]


def make(qd):
    return {name: field for group in GROUPS for name, field in group.make(qd).items()}


def place(fields, name):
    """The field of the runtime that is called so."""
    head, _, member = name.partition(".")
    return getattr(fields[head], member) if member else fields[head]

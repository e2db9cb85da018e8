"""Structs inside kernels: construction, conversion to a type, fields of structs and their elements.

A field of structs is an `AccStruct` of one `Acc` per member, made when the member is first used: what a kernel doesn't
touch is no parameter of it. An element is an `ElemStruct`, whose members become places when they are asked for.
"""

from quadrants._native import DataType
from quadrants.lang.elementwise import cast
from quadrants.lang.exception import QuadrantsRuntimeTypeError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import access, matrices
from quadrants.lang.struct import Struct, StructField
from quadrants.lang.values import (
    MATRICES,
    RECORDS,
    SCALARS,
    Elem,
    Mat,
    Rec,
    RecVar,
    describe,
    filled,
    from_nested,
    load,
    make,
    shown_as,
)
from quadrants.types.compound import MatrixType
from quadrants.types.structs import StructType


# -------------------------------------------------------------------------------------------------------------- values
def zero_of(w, kind):
    """The zero of a member's type."""
    if isinstance(kind, StructType):
        return Rec({name: zero_of(w, k) for name, k in kind.members.items()}, kind.methods)
    if isinstance(kind, MatrixType):
        return filled(w, kind.n, kind.m or 1, kind.ndim, w.b.const(0, kind.dtype or w.default_fp))
    return w.b.const(0, kind)


def to_member(w, x, kind):
    """A value as a member of the given type; QuadrantsTypeError when it can't be one."""
    x = load(w, x)
    if isinstance(kind, StructType):
        return to_struct(w, x, kind)
    if isinstance(kind, MatrixType):
        if type(x) in SCALARS:
            return cast(w, filled(w, kind.n, kind.m or 1, kind.ndim, x), kind.dtype or w.default_fp)
        return matrices.to_type(w, x, kind)
    if type(x) not in SCALARS:
        raise QuadrantsTypeError(f"a member of type {kind} cannot be made of '{describe(w, x)}'")
    return cast(w, x, kind)


def to_struct(w, x, kind):
    """A struct value (or dict) as one of the given type: same names, members cast."""
    if type(x) is dict:
        x = Rec(x, {})
    if type(x) in SCALARS and w.known(x) == 0:
        return zero_of(w, kind)
    if type(x) not in RECORDS or set(x.members) != set(kind.members):
        raise QuadrantsTypeError(f"'{describe(w, x)}' is no {kind}")
    return Rec({name: to_member(w, x.members[name], k) for name, k in kind.members.items()}, kind.methods)


def call_type(w, kind, args, kwargs):
    """`T(1, v=…)`: members by position or name, those left out zero."""
    if len(args) == 1 and not kwargs and type(args[0]) in (*RECORDS, dict) and not kind.begins_with(args[0]):
        return to_struct(w, args[0], kind)
    given = kind.named(args, kwargs)
    members = {
        name: to_member(w, given[name], k) if name in given else zero_of(w, k) for name, k in kind.members.items()
    }
    return Rec(members, kind.methods)


def new_struct(w, *args, **kwargs):
    """`qd.Struct({...})` and `qd.Struct(a=…)`: members keep the types of their values."""
    if len(args) > 1 or (args and (kwargs or type(args[0]) not in (dict, *RECORDS))):
        raise QuadrantsSyntaxError("a struct is made of one dict, or of keyword arguments")
    if args and type(args[0]) in RECORDS:
        return args[0]
    given = dict(args[0] if args else kwargs)
    methods = given.pop("__struct_methods", {})
    return Rec({name: _member(w, e) for name, e in given.items()}, methods)


def _member(w, e):
    e = load(w, e)
    if type(e) is dict:
        return new_struct(w, e)
    if type(e) in (list, tuple):
        return from_nested(w, e)
    return e if type(e) in RECORDS or type(e) in MATRICES or type(e) in SCALARS else w.wrap(e)


def constant(w, x: Struct):
    """A Python-scope struct as constants."""
    return Rec({name: w.wrap(e) for name, e in x.items}, x.methods)


# -------------------------------------------------------------------------------------------------------------- fields
@shown_as("field of structs")
class AccStruct:
    """A field of structs. `members` fills as they are used."""

    __slots__ = ("members", "obj")
    what, endim = "Field", 0

    def __init__(self, field: StructField):
        self.obj, self.members = field, {}

    def member(self, w, name):
        """Acc or AccStruct of one member."""
        found = self.members.get(name)
        if found is None:
            found = self.members[name] = w.wrap(self.obj.get_member_field(name))
        return found

    def first(self, w):
        """Acc of the first scalar, vector or matrix member: its shape and offset are those of all."""
        one = self.member(w, self.obj.keys[0])
        return one.first(w) if type(one) is AccStruct else one

    def kernel_attribute(self, w, attr):
        """Attribute of the field."""
        if attr in self.obj._members:
            return self.member(w, attr)
        if attr in ("shape", "dtype"):
            return getattr(self.first(w), attr)
        if attr == "keys":
            return self.obj.keys
        if attr == "get_member_field":
            return lambda name: self.member(w, name)
        if attr in ("grad", "dual"):
            twin = getattr(self.obj, attr)
            if twin is None:
                raise QuadrantsSyntaxError("this field of structs has no gradient: create it with needs_grad=True")
            return w.wrap(twin)
        raise AttributeError(f"a field of structs of {self.obj.keys} has no attribute '{attr}'")


class ElementMembers:
    """Mapping from name to place for an element of a struct field."""

    __slots__ = ("acc", "index", "made", "node", "ok", "w")

    def __init__(self, w, acc, index, ok, node):
        self.w, self.acc, self.index, self.ok, self.node, self.made = w, acc, index, ok, node, {}

    def __iter__(self):
        return iter(self.acc.obj.keys)

    def __len__(self):
        return len(self.acc.obj.keys)

    def __contains__(self, name):
        return name in self.acc.obj._members

    def __getitem__(self, name):
        found = self.made.get(name)
        if found is None:
            found = self.made[name] = self._make(name)
        return found

    def _make(self, name):
        w, acc = self.w, self.acc.member(self.w, name)
        if type(acc) is AccStruct:
            return RecVar(ElementMembers(w, acc, self.index, self.ok, self.node), acc.obj._methods)
        checks, w.checks = w.checks, False
        try:
            place = access.at(w, acc, self.index, self.node)
        finally:
            w.checks = checks
        place.ok = self.ok
        return place

    def get(self, name, default=None):
        return self[name] if name in self else default

    def items(self):
        return [(name, self[name]) for name in self]

    def keys(self):
        return self.acc.obj.keys


def element(w, acc: AccStruct, index, node):
    """The element at `index` as a place: members are reached through their own fields, the bounds checked once."""
    ok = access.at(w, acc.first(w), index, node).ok if w.checks else None
    return RecVar(ElementMembers(w, acc, index, ok, node), acc.obj._methods)


# ---------------------------------------------------------------------------------------------------------- attributes
def attribute(w, x, attr):
    """x.attr of a struct value or place: a member, or one of the names of `qd.Struct`. Methods are for calls."""
    if attr in x.members:
        return x.members[attr]
    if attr == "keys":
        return list(x.members)
    if attr == "entries":
        return dict(x.members.items())
    if attr == "items":
        return list(x.members.items())
    if attr == "to_dict":
        return lambda: dict(x.members.items())
    if attr == "methods":
        return x.methods
    if attr in x.methods:
        return method(w, x, attr)
    raise AttributeError(f"'{describe(w, x)}' has no member '{attr}'")


def method(w, x, name):
    """A method bound to a struct; a property is called at once by whoever reads it."""
    from quadrants.lang.func import BoundFunc, Func

    found = x.methods[name]
    if isinstance(found, staticmethod):
        return found.__func__
    return BoundFunc(found, x) if type(found) is Func else found.__get__(x, type(x))


def subscript(w, x, key):
    """x["a"]."""
    if type(key) is not str:
        raise QuadrantsTypeError(f"a struct is indexed by the name of a member, got '{describe(w, key)}'")
    return attribute(w, x, key)


# ---------------------------------------------------------------------------------------------------------- parameters
def parameter(w, plan, k, name, kind: StructType, value, kernel):
    """The value of a parameter of a struct type. Its members are members of the argument in the launch plan."""
    own, of = isinstance(value, Struct), (kernel, w.positions.get(k, k))
    if not (own or isinstance(value, dict)) or set(value.keys if own else value) != set(kind.members):
        raise _mismatch(*of, name, kind, value)
    if own:
        plan[k] = ("instance", type(value))
        plan.append(("member", k, "entries", ("mapping", len(kind.members))))
        owner = len(plan) - 1
    else:
        plan[k] = ("mapping", len(kind.members))
        owner = k
    return members_of(w, plan, owner, name, kind, value.entries if own else value, of)


def _mismatch(kernel, k, name, kind, value):
    return QuadrantsRuntimeTypeError(
        f"Argument ({k},) (type={type(value)}) cannot be converted into required type {kind} "
        f"(parameter '{name}' of kernel '{kernel.name}')"
    )


def members_of(w, plan, owner, name, kind, entries, of):
    """The members as values; `of`: kernel and number of the parameter, for errors."""
    members = {}
    for key, t in kind.members.items():
        at, path = len(plan), f"{name}.{key}"
        if isinstance(t, StructType):
            one = entries[key]
            own = isinstance(one, Struct)
            if not (own or isinstance(one, dict)) or set(one.keys if own else one) != set(t.members):
                raise _mismatch(*of, path, t, one)
            plan.append(("member", owner, key, ("instance", type(one)) if own else ("mapping", len(t.members))))
            if own:
                plan.append(("member", at, "entries", ("mapping", len(t.members))))
                at += 1
            members[key] = members_of(w, plan, at, path, t, one.entries if own else one, of)
            continue
        types = [t] if isinstance(t, DataType) else [t.dtype or w.default_fp] * (t.n * (t.m or 1))
        plan.append(("member", owner, key, ("scalar", t) if isinstance(t, DataType) else ("scalars", types)))
        data = []
        for part, dtype in enumerate(types):
            w.words.append(("arg", at, part))
            data.append(w.b.scalar_param(dtype, path if len(types) == 1 else f"{path}[{part}]"))
        if isinstance(t, DataType):
            members[key] = data[0]
        else:
            n, m = t.n, t.m or 1
            members[key] = make(w, n, m, t.ndim, data) if n * m > 16 else Mat(n, m, t.ndim, data)
    return Rec(members, kind.methods)


__all__ = ["AccStruct", "Elem", "constant", "element", "parameter", "to_struct"]

"""`qd.Struct`: named values as one, in Python; `qd.StructField`: a field of them, one member field per name.

A struct keeps its members in a dict, by name, in the order of its type. An element of a field read on the host has the
same face over the members' fields, so that reading and assigning a member reaches the field.
"""

from collections.abc import Iterator
from typing import Any

from quadrants import _native
from quadrants._lib.core import Layout
from quadrants.lang import host
from quadrants.lang.exception import QuadrantsRuntimeError, QuadrantsSyntaxError
from quadrants.lang.field import Field, _storage_node, create_matrix_field, field
from quadrants.lang.impl import get_runtime
from quadrants.lang.matrix import Matrix
from quadrants.lang.snode import SNode, positive_shape
from quadrants.lang.util import cook_dtype
from quadrants.types.compound import MatrixType
from quadrants.types.structs import StructType

_OWN = ("_entries", "_methods")


def _value(x: Any) -> Any:
    """What a struct holds for an object: dicts become structs, lists of numbers vectors or matrices."""
    if isinstance(x, dict):
        return Struct(x)
    if isinstance(x, (list, tuple)):
        return Matrix(x)
    return x


def _listed(x: Any, methods: bool, ndim: bool) -> Any:
    if isinstance(x, Struct):
        return x.to_dict(methods, ndim)
    return x.to_list() if isinstance(x, Matrix) else x


class Struct:
    """Members by name: `Struct(a=1, v=[1.0, 2.0])` or `Struct({"a": 1})`. Read and assigned as attributes or items.

    A dict with the entry `__struct_methods` gives its functions as methods. QuadrantsSyntaxError for anything else.
    """

    __slots__ = (*_OWN, "__weakref__")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if len(args) > 1 or (args and not isinstance(args[0], dict)) or (args and kwargs):
            raise QuadrantsSyntaxError("a struct is made of one dict, or of keyword arguments")
        given = dict(args[0] if args else kwargs)
        methods = given.pop("__struct_methods", {})
        given.pop("__matrix_ndim", None)
        _fill(self, {name: _value(one) for name, one in given.items()}, methods)

    @property
    def keys(self) -> list[str]:
        """Names of the members."""
        return list(self._entries)

    @property
    def entries(self) -> dict[str, Any]:
        """Members by name."""
        return self._entries

    @property
    def items(self) -> Any:
        """Pairs of name and member."""
        return self.entries.items()

    @property
    def methods(self) -> dict[str, Any]:
        """Functions by name."""
        return self._methods

    def to_dict(self, include_methods: bool = False, include_ndim: bool = False) -> dict[str, Any]:
        """Members as numbers, lists and dicts; with the methods and the axes of vectors and matrices if asked for."""
        entries = self.entries
        out = {name: _listed(one, include_methods, include_ndim) for name, one in entries.items()}
        if include_methods:
            out["__struct_methods"] = self._methods
        if include_ndim:
            out["__matrix_ndim"] = {n: one.ndim for n, one in entries.items() if isinstance(one, Matrix)}
        return out

    def __getitem__(self, name: str) -> Any:
        return self.entries[name]

    def __setitem__(self, name: str, value: Any) -> None:
        entries = self._entries
        if name not in entries:
            raise KeyError(name)
        entries[name] = _value(value)

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:
            raise AttributeError(name)
        if name in self._entries:
            return self[name]
        method = self._methods.get(name)
        if method is None:
            raise AttributeError(f"'Struct' object has no attribute '{name}': its members are {list(self._entries)}")
        return method.__get__(self, type(self))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._entries:
            raise AttributeError(f"'Struct' object has no attribute '{name}': its members are {list(self._entries)}")
        self[name] = value

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries.values())

    def __repr__(self) -> str:
        return str(self.to_dict())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (dict(self.entries), self._methods)

    @staticmethod
    def field(
        members: dict[str, Any],
        methods: dict[str, Any] | None = None,
        shape: Any = None,
        name: str = "<Struct>",
        offset: Any = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Layout = Layout.AOS,
    ) -> "StructField":
        """A field whose elements have these members (names and types); the other arguments as for `qd.field`."""
        return create_struct_field(members, methods or {}, shape, name, offset, needs_grad, needs_dual, layout)


def _fill(struct: Struct, entries: dict[str, Any], methods: dict[str, Any]) -> Struct:
    object.__setattr__(struct, "_entries", entries)
    object.__setattr__(struct, "_methods", methods)
    return struct


def make_struct(entries: dict[str, Any], methods: dict[str, Any]) -> Struct:
    """A struct of members that are what they should be already."""
    return _fill(object.__new__(Struct), entries, methods)


def _rebuild(entries: dict[str, Any], methods: dict[str, Any]) -> Struct:
    return make_struct(entries, methods)


def member_value(kind: Any, x: Any) -> Any:
    """A member of the given type in Python scope: cast as kernels cast. TypeError or ValueError when it can't be."""
    if isinstance(kind, StructType):
        return kind._of(x)
    if isinstance(kind, MatrixType):
        return kind(x) if not isinstance(x, Matrix) or x.get_shape() != kind.get_shape() else _matrix_of(kind, x)
    dtype = cook_dtype(kind)
    if isinstance(x, float) and not dtype.is_real:
        x = int(x)
    return host.python_number(host.number_for(x, dtype)) if not dtype.is_real else float(x)


def _matrix_of(kind: MatrixType, x: Matrix) -> Matrix:
    return x if kind.dtype is None else x.cast(kind.dtype)


class _Element(Struct):
    """An element of a struct field: every access goes to the field."""

    __slots__ = ("_field", "_index")

    @property
    def entries(self) -> dict[str, Any]:
        """Members by name, as they are now."""
        return {name: self[name] for name in self._entries}

    def __getitem__(self, name: str) -> Any:
        return self._entries[name][self._index]

    def __setitem__(self, name: str, value: Any) -> None:
        self._entries[name][self._index] = value


class StructField(Field):
    """A field of structs. Members are fields: `f.a`, `f.get_member_field("a")`; `f[i].a` is one member of one element."""

    def __init__(self, members: dict[str, Field], methods: dict[str, Any], layout: Layout, name: str) -> None:
        self._members, self._methods, self._layout, self._name = members, methods, layout, name
        self._role = ""
        self.offset = None

    # -- members
    @property
    def keys(self) -> list[str]:
        """Names of the members."""
        return list(self._members)

    def get_member_field(self, key: str) -> Any:
        """The field of one member. KeyError for another name."""
        return self._members[key]

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__.get("_members", {})
        if name in members:
            return members[name]
        if name == "buffer":  # no memory of its own
            return None
        if name == "grad":
            return self._twin_of("grad")
        if name == "dual":
            return self._twin_of("dual")
        raise AttributeError(f"'StructField' object has no attribute {name!r}: its members are {list(members)}")

    def _twin_of(self, which: str) -> "StructField | None":
        """The gradients as a field of structs, when every member has one."""
        twins = {name: getattr(one, which) for name, one in self._members.items()}
        if not twins or any(one is None for one in twins.values()):
            return None
        return StructField(twins, {}, self._layout or Layout.AOS, f"{self._name}.{which}")

    @property
    def _first(self) -> Field:
        return next(iter(self._members.values()))

    # -- placement
    def _is_placed(self) -> bool:
        return all(one._is_placed() for one in self._members.values())

    def _release(self, why: str) -> None:
        for one in self._members.values():
            one._release(why)

    def _leaves(self) -> Iterator[Field]:
        for one in self._members.values():
            if isinstance(one, StructField):
                yield from one._leaves()
            else:
                yield one

    def _live(self) -> Any:
        for one in self._leaves():
            one._live()
        return self._first._live()

    # -- description
    @property
    def dtype(self) -> _native.DataType:
        """Scalar type of the first member."""
        return self._first.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self._first.shape

    @property
    def snode(self) -> SNode | None:
        """The place of the first member in its tree."""
        return self._first.snode

    def parent(self, n: int = 1) -> Any:
        """The node `n` levels above the members."""
        return self._first.parent(n)

    def has_grad(self) -> bool:
        """Whether any member has storage for gradients."""
        return any(one.has_grad() for one in self._members.values())

    def has_dual(self) -> bool:
        """Whether any member has storage for forward gradients."""
        return any(one.has_dual() for one in self._members.values())

    # -- elements
    def __getitem__(self, key: Any) -> Any:
        self._live()
        index = self._first_leaf()._index(key)
        element = object.__new__(_Element)
        _fill(element, self._members, self._methods)
        object.__setattr__(element, "_field", self)
        offset = self._first_leaf().offset
        object.__setattr__(element, "_index", tuple(a + b for a, b in zip(index, offset)) if offset else index)
        return element

    def _first_leaf(self) -> Field:
        return next(self._leaves())

    def __setitem__(self, key: Any, value: Any) -> None:
        element = self[key]
        if isinstance(value, dict):
            value = Struct(value)
        if not isinstance(value, Struct) or list(value._entries) != self.keys:
            raise TypeError(f"an element of this field is a struct of {self.keys}, got {value!r:.80}")
        for name, one in value.items:
            element[name] = one

    def fill(self, val: Any) -> None:
        """Sets every member of every element to one number, or to the members of a struct."""
        for name, one in self._members.items():
            one.fill(val[name] if isinstance(val, (Struct, dict)) else val)

    def to_numpy(self, dtype: Any = None, *, copy: bool | None = True) -> dict[str, Any]:  # type: ignore[override]
        """A dict of arrays (and of dicts, for members that are structs)."""
        if isinstance(dtype, dict):
            return {n: one.to_numpy(dtype=dtype.get(n), copy=copy) for n, one in self._members.items()}
        return {n: one.to_numpy(dtype=dtype, copy=copy) for n, one in self._members.items()}

    def from_numpy(self, array_dict: dict[str, Any]) -> None:  # type: ignore[override]
        """Sets members from a dict of arrays."""
        for name, one in array_dict.items():
            self._members[name].from_numpy(one)

    def to_torch(self, device: Any = None, *, copy: bool | None = True) -> dict[str, Any]:
        """As `to_numpy`, with tensors."""
        return {name: one.to_torch(device, copy=copy) for name, one in self._members.items()}

    def from_torch(self, array_dict: dict[str, Any]) -> None:  # type: ignore[override]
        """As `from_numpy`, from tensors."""
        for name, one in array_dict.items():
            self._members[name].from_torch(one)

    def to_dlpack(self, versioned: bool = False) -> Any:
        """Structs have no DLPack form: ValueError. Members have."""
        raise ValueError("a field of structs has no DLPack form: export its members")

    def copy_from(self, other: "StructField") -> None:  # type: ignore[override]
        """Copies member by member. TypeError when the other field has other members."""
        if not isinstance(other, StructField) or other.keys != self.keys:
            raise TypeError(f"Cannot copy from {other!r:.80}: expected a field of structs of {self.keys}")
        for name, one in self._members.items():
            one.copy_from(other._members[name])

    def __repr__(self) -> str:
        try:
            return str(self.to_numpy())
        except (QuadrantsRuntimeError, RuntimeError):
            return f"<qd.Struct.field of {self.keys}>"


def _member_field(kind: Any, name: str, needs_grad: bool, needs_dual: bool, layout: Layout) -> Field:
    if isinstance(kind, StructType):
        return create_struct_field(kind.members, kind.methods, None, name, None, needs_grad, needs_dual, layout)
    if isinstance(kind, MatrixType):
        return create_matrix_field(
            kind.dtype, kind.whole_shape(), None, None, name, None, needs_grad, needs_dual, layout
        )
    return field(kind, None, None, name, None, needs_grad, needs_dual)


def create_struct_field(
    members: dict[str, Any],
    methods: dict[str, Any],
    shape: Any = None,
    name: str = "<Struct>",
    offset: Any = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: Layout = Layout.AOS,
) -> StructField:
    """See Struct.field. QuadrantsSyntaxError for an offset without a shape."""
    get_runtime().require_context()
    if shape is None and offset is not None:
        raise QuadrantsSyntaxError("shape cannot be None when offset is set")
    made: dict[str, Field] = {}
    for key, kind in members.items():
        made[key] = _member_field(kind, f"{name}.{key}", needs_grad, needs_dual, Layout(layout))
    out = StructField(made, methods, Layout(layout), name)
    if shape is not None:
        twins = (twin for leaf in out._leaves() for twin in (leaf.grad, leaf.dual) if twin is not None)
        _storage_node(positive_shape(shape), None, offset).place(out, *twins, offset=offset)
    return out


__all__ = ["Struct", "StructField", "make_struct", "member_value"]

"""Struct types: `qd.types.struct(...)` and `@qd.dataclass`. Callable to build a value, and makers of fields.

Two types with the same members (names, order, types) are equal, whatever their methods.
"""

from collections.abc import Callable
from typing import Any

from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.types.compound import MatrixType, _scalar_type


def _member_type(kind: Any) -> Any:
    if isinstance(kind, dict):
        return StructType(**kind)
    if isinstance(kind, (StructType, MatrixType)) or kind is bool:
        return kind
    return _scalar_type(kind)


def _members_of(x: Any) -> dict[str, Any] | None:
    """The members of a struct of either scope or a dict by name; None of anything else."""
    from quadrants.lang.struct import Struct
    from quadrants.lang.values import RECORDS

    if isinstance(x, Struct):
        return x.entries
    return x if isinstance(x, dict) else x.members if type(x) in RECORDS else None


class StructType:
    """The type of structs with these members. `__struct_methods` may hold functions by name.

    Members are scalar, vector, matrix or struct types; ValueError for anything else.
    """

    __name__: str  # of a class that qd.dataclass made

    def __init__(self, **members: Any) -> None:
        self.methods: dict[str, Callable[..., Any]] = dict(members.pop("__struct_methods", {}))
        self._members = {name: _member_type(kind) for name, kind in members.items()}

    @property
    def members(self) -> dict[str, Any]:
        """Types by name; `int`, `float` and `bool` as the types that they mean now."""
        from quadrants.lang.util import cook_dtype

        return {n: cook_dtype(k) if k in (int, float, bool) else k for n, k in self._members.items()}

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The members that a call gives, by name. QuadrantsSyntaxError for too many, unknown or repeated ones."""
        names = list(self._members)
        if len(args) > len(names):
            raise QuadrantsSyntaxError(f"{self} has {len(names)} members, got {len(args)}")
        given = dict(zip(names, args))
        for name, one in kwargs.items():
            if name not in self._members:
                raise QuadrantsSyntaxError(f"{self} has no member '{name}'")
            if name in given:
                raise QuadrantsSyntaxError(f"two values for member '{name}' of {self}")
            given[name] = one
        return given

    def begins_with(self, x: Any) -> bool:
        """Whether `T(x)` gives the first member, a struct itself, and not all of them: a struct or dict x says by its
        names, inner ones included."""
        first = next(iter(self._members.values()), None)
        return isinstance(first, StructType) and first.has_names(x) and not self.has_names(x)

    def has_names(self, x: Any) -> bool:
        """Whether a struct has the names of this type's members, at each depth; a dict may leave out some."""
        members = _members_of(x)
        if not members or not set(members) <= set(self._members):
            return False
        if not isinstance(x, dict) and len(members) != len(self._members):
            return False
        for name, one in members.items():
            kind = self._members[name]
            inner = isinstance(kind, StructType)
            if inner != (_members_of(one) is not None) or (inner and not kind.has_names(one)):
                return False
        return True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A value: members by position or name, those left out zero; or the members of another struct or a dict."""
        from quadrants.lang import traced
        from quadrants.lang.struct import Struct

        if traced.walker() is not None and (traced.holds(args) or traced.holds(list(kwargs.values()))):
            return traced.in_kernel(self, args, kwargs)
        if len(args) == 1 and not kwargs and isinstance(args[0], (Struct, dict)) and not self.begins_with(args[0]):
            return self._of(args[0])
        return self._of(self.named(args, kwargs))

    def _of(self, given: Any) -> Any:
        from quadrants.lang.struct import Struct, make_struct, member_value

        if isinstance(given, Struct):
            given = given.entries
        if not isinstance(given, dict):
            if given != 0:
                raise TypeError(f"{self} is made of its members, got {given!r:.80}")
            given = {}
        for name in given:
            if name not in self._members and not name.startswith("__"):
                raise QuadrantsSyntaxError(f"{self} has no member '{name}'")
        return make_struct({n: member_value(k, given.get(n, 0)) for n, k in self.members.items()}, self.methods)

    def __instancecheck__(self, x: Any) -> bool:
        from quadrants.lang.matrix import Matrix
        from quadrants.lang.struct import Struct

        if not isinstance(x, Struct) or x.keys != list(self._members):
            return False
        for one, kind in zip(x.entries.values(), self._members.values()):
            if isinstance(kind, MatrixType):
                if not isinstance(one, Matrix) or one.get_shape() != kind.get_shape():
                    return False
            elif isinstance(kind, StructType):
                if not kind.__instancecheck__(one):
                    return False
            elif isinstance(one, (Matrix, Struct)):
                return False
        return True

    def field(self, **kwargs: Any) -> Any:
        """A field of this element type; keywords as for `qd.Struct.field`."""
        from quadrants.lang.struct import Struct

        return Struct.field(self.members, self.methods, **kwargs)

    def _key(self) -> tuple[Any, ...]:
        return tuple((name, getattr(kind, "id", kind)) for name, kind in self.members.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def to_string(self) -> str:
        """How the type is written."""
        return str(self)

    def __str__(self) -> str:
        members = ", ".join(f"{name}={_written(kind)}" for name, kind in self.members.items())
        comma = ", " if members else ""
        return f"<qd.StructType {members}{comma}struct_methods={self.methods}>"

    __repr__ = __str__


def _written(kind: Any) -> str:
    return kind.to_string() if hasattr(kind, "to_string") else str(kind)


def struct(**members: Any) -> StructType:
    """The type of structs with these members: `struct(a=qd.i32, v=qd.types.vector(3, qd.f32))`."""
    return StructType(**members)


def dataclass(cls: type) -> StructType:
    """Makes a class a struct type: its annotations are the members, its functions the methods.

    QuadrantsSyntaxError for members with default values.
    """
    members = {}
    for base in reversed(cls.__mro__):
        members.update(base.__dict__.get("__annotations__", {}))
    methods = {}
    for name in dir(cls):
        if name.startswith("__"):
            continue
        found = cls.__dict__.get(name, getattr(cls, name))
        if name in members:
            raise QuadrantsSyntaxError("Default value in @dataclass is not supported.")
        if callable(found) or isinstance(found, (property, staticmethod)):
            methods[name] = found
    made = StructType(**{n: _resolved(cls, k) for n, k in members.items()}, __struct_methods=methods)
    made.__name__ = cls.__name__
    made.__doc__ = cls.__doc__ or StructType.__doc__
    return made


def _resolved(cls: type, kind: Any) -> Any:
    """An annotation that `from __future__ import annotations` left as text."""
    if not isinstance(kind, str):
        return kind
    import sys

    space = dict(vars(sys.modules[cls.__module__])) if cls.__module__ in sys.modules else {}
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return eval(kind, {**space, **(frame.f_globals if frame else {}), **(frame.f_locals if frame else {})})

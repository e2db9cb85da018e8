"""Stable forms: what an outside value is, in text that is equal in every process where kernels would come out equal.

`Forms.of` gives plain data (strings, numbers, lists) for a value that a kernel captures; the source tier compares it
with what an earlier process saw. Numbers count by value, functions by text, fields by layout, modules and classes by
name: what is read *through* those is recorded on its own. Anything else raises `NoForm`, and the kernel is not stored.
Objects are numbered in the order in which they are met, so that two names for one object differ from two objects.
"""

import enum
import types
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from quadrants import _native

_DataType = _native.DataType
_PLAIN = (int, bool, str, type(None))
# Special methods with which an object could answer for values that nobody recorded.
_TELLING = (
    "__bool__", "__len__", "__getitem__", "__call__", "__iter__", "__contains__", "__getattr__", "__index__", "__int__",
    "__float__", "__add__", "__radd__", "__mul__", "__rmul__", "__sub__", "__rsub__", "__lt__", "__gt__", "__array__",
    "kernel_attribute", "static_items",
)  # fmt: skip
_kinds: dict[type, Any] = {}


class NoForm(Exception):
    """A value of which another process couldn't tell whether it is the same; the text says which and why."""


class Forms:
    """Forms of one compile, and the objects behind them by number."""

    __slots__ = ("_buffers", "numbers", "objects")

    def __init__(self) -> None:
        self.objects: list[Any] = []  # holds them: an id is used once
        self.numbers: dict[int, int] = {}
        self._buffers: dict[int, int] = {}

    def number(self, x: Any) -> int:
        """Makes an object known, or finds it."""
        found = self.numbers.get(id(x))
        if found is None:
            found = self.numbers[id(x)] = len(self.objects)
            self.objects.append(x)
        return found

    def of(self, x: Any) -> Any:
        """The form of any value; NoForm."""
        kind = type(x)
        if kind in _PLAIN:
            return x if kind is not int or -(2**53) < x < 2**53 else ["int", str(x)]
        if kind is float:
            return ["float", x.hex()]
        if kind is _DataType:
            return ["type", x.name]
        known = self.numbers.get(id(x))
        if known is not None:
            return ["seen", known]
        if not _kinds:
            _fill()
        maker = _kinds.get(kind)
        if maker is None:
            maker = _kinds[kind] = _maker_for(kind)
        self.number(x)
        return maker(self, x)

    def of_annotation(self, t: Any) -> Any:
        """The form of an annotation: a type of ours or a container of such."""
        if type(t) is tuple or type(t) is list:
            return [self.of_annotation(p) for p in t]
        if t in (int, float, bool):
            return t.__name__
        return self.of(t)

    def buffer(self, buffer: Any) -> int:
        """Number of a piece of device memory: which fields share one decides about the kernel's parameters."""
        if buffer is None:
            raise NoForm("a field or array whose memory is gone")
        return self._buffers.setdefault(id(buffer), len(self._buffers))


def _named(x: Any) -> list[Any]:
    return [getattr(x, "__module__", None), getattr(x, "__qualname__", None) or getattr(x, "__name__", None)]


def _sequence(forms, x):
    return [type(x).__name__, *map(forms.of, x)]


def _dict(forms, x):
    return ["dict", *([forms.of(k), forms.of(v)] for k, v in x.items())]


def _array(forms, x):
    if x.dtype.hasobject:
        raise NoForm("a NumPy array of objects")
    return ["array", list(x.shape), x.dtype.str, _native.digest(x.tobytes()).hex()]


def _scalar(forms, x):
    return ["scalar", x.dtype.str, x.tobytes().hex()]


def _enum(forms, x):
    return ["enum", *_named(type(x)), x.name, forms.of(x.value)]


def _module(forms, x):
    return ["module", x.__name__]


def _class(forms, x):
    return ["class", *_named(x)]


def _python_function(forms, x):
    return ["python function", *_named(x)]


def _builtin(forms, x):
    owner = getattr(x, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        raise NoForm(f"the bound method {getattr(x, '__qualname__', x)!r}")
    return ["builtin", *_named(x)]


def _func(forms, x):
    forms.numbers.setdefault(id(x.fn), forms.numbers[id(x)])  # names are read from the Python function
    return [
        "function",
        x.__qualname__,
        x.source.digest(),
        x.pyfunc,
        x.real,
        x.requires_top_level,
        signature(forms, x.signature),
    ]


def signature(forms: Forms, s: Any) -> list[Any]:
    """Annotations and defaults by value: text alone doesn't tell what a name in an annotation stands for."""
    return [
        [forms.of_annotation(t) for t in s.types],
        forms.of_annotation(s.returns),
        [[name, forms.of(v)] for name, v in s.defaults.items()],
    ]


def _bound(forms, x):
    return ["method", forms.of(x.__func__), forms.of(x.__self__)]


def _field(forms, x):
    grad = getattr(x, "grad", None)
    return [
        "field", x.dtype.name, x._name, list(x.shape), list(x.element_shape), list(x.strides), list(x.element_strides),
        x.base, None if x.offset is None else list(x.offset), forms.buffer(x.buffer), x.buffer.size,
        None if grad is None else forms.of(grad),
    ]  # fmt: skip


def _struct_field(forms, x):
    return [
        "struct field",
        [[name, forms.of(one)] for name, one in x._members.items()],
        *_struct_methods(forms, x._methods),
    ]


def _struct_type(forms, x):
    members = [[name, forms.of_annotation(kind)] for name, kind in x.members.items()]
    return ["struct type", members, *_struct_methods(forms, x.methods)]


def _struct_methods(forms, methods):
    return [[name, forms.of(one)] for name, one in methods.items()]


def _ndarray(forms, x):
    grad = getattr(x, "grad", None)
    memory = forms.buffer(x.buffer)
    return [
        "ndarray",
        x.dtype.name,
        list(x.shape),
        list(x.element_shape),
        memory,
        None if grad is None else forms.of(grad),
    ]


def _matrix(forms, x):
    return ["matrix", getattr(x.dtype, "name", None) if hasattr(x, "dtype") else None, forms.of(x.to_numpy())]


def _ndrange(forms, x):
    return ["ndrange", [list(b) for b in x.bounds], None if x.axes is None else list(x.axes)]


def _range(forms, x):
    return ["range", x.start, x.stop, x.step]


def _matrix_type(forms, x):
    return ["matrix type", x.ndim, x.n, x.m, None if x.dtype is None else x.dtype.name]


def _ndarray_type(forms, x):
    inner = None if x.dtype is None else forms.of_annotation(x.dtype)
    shape = None if x.element_shape is None else list(x.element_shape)
    return ["ndarray type", inner, x.ndim, x.needs_grad, x.boundary, x.element_dim, shape, *([True] if x.optional else [])]


def _template(forms, x):
    return ["template", forms.of_annotation(x.element_type), x.ndim]


def _dataclass(forms, x):
    return ["dataclass", *_named(type(x)), *([f.name, forms.of(getattr(x, f.name))] for f in dataclass_fields(x))]


def _instance(forms, x):
    return [
        "object",
        *_named(type(x)),
        getattr(type(x), "_data_oriented", None),
        getattr(type(x), "_template_primitives", None),
    ]


def _fill():
    """The table of kinds, late: it needs the host classes."""
    from quadrants.lang.func import BoundFunc, Func
    from quadrants.lang.static import ndrange
    from quadrants.lang.struct import StructField
    from quadrants.types.annotations import NdarrayType, Template
    from quadrants.types.compound import MatrixType
    from quadrants.types.structs import StructType

    for kinds, maker in (
        ((list, tuple, set, frozenset), _sequence), ((dict,), _dict), ((np.ndarray,), _array), ((Func,), _func),
        ((BoundFunc,), _bound), ((ndrange,), _ndrange), ((range,), _range), ((MatrixType,), _matrix_type),
        ((StructField,), _struct_field), ((StructType,), _struct_type), ((NdarrayType,), _ndarray_type), ((Template,), _template), ((types.ModuleType,), _module),
        ((types.FunctionType,), _python_function), ((types.BuiltinFunctionType, np.ufunc), _builtin),
        ((bytes,), lambda forms, x: ["bytes", x.hex()]), ((type, enum.EnumMeta), _class),
    ):  # fmt: skip
        for kind in kinds:
            _kinds[kind] = maker


def _maker_for(kind):
    """Who makes the form of a type that is met for the first time."""
    from quadrants.lang.field import Field
    from quadrants.lang.matrix import Matrix
    from quadrants.lang.ndarray import Ndarray

    for base, maker in (
        (Field, _field),
        (Ndarray, _ndarray),
        (Matrix, _matrix),
        (enum.Enum, _enum),
        (np.generic, _scalar),
    ):
        if issubclass(kind, base):
            return maker
    where = kind.__module__.split(".", 1)[0]
    if issubclass(kind, (type, types.ModuleType)):
        return _class if issubclass(kind, type) else _module
    if where in ("quadrants", "builtins", "numpy"):
        return _none
    if (
        any(name in base.__dict__ for base in kind.__mro__[:-1] for name in _TELLING)
        or kind.__getattribute__ is not object.__getattribute__
    ):
        return _none
    if kind.__eq__ is not object.__eq__:
        return _dataclass if is_dataclass(kind) else _none
    return _instance


def _none(forms, x):
    raise NoForm(f"an object of type {type(x).__module__}.{type(x).__qualname__} has no stable form")


def plain(x: Any, depth: int = 0) -> bool:
    """Whether a value is wholly described by its form: what a function may be given whose call is not recorded."""
    kind = type(x)
    if kind in _PLAIN or kind in (float, _DataType, range, bytes, slice, complex):
        return True
    if kind in (list, tuple, set, frozenset):
        return depth < 8 and all(plain(e, depth + 1) for e in x)
    if kind is dict:
        return depth < 8 and all(plain(k, depth + 1) and plain(v, depth + 1) for k, v in x.items())
    if isinstance(x, (np.generic, enum.Enum)):
        return True
    if isinstance(x, type):
        return x.__module__.split(".", 1)[0] in ("quadrants", "builtins", "numpy")
    return isinstance(x, np.ndarray) and not x.dtype.hasobject

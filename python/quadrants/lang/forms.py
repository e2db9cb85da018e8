"""Stable forms: what an outside value is, in text that is equal in every process where kernels would come out equal.

`Forms.of` gives plain data (strings, numbers, lists) for a value that a kernel captures; the source tier compares it
with what an earlier process saw. Numbers count by value, functions by text, fields by layout, modules and classes by
name: what is read *through* those is recorded on its own. Anything else raises `NoForm`, and the kernel is not stored.
Objects are numbered in the order in which they are met, so that two names for one object differ from two objects.
"""

import enum
import struct
import types
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from quadrants import _native

_DataType = _native.DataType
_PLAIN = (int, bool, str, type(None))
# Special methods that a class may have: they are run when an object is made, copied, shown or stored, never for what a
# walk asks. Any other one could answer for values that nobody recorded. A call is noted by the walk.
_ORDINARY = frozenset((
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__annotations__", "__annotate__",
    "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__", "__type_params__",
    "__orig_bases__", "__parameters__", "__abstractmethods__", "__subclasshook__", "__class_getitem__", "__match_args__",
    "__dataclass_fields__", "__dataclass_params__", "__protocol_attrs__", "__non_callable_proto_members__",
    "__new__", "__init__", "__post_init__", "__init_subclass__", "__set_name__", "__del__", "__call__", "__hash__",
    "__repr__", "__str__", "__format__", "__dir__", "__sizeof__", "__setattr__", "__delattr__", "__getstate__",
    "__setstate__", "__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__", "__copy__", "__deepcopy__",
    "__replace__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__instancecheck__", "__subclasscheck__",
    "__prepare__",
))  # fmt: skip
_HOOKS = ("kernel_attribute", "static_items")  # of the front end
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
            return ["float", x.hex() if x == x else struct.pack(">d", x).hex()]
        if kind is _DataType:
            return ["type", x.name]
        known = self.numbers.get(id(x))
        if known is not None:
            return ["seen", known]
        if not _kinds:
            _fill()
        maker = _kinds.get(kind) or _maker_for(kind)
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
    if x.dtype.hasobject or x.dtype.fields:
        raise NoForm("a NumPy array of objects or of records")
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
        list(getattr(x, "_tensor_layout", None) or ()),
        memory,
        None if grad is None else forms.of(grad),
    ]


def _tensor(forms, x):
    return ["tensor", forms.of(x._impl)]


def _struct(forms, x):
    return ["struct", [[name, forms.of(one)] for name, one in x.items], *_struct_methods(forms, x.methods)]


def _matrix(forms, x):
    return ["matrix", getattr(x.dtype, "name", None) if hasattr(x, "dtype") else None, forms.of(x.to_numpy())]


def _ndrange(forms, x):
    return ["ndrange", [list(b) for b in x.bounds], None if x.axes is None else list(x.axes)]


def _range(forms, x):
    return ["range", x.start, x.stop, x.step]


def _matrix_type(forms, x):
    return ["matrix type", type(x).__name__, x.ndim, x.n, x.m, None if x.dtype is None else x.dtype.name]


def _ndarray_type(forms, x):
    inner = None if x.dtype is None else forms.of_annotation(x.dtype)
    shape = None if x.element_shape is None else list(x.element_shape)
    return [
        "ndarray type",
        inner,
        x.ndim,
        x.needs_grad,
        x.boundary,
        x.element_dim,
        shape,
        *([True] if x.optional else []),
    ]


def _template(forms, x):
    return ["template", forms.of_annotation(x.element_type), x.ndim]


def _view_type(forms, x):
    return ["view type", None if x.dtype is None else forms.of_annotation(x.dtype), x.boundary]


def _ref_type(forms, x):
    return ["ref type", forms.of_annotation(x.tp)]


def _namespace(forms, x):
    return ["namespace", *_named(type(x)), *([name, forms.of(one)] for name, one in vars(x).items())]


def _named_tuple(forms, x):
    return ["named tuple", *_named(type(x)), *([name, forms.of(one)] for name, one in zip(x._fields, x))]


def _dataclass(forms, x):
    parts = ([f.name, forms.of(getattr(x, f.name))] for f in dataclass_fields(x))
    return ["dataclass", *_named(type(x)), *_decorated(type(x)), *parts]


def _instance(forms, x):
    return ["object", *_named(type(x)), *_decorated(type(x))]


def _decorated(cls):
    return getattr(cls, "_data_oriented", None), getattr(cls, "_template_primitives", None)


def _fill():
    """The table of kinds, late: it needs the host classes."""
    from quadrants.lang.func import BoundFunc, Func
    from quadrants.lang.static import ndrange
    from quadrants.lang.struct import Struct, StructField
    from quadrants.lang.tensor import Tensor
    from quadrants.types.annotations import BufferViewType, NdarrayType, Template
    from quadrants.types.compound import MatrixType
    from quadrants.types.primitive import RefType
    from quadrants.types.structs import StructType

    for kinds, maker in (
        ((list, tuple, set, frozenset), _sequence), ((dict,), _dict), ((np.ndarray,), _array), ((Func,), _func),
        ((BoundFunc,), _bound), ((ndrange,), _ndrange), ((range,), _range), ((MatrixType,), _matrix_type),
        ((StructField,), _struct_field), ((StructType,), _struct_type), ((NdarrayType,), _ndarray_type), ((Template,), _template), ((types.ModuleType,), _module),
        ((types.FunctionType,), _python_function), ((types.BuiltinFunctionType, np.ufunc), _builtin),
        ((bytes,), lambda forms, x: ["bytes", x.hex()]), ((type, enum.EnumMeta), _class), ((Tensor,), _tensor),
        ((Struct,), _struct), ((BufferViewType,), _view_type), ((RefType,), _ref_type),
        ((types.SimpleNamespace,), _namespace),
    ):  # fmt: skip
        for kind in kinds:
            _kinds[kind] = maker


def _maker_for(kind):
    """Who makes the form of an object of a type that is not in the table. Asked each time: methods can be added to a class."""
    from quadrants.lang.field import Field
    from quadrants.lang.matrix import Matrix
    from quadrants.lang.ndarray import Ndarray
    from quadrants.types.compound import MatrixType

    for base, maker in (
        (Field, _field),
        (Ndarray, _ndarray),
        (Matrix, _matrix),
        (enum.Enum, _enum),
        (np.generic, _scalar),
        (MatrixType, _matrix_type),
    ):
        if issubclass(kind, base):
            return maker
    where = kind.__module__.split(".", 1)[0]
    if issubclass(kind, types.ModuleType):
        return _module
    if kind.__bases__ == (tuple,) and type(getattr(kind, "_fields", None)) is tuple and _field_order(kind):
        return _named_tuple
    if where == "quadrants" and hasattr(kind, "kernel_form"):
        return lambda forms, x: x.kernel_form()
    if where in ("quadrants", "builtins", "numpy"):
        return _none
    if (kind.__module__, kind.__name__) == ("argparse", "Namespace"):
        return _namespace
    if _tells(kind) or kind.__getattribute__ is not object.__getattribute__ and not issubclass(kind, type):
        return _none
    if issubclass(kind, type):
        return _class
    return _dataclass if is_dataclass(kind) and kind.__eq__ is not object.__eq__ else _instance


def _tells(kind) -> bool:
    """Whether a class has special methods that a walk could run without a record of it."""
    return any(
        name in _HOOKS or name[:2] == "__" and name[-2:] == "__" and name not in _ORDINARY and not _made(base, name)
        for base in kind.__mro__[:-1]
        if base is not type
        for name in base.__dict__
    )


def _made(cls, name) -> bool:
    """Whether it is the comparison that `dataclass` wrote, which follows from the members."""
    code = getattr(cls.__dict__[name], "__code__", None)
    return name == "__eq__" and is_dataclass(cls) and code is not None and code.co_filename == "<string>"


def _field_order(kind) -> bool:
    """Whether a named tuple is as `collections.namedtuple` makes it: without methods of its own."""
    own = ("_fields", "_make", "_replace", "_asdict", "_field_defaults", *kind._fields)
    return all(n in own or n in _ORDINARY for n in kind.__dict__)


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

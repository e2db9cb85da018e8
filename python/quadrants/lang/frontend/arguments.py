"""What a call's arguments have to be, without a walk: a kernel that comes from the source tier needs no more than this."""

from dataclasses import is_dataclass

import numpy as np

from quadrants import _native
from quadrants._native import DataType
from quadrants.lang.buffer_view import BufferView
from quadrants.lang.exception import QuadrantsRuntimeTypeError
from quadrants.lang.field import Field
from quadrants.lang.forms import NoForm
from quadrants.lang.struct import Struct
from quadrants.lang.tensor import Tensor
from quadrants.lang.util import cook_dtype
from quadrants.types.annotations import BufferViewType, NdarrayType, Template, sparse_matrix_builder
from quadrants.types.compound import MatrixType
from quadrants.types.primitive import RefType
from quadrants.types.structs import StructType


def is_template(annotation):
    return annotation is Template or isinstance(annotation, Template)


def is_tensor(annotation):
    """Whether an annotation is `qd.Tensor`: an array, a field or None."""
    return isinstance(annotation, type) and issubclass(annotation, Tensor)


def can_annotate(annotation, is_kernel) -> bool:
    """Whether a parameter of a kernel or function can have this annotation."""
    if isinstance(annotation, RefType):
        return not is_kernel
    if isinstance(annotation, (DataType, MatrixType, StructType, NdarrayType, sparse_matrix_builder)):
        return True
    if is_template(annotation) or is_tensor(annotation) or is_view(annotation) or _dataclass(annotation):
        return True
    return any(annotation is t for t in (int, float, bool, NdarrayType, sparse_matrix_builder))


def by_value(annotation, value) -> bool:
    """Whether an argument is a compile-time value. What is annotated `qd.Tensor` decides itself: fields and None are."""
    if isinstance(value, Tensor):
        value = value._impl
    if annotation is None or is_template(annotation):
        return True
    return is_tensor(annotation) and (value is None or isinstance(value, Field))


def owners(annotations, values) -> list:
    """The arguments of a call that a walk looks into, and whether they count as a whole: compile-time values and the object
    of a method do, of a dataclass argument the members that are read."""
    return [(v, not _dataclass(t)) for t, v in zip(annotations, values) if by_value(t, v) or _dataclass(t)]


def _dataclass(annotation):
    return isinstance(annotation, type) and is_dataclass(annotation)


def column_major(annotation, value):
    return (
        type(value) is np.ndarray
        and value.flags.f_contiguous
        and not value.flags.c_contiguous
        and (annotation is NdarrayType or isinstance(annotation, NdarrayType))
    )


def needs_copies(kernel, values) -> bool:
    """Whether an argument is a column-major NumPy array: the kernel then runs on row-major copies."""
    return any(map(column_major, kernel.signature.types, values))


def check_number(kernel, k, name, dtype, value):
    """The documented refusal before anything is compiled. What else a number may be is decided when it is packed."""
    real = isinstance(value, (float, np.floating))
    if (real and not dtype.is_real) or isinstance(value, (str, bytes, list, tuple, dict, np.ndarray)) or value is None:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return
        raise QuadrantsRuntimeTypeError(
            f"Argument ({k},) (type={type(value)}) cannot be converted into required type {dtype} "
            f"(parameter '{name}' of kernel '{kernel.name}')"
        )


def expected_element(annotation):
    """(scalar type or None, element shape or None) that an annotation asks for."""
    t = annotation.dtype
    if t is None:
        return None, annotation.element_shape
    if isinstance(t, MatrixType):
        return t.dtype, t.get_shape()
    return cook_dtype(t), annotation.element_shape if annotation.element_shape is not None else ()


def argument_form(kernel, k, name, annotation, value):
    """What the front end knows of an argument before it walks; compile-time arguments come with the values read."""
    if isinstance(value, Tensor):
        return ["tensor", argument_form(kernel, k, name, annotation, value._impl)]
    if by_value(annotation, value):
        return "template"
    if is_tensor(annotation):
        annotation = NdarrayType
    if annotation is NdarrayType or isinstance(annotation, NdarrayType):
        return _array_form(name, annotation, value)
    if isinstance(annotation, DataType) or annotation in (int, float, bool):
        check_number(kernel, k, name, cook_dtype(annotation), value)
        return "number"
    if isinstance(annotation, MatrixType):
        return "matrix"
    if isinstance(annotation, StructType):
        return _struct_form(name, annotation, value)
    if is_view(annotation):
        if not isinstance(value, BufferView):
            raise NoForm(f'argument "{name}" is no BufferView')
        return ["view", type(value).__qualname__, argument_form(kernel, k, name, NdarrayType, value._arr)]
    if _dataclass(annotation):
        return "dataclass"
    raise NoForm(f'argument "{name}" has an annotation of a kind that is not recorded')


def is_view(annotation) -> bool:
    """Whether an annotation is `qd.BufferView`, with or without an element type."""
    return annotation is BufferView or annotation is BufferViewType or isinstance(annotation, BufferViewType)


def _array_form(name, annotation, value):
    if value is None:
        return "none"
    found = _native.array_kind(value)
    if found is None:
        raise NoForm(f'argument "{name}" is no array')
    kind, d = found
    one = NdarrayType() if annotation is NdarrayType else annotation
    wanted = expected_element(one)[1]
    dims = one.element_dim or len(wanted or ())
    return ["array", kind, list(d["shape"])[-dims:] if dims and d["source"] != "nd" else None]


def _struct_form(name, kind, value):
    """Which of a struct and its inner structs are dicts: their members are numbers."""
    entries = value.entries if isinstance(value, Struct) else value
    if not isinstance(entries, dict) or set(entries) != set(kind.members):
        raise NoForm(f'argument "{name}" has other members than its type')
    inner = [_struct_form(name, t, entries[n]) for n, t in kind.members.items() if isinstance(t, StructType)]
    return ["struct", type(value).__module__, type(value).__qualname__, *inner]

"""What a call's arguments have to be, without a walk: a kernel that comes from the source tier needs no more than this."""

import numpy as np

from quadrants.lang.exception import QuadrantsRuntimeTypeError
from quadrants.lang.tensor import Tensor
from quadrants.lang.util import cook_dtype
from quadrants.types.annotations import NdarrayType, Template
from quadrants.types.compound import MatrixType


def is_template(annotation):
    return annotation is Template or isinstance(annotation, Template)


def is_tensor(annotation):
    """Whether an annotation is `qd.Tensor`: an array, a field or None."""
    return isinstance(annotation, type) and issubclass(annotation, Tensor)


def owners(annotations, values) -> list:
    """The compile-time arguments of a call: templates, and the object of a method."""
    return [v for t, v in zip(annotations, values) if t is None or is_template(t)]


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

"""Annotations of kernel parameters: compile-time values, arrays, and those that are not supported yet.

A class and an instance mean the same: `x: qd.Template` is `x: qd.template()`, `x: NDArray` is `x: NDArray()`.
"""

import copy
import types
import typing
from typing import Any

from quadrants._lib.core import Layout


class Template:
    """A compile-time value (kernels) or a parameter taken by reference (functions)."""

    def __init__(self, element_type: Any = None, ndim: int | None = None) -> None:
        self.element_type, self.ndim = element_type, ndim

    def __repr__(self) -> str:
        return "template()"

    def __or__(self, other: Any) -> "Template":
        return self if other is None else NotImplemented

    __ror__ = __or__


template = Template


class NdarrayType:
    """A parameter that takes ndarrays, NumPy arrays and tensors.

    `dtype` (scalar, vector or matrix type) and `ndim` (axes without those of the element) must match when given.
    `boundary` is "unsafe", or "clamp" for indices moved into the array. ValueError for anything else.
    """

    def __init__(
        self,
        dtype: Any = None,
        ndim: int | None = None,
        element_dim: int | None = None,
        element_shape: tuple[int, ...] | None = None,
        field_dim: int | None = None,
        needs_grad: bool | None = None,
        boundary: str = "unsafe",
    ) -> None:
        if field_dim is not None:
            raise ValueError("The field_dim argument for ndarray type is already deprecated. Please use ndim instead.")
        if boundary not in ("unsafe", "clamp"):
            raise ValueError(f"Invalid boundary argument: {boundary}. Valid options: 'unsafe', 'clamp'")
        if element_dim is not None and element_shape is not None and len(element_shape) != element_dim:
            raise ValueError(
                f"element_shape={element_shape} has {len(element_shape)} axes, element_dim is {element_dim}"
            )
        if element_shape is None and element_dim is not None:
            element_shape = () if element_dim == 0 else None
        self.dtype, self.ndim, self.needs_grad, self.boundary = dtype, ndim, needs_grad, boundary
        self.element_dim, self.element_shape, self.layout = element_dim, element_shape, Layout.AOS
        self.optional = False

    def __class_getitem__(cls, key: Any) -> "NdarrayType":
        dtype, ndim = key if isinstance(key, tuple) else (key, None)
        return cls(dtype, ndim)

    def __or__(self, other: Any) -> "NdarrayType":
        """`NDArray[...] | None`: the parameter takes None, too."""
        if other is not None:
            return NotImplemented
        result = copy.copy(self)
        result.optional = True
        return result

    __ror__ = __or__

    def __repr__(self) -> str:
        dtype = self.dtype.to_string() if hasattr(self.dtype, "to_string") else self.dtype
        return f"NdarrayType(dtype={dtype}, ndim={self.ndim}, layout={self.layout}, needs_grad={self.needs_grad})"


ndarray = NDArray = NdarrayType


def settled(annotation: Any) -> Any:
    """What `X | None` and `typing.Optional[X]` ask for. Templates and tensors take None anyway."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation
    parts = [p for p in typing.get_args(annotation) if p is not type(None)]
    if len(parts) != 1 or len(parts) == len(typing.get_args(annotation)):
        return annotation
    inner = parts[0]
    if inner is NdarrayType or isinstance(inner, NdarrayType):
        return (inner() if inner is NdarrayType else inner) | None
    if inner is Template or isinstance(inner, Template):
        return inner
    return inner if getattr(inner, "_takes_none", False) else annotation


class BufferViewType:
    """A parameter that takes a view of a part of an ndarray; `dtype` must match when given."""

    def __init__(self, dtype: Any = None, boundary: str = "unsafe") -> None:
        self.dtype, self.boundary = dtype, boundary

    def __class_getitem__(cls, dtype: Any) -> "BufferViewType":
        return cls(dtype)


class sparse_matrix_builder:  # noqa: N801 - the documented name
    """A parameter that takes a builder of sparse matrices: kernels that have one are not supported yet."""

"""Conversions between scalar types of the language, of NumPy and of PyTorch; the marks of what is ours."""

import importlib.util
import os
from collections.abc import Callable, MappingView
from typing import Any

import numpy as np

from quadrants import _native

DataType = _native.DataType
# Python's own things whose items are known at compile time.
ITERABLE = (list, tuple, range, dict, MappingView, zip, enumerate, map, filter, str, set, frozenset, np.ndarray)

ALL_TYPES: tuple[DataType, ...] = tuple(
    getattr(_native, name) for name in "f16 f32 f64 i8 i16 i32 i64 u1 u8 u16 u32 u64".split()
)
_NUMPY_NAMES = {"f": "float", "i": "int", "u": "uint"}


def _numpy_name(dtype: DataType) -> str:
    return "bool" if dtype.name == "u1" else _NUMPY_NAMES[dtype.name[0]] + dtype.name[1:]


_TO_NUMPY = {dtype.id: np.dtype(_numpy_name(dtype)) for dtype in ALL_TYPES}
_FROM_NUMPY = {_TO_NUMPY[dtype.id]: dtype for dtype in ALL_TYPES}


def numpy_dtype(dtype: DataType) -> np.dtype:
    """The `np.dtype` of a scalar type; u1 is `bool`."""
    return _TO_NUMPY[dtype.id]


def to_numpy_type(dtype: DataType) -> type:
    """The NumPy scalar class of a scalar type, such as `np.float32`."""
    return _TO_NUMPY[dtype.id].type


def has_pytorch() -> bool:
    """Whether PyTorch is installed, and not switched off by QD_ENABLE_TORCH=0. Does not import it."""
    return os.environ.get("QD_ENABLE_TORCH", "1") != "0" and importlib.util.find_spec("torch") is not None


def to_pytorch_type(dtype: DataType) -> Any:
    """The `torch.dtype` of a scalar type; RuntimeError when PyTorch has none. Imports PyTorch."""
    import torch

    found = getattr(torch, _numpy_name(dtype), None)
    if found is None:
        raise RuntimeError(f"PyTorch doesn't support {dtype.to_string()} data type.")
    return found


def to_quadrants_type(dtype: Any) -> DataType:
    """The scalar type of a NumPy or PyTorch dtype, or the type itself; TypeError when there is none."""
    if isinstance(dtype, DataType):
        return dtype
    text = str(dtype)
    try:
        return _FROM_NUMPY[np.dtype(text[6:] if text.startswith("torch.") else dtype)]
    except (TypeError, KeyError):
        raise TypeError(f"There is no scalar type for {dtype!r}") from None


def cook_dtype(dtype: Any) -> DataType:
    """A scalar type from what programs write: one of ours, or `int`, `float`, `bool`. ValueError for anything else."""
    if isinstance(dtype, DataType):
        return dtype
    from quadrants.lang.impl import get_runtime

    if dtype is float:
        return get_runtime().default_fp
    if dtype is int:
        return get_runtime().default_ip
    if dtype is bool:
        return _native.u1
    raise ValueError(f"Invalid data type {dtype}")


def hook(x, name: str):
    """An attribute by which the package marks what is its own; None for anything else. Objects of a program's classes
    are not asked: a `__getattr__` may answer anything."""
    return getattr(x, name, None) if type(x).__module__.partition(".")[0] in ("quadrants", "builtins") else None


def array_of(parts: list[Any]) -> np.ndarray:
    """`np.array(parts)`, but integers from 2**63 beside smaller ones are uint64: NumPy makes floats of them."""
    array = np.array(parts)
    if array.dtype.kind != "f" or any(isinstance(one, float) or np.asarray(one).dtype.kind == "f" for one in parts):
        return array
    return array if (array < 0).any() else np.array(parts, np.uint64)


def shown_as(name: str) -> Callable[[type], type]:
    """Class decorator: what Python's own messages call the objects of a class that programs never name."""

    def rename(cls: type) -> type:
        cls.__name__ = name
        return cls

    return rename

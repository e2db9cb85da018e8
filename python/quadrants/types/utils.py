"""Predicates over types."""

from typing import Any

from quadrants import _native


def _scalar(dtype: Any) -> Any:
    if isinstance(dtype, _native.DataType):
        return dtype
    from quadrants.lang.util import cook_dtype

    return cook_dtype(dtype)


def is_signed(dtype: Any) -> bool:
    """Whether a scalar type has negative values."""
    return _scalar(dtype).is_signed


def is_integral(dtype: Any) -> bool:
    """Whether a scalar type holds integers; u1 too."""
    return _scalar(dtype).is_integral


def is_real(dtype: Any) -> bool:
    """Whether a scalar type holds reals."""
    return _scalar(dtype).is_real


def is_tensor(dtype: Any) -> bool:
    """Whether a type is a vector or a matrix."""
    from quadrants.types.compound import MatrixType

    return isinstance(dtype, MatrixType)

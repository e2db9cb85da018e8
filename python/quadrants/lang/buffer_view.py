"""`qd.BufferView`: a part of a 1-D ndarray, as an argument of kernels. Made by slicing: `a[2:6]`."""

import operator
from typing import Any

from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.lang.ndarray import Ndarray
from quadrants.types.annotations import BufferViewType


class BufferView:
    """`size` elements of an ndarray from number `offset`; the memory is that of the ndarray.

    TypeError for anything but an ndarray of one axis, ValueError for one with gradients, or out of its range.
    As an annotation, `qd.BufferView` or `qd.BufferView[dtype]`.
    """

    def __init__(self, arr: Any, offset: int, size: int) -> None:
        if not isinstance(arr, Ndarray):
            raise TypeError(f"BufferView takes an ndarray, got {type(arr).__name__}")
        if len(arr.shape) != 1:
            raise TypeError(f"BufferView takes an ndarray of one dimension, got shape {arr.shape}")
        if arr.grad is not None:
            raise TypeError("BufferView takes no ndarray with gradients (needs_grad=True)")
        offset, size, length = operator.index(offset), operator.index(size), arr.shape[0]
        if offset < 0 or size < 0 or offset + size > length:
            raise ValueError(f"BufferView out of range: offset={offset}, size={size}, ndarray length={length}")
        self._arr, self.offset, self.size = arr, offset, size

    def __class_getitem__(cls, dtype: Any) -> BufferViewType:
        return BufferViewType(dtype)

    @property
    def shape(self) -> tuple[int]:
        """(size,)."""
        return (self.size,)

    def subview(self, offset: int, size: int) -> "BufferView":
        """A part of this part. ValueError when it is not inside."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise ValueError(f"BufferView out of range: offset={offset}, size={size}, view size={self.size}")
        return BufferView(self._arr, self.offset + offset, size)

    def get_ndarray(self) -> Ndarray:
        """The ndarray that this is a part of."""
        return self._arr

    def subscript(self, *indices: Any) -> Any:
        """Elements are read in kernels: QuadrantsSyntaxError."""
        raise QuadrantsSyntaxError("Elements of a BufferView can be used in kernels only")

    def __getitem__(self, key: Any) -> "BufferView":
        if not isinstance(key, slice):
            raise TypeError(f"BufferView host-side indexing requires a slice, got {type(key).__name__}")
        return self.subview(*_bounds(key, self.size))

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<qd.BufferView offset={self.offset} size={self.size}>"


def _bounds(key: slice, length: int) -> tuple[int, int]:
    """Offset and size of a slice."""
    if key.step not in (None, 1):
        raise ValueError(f"BufferView slice requires step=1, got step={key.step}")
    start, stop, _ = key.indices(length)
    return start, max(stop - start, 0)


def view_of(arr: Ndarray, key: slice) -> BufferView:
    """`arr[key]`."""
    arr._live()
    if len(arr.shape) != 1:
        raise TypeError(f"ndarray slice to BufferView requires a 1D array, got shape {arr.shape}")
    return BufferView(arr, *_bounds(key, arr.shape[0]))

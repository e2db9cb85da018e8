"""Copies between tensors and arrays of other libraries, under the names that programs call directly.

Each takes (source, destination) and, where elements are vectors or matrices, how they lie in the array: `as_vector` leaves
the second axis of a column out, `layout_is_aos` puts the axes of an element last (else first). Arrays are NumPy arrays or
PyTorch tensors on any device, of any strides; RuntimeError or ValueError for shapes that don't match.
"""

import sys
from typing import Any

import numpy as np


def _is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _give(source: np.ndarray, array: Any) -> None:
    if _is_torch(array):
        import torch

        array.detach().copy_(torch.from_numpy(np.ascontiguousarray(source)).reshape(array.shape))
    else:
        array[...] = source.reshape(array.shape)


def _take(array: Any) -> np.ndarray:
    return array.detach().cpu().numpy() if _is_torch(array) else np.asarray(array)


def _element_axes(tensor: Any) -> int:
    return len(tensor.element_shape)


def _first(values: np.ndarray, axes: int) -> np.ndarray:
    """The axes of an element moved to the front."""
    return np.moveaxis(values, range(values.ndim - axes, values.ndim), range(axes)) if axes else values


def _last(values: np.ndarray, axes: int) -> np.ndarray:
    return np.moveaxis(values, range(axes), range(values.ndim - axes, values.ndim)) if axes else values


def tensor_to_ext_arr(tensor: Any, arr: Any) -> None:
    """Copies a field of scalars into an array."""
    _give(tensor.to_numpy(), arr)


def matrix_to_ext_arr(mat: Any, arr: Any, as_vector: bool) -> None:
    """Copies a field of vectors or matrices into an array whose last axes are those of an element."""
    _give(mat.to_numpy(), arr)


def ndarray_to_ext_arr(ndarray: Any, arr: Any) -> None:
    """Copies an ndarray of scalars into an array."""
    _give(ndarray.to_numpy(), arr)


def ndarray_matrix_to_ext_arr(ndarray: Any, arr: Any, layout_is_aos: bool, as_vector: bool) -> None:
    """Copies an ndarray of vectors or matrices into an array."""
    values = ndarray.to_numpy()
    in_front = not layout_is_aos and tuple(arr.shape) != values.shape
    _give(_first(values, _element_axes(ndarray)) if in_front else values, arr)


def ext_arr_to_tensor(arr: Any, tensor: Any) -> None:
    """Copies an array into a field of scalars."""
    tensor.from_numpy(_take(arr))


def ext_arr_to_matrix(arr: Any, mat: Any, as_vector: bool) -> None:
    """Copies an array into a field of vectors or matrices."""
    mat.from_numpy(_take(arr).reshape(tuple(mat.shape) + tuple(mat.element_shape)))


def ext_arr_to_ndarray(arr: Any, ndarray: Any) -> None:
    """Copies an array into an ndarray of scalars."""
    ndarray.from_numpy(_take(arr))


def ext_arr_to_ndarray_matrix(arr: Any, ndarray: Any, layout_is_aos: bool, as_vector: bool) -> None:
    """Copies an array into an ndarray of vectors or matrices."""
    values, whole = _take(arr), tuple(ndarray.shape) + tuple(ndarray.element_shape)
    if not layout_is_aos and values.shape != whole:
        values = _last(values, _element_axes(ndarray))
    ndarray.from_numpy(values.reshape(whole))


def fill_field(field: Any, val: Any) -> None:
    """Sets every element of a field."""
    field.fill(val)


def fill_ndarray(ndarray: Any, val: Any) -> None:
    """Sets every element of an ndarray."""
    ndarray.fill(val)


def tensor_to_tensor(dst: Any, src: Any) -> None:
    """Copies a field into another of the same shape."""
    dst.copy_from(src)


def ndarray_to_ndarray(ndarray: Any, other: Any) -> None:
    """Copies the ndarray `other` into the first."""
    ndarray.copy_from(other)

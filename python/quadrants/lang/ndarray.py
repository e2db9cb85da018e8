"""Ndarrays: dense tensors that are passed to kernels as arguments, of scalars, vectors or matrices.

The native base holds what a launch needs (address, extents, kind), so that a repeated call runs no Python code; this
class adds host access and conversions. Elements lie in row-major order, components of an element side by side.
"""

import math
import operator
from typing import Any

import numpy as np

from quadrants import _native
from quadrants._lib.core import Layout
from quadrants.lang import host
from quadrants.lang.exception import QuadrantsIndexError, QuadrantsRuntimeError
from quadrants.lang.impl import allocate, get_runtime
from quadrants.lang.util import cook_dtype
from quadrants.types.compound import MatrixType

PICKLE_VERSION = 1


class NdarrayTypeMetadata:
    """What `Ndarray.get_type` tells: element type, shape and whether gradients are kept."""

    def __init__(self, element_type: Any, shape: tuple[int, ...], needs_grad: bool) -> None:
        self.element_type, self.shape, self.needs_grad, self.layout = element_type, shape, needs_grad, Layout.AOS

    def __repr__(self) -> str:
        return f"NdarrayTypeMetadata({self.element_type}, {self.shape}, needs_grad={self.needs_grad})"


class Ndarray(_native.NdarrayBase):
    """Common to all ndarrays. `dtype` is the scalar type, `element_type` that of elements, `grad` another or None."""

    def __init__(self, dtype: Any, shape: tuple[int, ...], element_shape: tuple[int, ...], needs_grad: bool) -> None:
        runtime = get_runtime()
        extents = shape + element_shape
        buffer = allocate(math.prod(extents) * dtype.size, f"an ndarray of shape {shape}")
        super().__init__(buffer, dtype, shape, element_shape, needs_grad)
        self.buffer: Any = buffer
        self.dtype: Any = dtype
        self._shape: tuple[int, ...] | None = shape
        self._element_shape = element_shape
        self.element_type: Any = _element_type(dtype, element_shape)
        strides = tuple(math.prod(extents[axis + 1 :]) for axis in range(len(extents)))
        self._elements: host.Elements | None = host.Elements(buffer, dtype, extents, strides, 0)
        self.grad: Ndarray | None = _make(dtype, shape, element_shape, False) if needs_grad else None
        runtime.ndarrays.add(self)

    def _forget(self) -> None:
        """At reset: the memory belongs to a runtime that is gone, and no call takes the array any more."""
        self._release()
        self.buffer = self.dtype = self.element_type = self._shape = self._elements = self.grad = None

    def _live(self) -> host.Elements:
        get_runtime().require_context()
        if self._elements is None:
            raise QuadrantsRuntimeError(f"{self!r} belongs to a runtime that was reset; make it again after qd.init")
        return self._elements

    @property
    def shape(self) -> Any:
        """Length of each axis; None after a reset."""
        return self._shape

    @property
    def element_shape(self) -> tuple[int, ...]:
        """() for numbers, (n,) for vectors, (n, m) for matrices."""
        return self._element_shape

    @property
    def layout(self) -> Layout | None:
        """AOS for vectors and matrices, None for scalars."""
        return Layout.AOS if self._element_shape else None

    def get_type(self) -> NdarrayTypeMetadata:
        """Element type, shape and gradients in one object."""
        return NdarrayTypeMetadata(self.element_type, self.shape, self.grad is not None)

    def has_grad(self) -> bool:
        """Whether there is storage for gradients."""
        return self.grad is not None

    def has_dual(self) -> bool:
        """Always False: forward gradients are not supported yet."""
        return False

    def _index(self, key: Any) -> tuple[int, ...]:
        key = () if key is None else key if isinstance(key, tuple) else tuple(key) if isinstance(key, list) else (key,)
        if len(key) == 1 and key[0] is None:
            key = ()
        shape = self._live().shape[: len(self._shape or ())]
        if len(key) != len(shape):
            raise QuadrantsIndexError(f"{len(shape)}d ndarray indexed with {len(key)}d indices: {key}")
        index = tuple(map(operator.index, key))
        if not all(0 <= one < extent for one, extent in zip(index, shape)):
            raise QuadrantsIndexError(f"ndarray of shape {shape} indexed with {key}")
        return index

    def fill(self, val: Any) -> None:
        """Sets every element to a number, or every component to that of a vector or matrix; AssertionError for another
        shape of it."""
        if not hasattr(val, "__len__"):
            self._live().fill(val)
            return
        from quadrants.lang.matrix import Matrix

        entries = (val if isinstance(val, Matrix) else Matrix(val)).to_numpy()
        if entries.shape != self._element_shape:
            raise AssertionError(f"fill: expected entries of shape {self._element_shape}, got {entries.shape}")
        self._live().store(entries)

    def copy_from(self, other: "Ndarray") -> None:
        """Copies the elements of an ndarray of the same shape; they are cast. AssertionError for anything else."""
        if not isinstance(other, Ndarray):
            raise AssertionError(f"copy_from takes an ndarray, got {type(other).__name__}")
        mine, theirs = self._live(), other._live()
        if mine.shape != theirs.shape:
            raise AssertionError(f"copy_from shape mismatch: destination {mine.shape} vs source {theirs.shape}")
        mine.store(host.exported(theirs, None, None, "an ndarray"))

    def to_dlpack(self, versioned: bool = False) -> Any:
        """A DLPack capsule over the array's memory, on whatever device that is. ValueError where there can't be one."""
        return host.dlpack(self._live(), "an ndarray", (1, 0) if versioned else None)

    def __dlpack__(self, **options: Any) -> Any:
        return host.dlpack(self._live(), "an ndarray", **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return host.dlpack_device()

    def __deepcopy__(self, memo: Any) -> "Ndarray":
        elements = self._live()
        twin = _make(self.dtype, self.shape, self._element_shape, self.grad is not None)
        twin._live().store(elements.load())
        if self.grad is not None and twin.grad is not None:
            twin.grad._live().store(self.grad._live().load())
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        data = self._live().load()
        return _rebuild, (PICKLE_VERSION, self.dtype.name, self.shape, self._element_shape, data)


class _Convertible(Ndarray):
    """Conversions, kept off `Ndarray` itself because programs see its attributes."""

    def to_numpy(self, dtype: Any = None, *, copy: bool | None = True) -> np.ndarray:
        """The elements as an array of `shape + element_shape`.

        `copy=True` copies, `False` gives a view of the memory or ValueError, `None` a view where there can be one.
        """
        return host.exported(self._live(), dtype, copy, "an ndarray")

    def from_numpy(self, arr: np.ndarray) -> None:
        """Sets every element from an array of shape `shape + element_shape`; elements are cast."""
        if not isinstance(arr, np.ndarray):
            raise TypeError(f"{np.ndarray} expected, but {type(arr)} provided")
        elements = self._live()
        if arr.shape != elements.shape:
            raise ValueError(f"Mismatch shape: {elements.shape} expected, but {arr.shape} provided")
        elements.store(arr)

    def to_torch(self, device: Any = None, *, copy: bool | None = True) -> Any:
        """As `to_numpy`, as a tensor: a view lies where the array's memory is, a copy on `device` or the host."""
        return host.to_torch(self._live(), device, copy, "an ndarray", lambda copy: self.to_numpy(copy=copy))

    def from_torch(self, arr: Any) -> None:
        """As `from_numpy`, from a tensor."""
        found = host.from_torch(self._live(), arr, "an ndarray")
        if found is not None:
            self.from_numpy(found)


class ScalarNdarray(_Convertible):
    """An ndarray of numbers: `a[i, j]`."""

    def __init__(self, dtype: Any, arr_shape: Any, needs_grad: bool = False) -> None:
        super().__init__(_dtype(dtype), _shape(arr_shape), (), needs_grad)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _view(self, key)
        return self._live().read(self._index(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._live().write(self._index(key), value)

    def __repr__(self) -> str:
        return "<qd.ndarray>"


class _MatrixElements(_Convertible):
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _view(self, key)
        from quadrants.lang.matrix import element_value

        return element_value(self._live(), self._index(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key]._assign(..., value)


class VectorNdarray(_MatrixElements):
    """An ndarray of vectors; `a[i]` is a value over the element's memory."""

    def __init__(self, n: int, dtype: Any, shape: Any, needs_grad: bool = False) -> None:
        super().__init__(_dtype(dtype), _shape(shape), (operator.index(n),), needs_grad)
        self.n = n

    def __repr__(self) -> str:
        return f"<{self.n} Layout.AOS qd.Vector.ndarray>"


class MatrixNdarray(_MatrixElements):
    """An ndarray of matrices; `a[i]` is a value over the element's memory."""

    def __init__(self, n: int, m: int, dtype: Any, shape: Any, needs_grad: bool = False) -> None:
        super().__init__(_dtype(dtype), _shape(shape), (operator.index(n), operator.index(m)), needs_grad)
        self.n, self.m = n, m

    def __repr__(self) -> str:
        return f"<{self.n}x{self.m} Layout.AOS qd.Matrix.ndarray>"


def _view(array: Ndarray, key: slice) -> Any:
    """`a[lo:hi]`: a BufferView."""
    from quadrants.lang.buffer_view import view_of

    return view_of(array, key)


def _dtype(dtype: Any) -> Any:
    try:
        return cook_dtype(dtype)
    except ValueError:
        raise QuadrantsRuntimeError(f"{dtype} is not supported as ndarray element type") from None


def _shape(shape: Any) -> tuple[int, ...]:
    given = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    if not all(hasattr(type(dim), "__index__") and 1 <= operator.index(dim) < 1 << 31 for dim in given):
        raise QuadrantsRuntimeError(f"{given} is not a valid shape for ndarray")
    return tuple(map(operator.index, given))


def _element_type(dtype: Any, element_shape: tuple[int, ...]) -> Any:
    if not element_shape:
        return dtype
    from quadrants.types.compound import matrix, vector

    return (
        vector(element_shape[0], dtype)
        if len(element_shape) == 1
        else matrix(element_shape[0], element_shape[1], dtype)
    )


def _make(dtype: Any, shape: Any, element_shape: tuple[int, ...], needs_grad: bool) -> Ndarray:
    if not element_shape:
        return ScalarNdarray(dtype, shape, needs_grad)
    maker: Any = VectorNdarray if len(element_shape) == 1 else MatrixNdarray
    return maker(*element_shape, dtype, shape, needs_grad)


def _rebuild(version: int, dtype: str, shape: Any, element_shape: Any, data: np.ndarray) -> Ndarray:
    """Makes an ndarray again from its pickle; needs `init`."""
    if version != PICKLE_VERSION:
        raise QuadrantsRuntimeError(
            f"cannot load an ndarray of pickle format {version}: this version reads {PICKLE_VERSION}"
        )
    array = _make(getattr(_native, dtype), shape, element_shape, False)
    array._live().store(data)
    return array


def create_ndarray(dtype: Any, shape: Any, element_shape: tuple[int, ...], needs_grad: bool) -> Ndarray:
    """An ndarray with elements of `element_shape`; QuadrantsRuntimeError for a bad type or shape."""
    dtype = _dtype(dtype)
    if needs_grad and not dtype.is_real:
        raise QuadrantsRuntimeError(
            f"{dtype.name} is not supported for ndarray with `needs_grad=True` or `needs_dual=True`."
        )
    return _make(dtype, shape, element_shape, needs_grad)


def ndarray(dtype: Any, shape: Any, needs_grad: bool = False) -> Ndarray:
    """An ndarray of scalars, or of vectors or matrices when `dtype` is such a type; zeroed.

    `shape` has lengths from 1 to 2^31-1, or is () for a single element. Needs `init`.
    """
    if isinstance(dtype, MatrixType):
        return create_ndarray(dtype.dtype, shape, dtype.whole_shape(), needs_grad)
    return create_ndarray(dtype, shape, (), needs_grad)

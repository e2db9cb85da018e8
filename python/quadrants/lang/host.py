"""Host access to device memory: the elements of a field or ndarray as a NumPy array, or by copies.

An `Elements` object knows the buffer of one tensor and how its elements lie in it. Where the buffer is mapped for the
host, `array` is a NumPy view and everything goes through it; elsewhere `array` is None and reads and writes are copies.
Values keep the precision of the element type both ways.
"""

import math
import operator
from typing import Any
from weakref import ref

import numpy as np

from quadrants import _native
from quadrants.lang.impl import get_runtime
from quadrants.lang.util import numpy_dtype

_INTEGERS = (int, np.integer, np.bool_)
_NUMBERS = (int, float, np.number, np.bool_)


def number_for(value: Any, dtype: _native.DataType) -> Any:
    """The NumPy scalar that storing a number gives: integers wrap as casts in kernels do, u1 is "not zero".

    TypeError for anything but a number, and for a real number where the type holds integers.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if dtype.is_real:
        if not isinstance(value, _NUMBERS):
            raise TypeError(f"expected a number for an element of {dtype.name}, got {type(value).__name__}")
        with np.errstate(over="ignore"):
            return numpy_dtype(dtype).type(value)
    if not isinstance(value, _INTEGERS):
        raise TypeError(f"expected an integer for an element of {dtype.name}, got {type(value).__name__}")
    if dtype.name == "u1":
        return np.bool_(value != 0)
    bits = 8 * dtype.size
    wrapped = int(value) & ((1 << bits) - 1)
    if dtype.is_signed and wrapped >> (bits - 1):
        wrapped -= 1 << bits
    return numpy_dtype(dtype).type(wrapped)


def python_number(value: Any) -> Any:
    """A Python int or float of a NumPy scalar, exactly; truth values become 0 and 1."""
    number = value.item()
    return int(number) if number is True or number is False else number


def cast_array(source: np.ndarray, dtype: _native.DataType) -> np.ndarray:
    """An array with the elements cast as kernels cast: integers wrap, u1 is "not zero". A copy only when needed."""
    if dtype.name == "u1":
        return source != 0 if source.dtype != np.bool_ else source
    with np.errstate(over="ignore", invalid="ignore"):
        return source.astype(numpy_dtype(dtype), copy=False)


class Elements:
    """The elements of one tensor in a buffer. `strides` and `base` count elements, not bytes."""

    __slots__ = ("array", "base", "buffer", "dtype", "shape", "shared", "strides")

    def __init__(
        self, buffer: Any, dtype: _native.DataType, shape: tuple[int, ...], strides: tuple[int, ...], base: int
    ) -> None:
        self.buffer, self.dtype, self.shape, self.strides, self.base = buffer, dtype, shape, strides, base
        self.shared = False
        try:
            self.array = self._over(memoryview(buffer))
        except (TypeError, ValueError, BufferError):
            self.array = None  # the buffer is not mapped for the host

    def _over(self, memory: Any) -> np.ndarray:
        size = self.dtype.size
        strides = tuple(stride * size for stride in self.strides)
        return np.ndarray(self.shape, numpy_dtype(self.dtype), memory, self.base * size, strides)

    def _staged(self) -> np.ndarray:
        """A host copy of the whole buffer, seen as the elements."""
        memory = bytearray(self.buffer.size)
        self.buffer.copy_out(0, memory)
        return self._over(memory)

    def _contiguous(self) -> bool:
        """The elements lie one behind the other, the last axis fastest, and there are some."""
        step = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return step > 0

    def read(self, index: tuple[int, ...]) -> Any:
        """One scalar as a Python number. `index` is in range."""
        get_runtime().require_context().sync()
        if self.array is not None:
            return python_number(self.array[index])
        memory = bytearray(self.dtype.size)
        self.buffer.copy_out(self._offset(index), memory)
        return python_number(np.frombuffer(memory, numpy_dtype(self.dtype))[0])

    def write(self, index: tuple[int, ...], value: Any) -> None:
        """Stores one number. `index` is in range."""
        number = number_for(value, self.dtype)
        get_runtime().require_context().sync()
        if self.array is not None:
            self.array[index] = number
        else:
            self.buffer.copy_in(self._offset(index), number.tobytes())

    def _offset(self, index: tuple[int, ...]) -> int:
        return self.dtype.size * (self.base + sum(map(operator.mul, index, self.strides)))

    def part(self, index: tuple[int, ...]) -> np.ndarray:
        """The elements under the leading indices: a view where memory is mapped, else a copy."""
        get_runtime().require_context().sync()
        return self._view()[index] if self.array is not None else self._staged()[index]

    def _view(self) -> np.ndarray:
        """All elements, for the program to keep: the runtime's memory stays mapped as long as it is held."""
        if not self.shared:
            self.shared = True
            get_runtime().shared.append(ref(self.array))
        return self.array.view()

    def load(self) -> np.ndarray:
        """A copy of all elements, C-contiguous."""
        get_runtime().require_context().sync()
        if self.array is None and self._contiguous():
            out = np.empty(self.shape, numpy_dtype(self.dtype))
            self.buffer.copy_out(self.base * self.dtype.size, out)
            return out
        return np.array(self.array if self.array is not None else self._staged(), order="C")

    def view(self) -> np.ndarray | None:
        """All elements without a copy, or None where memory is not mapped."""
        get_runtime().require_context().sync()
        return self._view() if self.array is not None else None

    def store(self, source: np.ndarray) -> None:
        """Writes all elements; `source` broadcasts to the shape and is cast as kernels cast."""
        source = cast_array(source, self.dtype)
        get_runtime().require_context().sync()
        if self.array is not None:
            self.array[...] = source
            return
        if self._contiguous():
            whole = np.ascontiguousarray(np.broadcast_to(source, self.shape), numpy_dtype(self.dtype))
            self.buffer.copy_in(self.base * self.dtype.size, whole)
            return
        staged = self._staged()
        staged[...] = source
        self.buffer.copy_in(0, staged.base)

    def fill(self, value: Any) -> None:
        """Sets all scalars to one number; the buffer's other scalars, if it has any, stay."""
        if isinstance(value, (float, np.floating)) and not self.dtype.is_real:
            value = int(value)
        number = number_for(value, self.dtype)
        if math.prod(self.shape) * self.dtype.size != self.buffer.size:
            self.store(np.full((), number))
            return
        pattern = int.from_bytes(number.tobytes(), "little")
        get_runtime().require_context().sync()
        self.buffer.fill(0, self.buffer.size, pattern, self.dtype.size)


def exported(elements: Elements, dtype: Any, copy: bool | None, what: str) -> np.ndarray:
    """`to_numpy` for fields and ndarrays: a copy (True), a view (False), or a view where there can be one (None).

    ValueError when `copy=False` and memory is not mapped, the element type would change, or there is only one scalar.
    """
    if isinstance(dtype, _native.DataType):
        dtype = numpy_dtype(dtype)
    own = numpy_dtype(elements.dtype)
    wanted = own if dtype is None else np.dtype(dtype)
    if copy is False and wanted != own:
        raise ValueError(f"copy=False is incompatible with dtype conversion ({own} -> {wanted})")
    if copy is not True and wanted == own:
        view = elements.view() if elements.shape else None
        if view is not None:
            return view
        if copy is False:
            reason = "memory is not mapped for the host" if elements.shape else "it is a single scalar"
            raise ValueError(f"Zero-copy not available for {what} of {elements.dtype.name}: {reason}. Use copy=True.")
    loaded = elements.load()
    return loaded if wanted == own else loaded.astype(wanted)


def to_torch(array: np.ndarray, device: Any) -> Any:
    """A tensor over the same memory when `device` is None or the CPU, else a copy there. Imports PyTorch."""
    import torch

    tensor = torch.from_numpy(array)
    return tensor if device is None else tensor.to(device)


def from_torch(tensor: Any) -> np.ndarray:
    """The elements of a tensor on the host."""
    return tensor.detach().cpu().contiguous().numpy()


DLPACK_DEVICE = (1, 0)  # kDLCPU: exported memory is mapped for the host


def dlpack(array: np.ndarray, versioned: bool) -> Any:
    """A DLPack capsule over the memory of a view; `versioned` asks for the 1.x form."""
    if versioned:
        return array.__dlpack__(max_version=(1, 0))
    return array.__dlpack__()

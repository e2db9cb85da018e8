"""Host access to device memory: the elements of a field or ndarray as a NumPy array, or by copies.

An `Elements` object knows the buffer of one tensor and how its elements lie in it. Where the buffer is mapped for the
host, `array` is a NumPy view and everything goes through it; elsewhere `array` is None and reads and writes are copies.
Values keep the precision of the element type both ways.
"""

import math
import operator
import sys
from typing import Any
from weakref import ref

import numpy as np

from quadrants import _native
from quadrants.lang.impl import get_runtime
from quadrants.lang.util import numpy_dtype

_INTEGERS = (int, np.integer, np.bool_)
_NUMBERS = (int, float, np.number, np.bool_)
_SPARSE = 64  # scalars of a span read for each that is wanted; above that they are read one by one


def number_for(value: Any, dtype: _native.DataType) -> Any:
    """The NumPy scalar that storing a number gives: integers wrap as casts in kernels do, u1 is "not zero".

    TypeError for anything but a number, and for a Python float where the type holds integers: real numbers of NumPy
    are truncated there.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if dtype.is_real:
        if not isinstance(value, _NUMBERS):
            raise TypeError(f"expected a number for an element of {dtype.name}, got {type(value).__name__}")
        with np.errstate(over="ignore"):
            return numpy_dtype(dtype).type(value)
    if isinstance(value, np.floating) and not isinstance(value, float) and np.isfinite(value):
        value = int(value)
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
    """An array with the elements cast as kernels cast: integers wrap, reals saturate as integers (NaN is 0), u1 is
    "not zero". A copy only when needed."""
    if dtype.name == "u1":
        return source != 0 if source.dtype != np.bool_ else source
    to = numpy_dtype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        cast = source.astype(to, copy=False)
        if source.dtype.kind != "f" or cast.dtype.kind == "f":
            return cast
        low, high = np.iinfo(to).min, np.iinfo(to).max  # as reals: the lowest, and the first that is too large
        cast = np.where(source >= float(high) + (high < 2**53), high, np.where(source > float(low), cast, low))
        return np.where(np.isnan(source), 0, cast).astype(to, copy=False)


class Elements:
    """The elements of one tensor in a buffer. `strides` and `base` count elements, not bytes."""

    __slots__ = ("array", "base", "buffer", "dtype", "shape", "shared", "strides")

    def __init__(
        self, buffer: Any, dtype: _native.DataType, shape: tuple[int, ...], strides: tuple[int, ...], base: int
    ) -> None:
        self.buffer, self.dtype, self.shape, self.strides, self.base = buffer, dtype, shape, strides, base
        self.shared = False
        try:
            self.array: Any = self._over(memoryview(buffer))
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
        """In bytes, of the element at the leading indices."""
        return self.dtype.size * (self.base + sum(map(operator.mul, index, self.strides)))

    def part(self, index: tuple[int, ...]) -> np.ndarray:
        """The elements under the leading indices: a view where memory is mapped, else a copy."""
        get_runtime().require_context().sync()
        if self.array is not None:
            return self._view()[index]
        shape, strides, size = self.shape[len(index) :], self.strides[len(index) :], self.dtype.size
        span = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
        if span > _SPARSE * math.prod(shape):
            each = [self.read(index + inner) for inner in np.ndindex(shape)]
            return np.array(each, numpy_dtype(self.dtype)).reshape(shape)
        memory = bytearray(span * size)
        self.buffer.copy_out(self._offset(index), memory)
        return np.ndarray(shape, numpy_dtype(self.dtype), memory, 0, tuple(stride * size for stride in strides))

    def write_part(self, index: tuple[int, ...], array: np.ndarray) -> None:
        """Stores the elements under the leading indices, where memory is not mapped."""
        shape, strides = self.shape[len(index) :], self.strides[len(index) :]
        if strides == tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape))):
            get_runtime().require_context().sync()
            self.buffer.copy_in(self._offset(index), np.ascontiguousarray(array))
            return
        for inner in np.ndindex(shape):
            self.write(index + inner, array[inner])

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
            raise _unavailable(elements, what, reason)
    loaded = elements.load()
    return loaded if wanted == own else loaded.astype(wanted)


# -- PyTorch and DLPack. Where memory is mapped for the host, NumPy exports it. Elsewhere we do, on the first device of
# its kind; the runtime's usual stream is in the order of that driver's default stream, so that a tensor over our memory
# and kernels see each other's results without a wait of the host.
_DEVICES = {"cuda": 2}  # DLPack's device types


def dlpack_device() -> tuple[int, int]:
    """DLPack's (type, number) of the memory that the runtime's fields and ndarrays lie in."""
    return _DEVICES.get(get_runtime().require_context().arch, 1), 0


class _Lent:
    """Lives as long as a capsule over device memory, or the array that somebody made of it."""

    __slots__ = ("__weakref__",)


def _unavailable(elements: Elements, what: str, reason: str) -> ValueError:
    return ValueError(f"Zero-copy not available for {what} of {elements.dtype.name}: {reason}. Use copy=True.")


def dlpack(
    elements: Elements,
    what: str,
    max_version: tuple[int, int] | None = None,
    stream: int | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule over the memory of a field or ndarray, as `__dlpack__` gives it. ValueError where there can't be
    one, BufferError for a copy or another device."""
    options: dict[str, Any] = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
    if elements.array is not None:
        given = {name: value for name, value in options.items() if value is not None}
        return exported(elements, None, False, what).__dlpack__(stream=stream, **given)
    device = dlpack_device()
    if device[0] == 1:
        raise _unavailable(elements, what, "memory is not mapped for the host")
    if not elements.shape:
        raise _unavailable(elements, what, "it is a single scalar")
    if copy or (dl_device is not None and tuple(map(int, dl_device)) != device):
        raise BufferError(f"{what} is exported as it lies, on DLPack device {device}: copy it afterwards")
    context = get_runtime().require_context()
    if stream != -1:  # None: the driver's default stream
        _native.before_native(context, stream or 1)
    lent = _Lent()
    get_runtime().shared.append(ref(lent))
    versioned = max_version is not None and max_version[0] >= 1
    offset = elements.base * elements.dtype.size
    return _native.dlpack(
        elements.buffer, offset, elements.dtype, elements.shape, elements.strides, device[0], versioned, lent
    )


def _tensor_over(elements: Elements, what: str) -> Any:
    """A tensor over the device memory of a field or ndarray."""
    import torch

    stream = torch.cuda.current_stream().cuda_stream
    return torch.from_dlpack(dlpack(elements, what, (1, 0), stream))


def to_torch(elements: Elements, device: Any, copy: bool | None, what: str, export: Any) -> Any:
    """`to_torch` for fields and ndarrays. `export(copy)` gives the NumPy array where memory is the host's.

    Views lie where the memory is; a copy without a `device` lies on the host. Imports PyTorch.
    """
    import torch

    on_device = elements.array is None and dlpack_device()[0] != 1
    if on_device and copy is not True and elements.shape:
        tensor = _tensor_over(elements, what)
    elif on_device and device is not None and torch.device(device).type == "cuda" and elements.shape:
        tensor = _tensor_over(elements, what).clone()
    else:
        tensor = torch.from_numpy(export(copy))
    return tensor if device is None else tensor.to(device)


def from_torch(elements: Elements, tensor: Any, what: str) -> np.ndarray | None:
    """The elements of a tensor on the host; None when they were copied on the device already."""
    plain = tensor.detach()
    if plain.device.type == "cuda" and elements.array is None and elements.shape:
        same = tuple(plain.shape) == elements.shape and dlpack_device()[0] == 2 and (plain.device.index or 0) == 0
        if same and str(plain.dtype) == f"torch.{numpy_dtype(elements.dtype).name}":
            stream = sys.modules["torch"].cuda.current_stream().cuda_stream
            _tensor_over(elements, what).copy_(plain)
            _native.after_native(get_runtime().require_context(), stream)
            return None
    return plain.cpu().contiguous().numpy()

"""Arrays of other libraries as kernel arguments: PyTorch tensors, and whatever speaks DLPack, `__array_interface__` or
`__cuda_array_interface__`.

Memory of the host becomes a NumPy array, memory of the runtime's own device a native DeviceArray, and the call is made
with that: nothing is copied. PyTorch tensors elsewhere are copied to the host and back; others are refused. Work that
the other library has started on its stream is waited for by ours, and its later work waits for the kernel: the host
waits for neither. None of this costs anything for ndarrays and NumPy arrays: they never get here.
"""

import copy
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quadrants import _native
from quadrants._native import NdarrayBase
from quadrants.lang import host
from quadrants.lang.exception import QuadrantsRuntimeTypeError
from quadrants.lang.field import Field
from quadrants.lang.frontend import bundles
from quadrants.lang.frontend.arguments import is_tensor
from quadrants.lang.impl import get_runtime
from quadrants.lang.tensor import Tensor
from quadrants.lang.util import to_quadrants_type
from quadrants.types.annotations import NdarrayType

_Found = tuple[Any, Callable[[], None] | None]

_OURS = (np.ndarray, NdarrayBase, _native.DeviceArray, Field, Tensor, int, float)  # what kernels take as it is
_HOST = (1, 3, 11)  # DLPack's kDLCPU, kDLCUDAHost, kDLROCMHost


def _takes_arrays(annotation: Any) -> bool:
    return annotation is NdarrayType or isinstance(annotation, NdarrayType) or is_tensor(annotation)


def _on_device(number: int, index: int) -> bool:
    """Whether memory of that DLPack device is the runtime's own: the first device of its kind."""
    return number == host.dlpack_device()[0] != _HOST[0] and index == 0


def _ordered(stream: int) -> Callable[[], None]:
    """Makes our stream wait for another library's; the answer makes that one wait for ours."""
    context = get_runtime().require_context()
    _native.after_native(context, stream)
    return lambda: _native.before_native(context, stream)


_dtypes: dict[Any, Any] = {}  # of dtype objects met, which are few


def _dtype(found: Any) -> Any:
    """The scalar type of a NumPy or PyTorch dtype; None when there is none: the front end says which argument it is."""
    try:
        return _dtypes[found]
    except KeyError:
        pass
    try:
        _dtypes[found] = to_quadrants_type(found) if getattr(found, "isnative", True) else None
    except TypeError:
        _dtypes[found] = None
    return _dtypes[found]


class _Where:
    """Names an argument in an error; made into text only then."""

    __slots__ = ("kernel", "name")

    def __init__(self, kernel: Any, name: str) -> None:
        self.kernel, self.name = kernel, name

    def __str__(self) -> str:
        return f'argument "{self.name}" of kernel "{self.kernel.name}"'


def _of_torch(tensor: Any, where: Any) -> _Found:
    if not tensor.is_contiguous():
        raise ValueError(
            "Non contiguous tensors are not supported, please call tensor.contiguous() before passing it into "
            f"quadrants kernel: {where}"
        )
    plain = tensor.detach()
    if plain.device.type == "cuda" and _on_device(2, getattr(plain.device, "index", None) or 0):
        back = _ordered(sys.modules["torch"].cuda.current_stream(plain.device).cuda_stream)
        shape = tuple(plain.shape)
        return _native.device_array(plain.data_ptr(), _dtype(plain.dtype), shape, False, True, plain), back
    here = plain.device.type == "cpu"
    copied = plain if here else plain.cpu()
    try:
        array = copied.numpy()
    except TypeError:
        raise QuadrantsRuntimeTypeError(f"{where}: no element type of ours is {tensor.dtype}") from None
    return array, None if here else lambda: plain.copy_(copied) and None


def _packed(shape: tuple[int, ...], strides: tuple[int, ...] | None, size: int) -> bool:
    if strides is None or 0 in shape:
        return True
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != size:
            return False
        size *= extent
    return True


def _of_cuda_interface(value: Any, found: dict[str, Any]) -> _Found:
    """`found` is its `__cuda_array_interface__`, version 3: without a stream, what it needs is done or in the default
    stream's order, where ours is too."""
    stream, shape, kind = found.get("stream") or 1, tuple(found["shape"]), np.dtype(found["typestr"])
    address, readonly = found["data"]
    dtype = _dtype(kind)
    packed = _packed(shape, found.get("strides"), kind.itemsize)
    return _native.device_array(address or 0, dtype, shape, readonly, packed, value), _ordered(stream)


def _of_dlpack(value: Any, where: Any) -> _Found:
    device = tuple(map(int, value.__dlpack_device__()))
    try:
        if device[0] in _HOST:
            return np.from_dlpack(value), None
        if _on_device(*device):
            return _of_device_capsule(value)
    except (BufferError, RuntimeError, TypeError) as error:
        raise QuadrantsRuntimeTypeError(f"{where} cannot be shared through DLPack: {error}") from error
    raise QuadrantsRuntimeTypeError(
        f"{where} lies on another device (DLPack device {device}), expected memory of the host"
        f"{' or of ' + str(host.dlpack_device()) if host.dlpack_device()[0] != _HOST[0] else ''}: copy it there first"
    )


def _of_device_capsule(value: Any) -> _Found:
    """The exporter makes our stream wait for what it has started; its later work is on streams that nobody names, so
    the host waits for the kernel."""
    context = get_runtime().require_context()
    stream = _native.native_stream(context)
    try:
        capsule = value.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # before DLPack 1.0
        capsule = value.__dlpack__(stream=stream)
    return _native.device_array_of(capsule, *host.dlpack_device()), context.sync


def adopt(value: Any, where: Any) -> _Found | None:
    """An array over the memory of a foreign one, and what to do when the kernel is launched; None for what isn't one.

    A read-only exporter gives a read-only array, and so does DLPack's unversioned form, which can't say.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        return _of_torch(value, where)
    kind = type(value)
    if hasattr(kind, "__cuda_array_interface__") and _on_device(2, 0):
        described = getattr(value, "__cuda_array_interface__", None)  # JAX's is there for memory of a GPU only
        if described is not None and (described.get("version", 0) >= 3 or not hasattr(kind, "__dlpack__")):
            return _of_cuda_interface(value, described)
    if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__"):
        return _of_dlpack(value, where)
    if hasattr(value, "__array_interface__") and not isinstance(
        value, np.generic
    ):  # a NumPy scalar has no memory to share
        return np.asarray(value), None
    return None


def _replaced(value: Any, annotation: Any, is_bundle: bool, where: Any, after: list[Callable[[], None]]) -> Any:
    """What is passed for an argument or member: the value itself when nothing in it is foreign."""
    if is_bundle:
        return _members(value, where, after)
    adoption = adopt(value, where) if _takes_arrays(annotation) else None
    if adoption is None:
        return value
    after.extend(filter(None, adoption[1:]))
    return adoption[0]


def _members(obj: Any, where: Any, after: list[Callable[[], None]]) -> Any:
    """A dataclass object with foreign members replaced: the object itself when it has none, else a copy."""
    twin = obj
    for name, annotation in bundles.annotations_of(type(obj)).items():
        value = getattr(obj, name, None)
        if isinstance(value, _OURS) or value is None:
            continue
        found = _replaced(value, annotation, bundles.is_bundle(type(value)), f'member "{name}" of {where}', after)
        if found is not value:
            twin = copy.copy(obj) if twin is obj else twin
            object.__setattr__(twin, name, found)  # the class may be frozen
    return twin


def adopted(kernel: Any, values: Sequence[Any]) -> tuple[list[Any], list[Callable[[], None]]] | None:
    """The arguments of a call with foreign arrays replaced, and what to do afterwards; None when there are none."""
    out: list[Any] | None = None
    after: list[Callable[[], None]] = []
    for k, (annotation, value) in enumerate(zip(kernel.signature.types, values)):
        if isinstance(value, _OURS):
            continue
        where = _Where(kernel, kernel.signature.names[k])
        is_bundle = bundles.is_bundle(annotation) and isinstance(value, annotation)
        found = _replaced(value, annotation, is_bundle, where, after)
        if found is not value:
            out = list(values) if out is None else out
            out[k] = found
    return None if out is None else (out, after)


def call(kernel: Any, values: list[Any], after: list[Callable[[], None]]) -> Any:
    """Makes the call with adopted arrays; what was copied to the host goes back, what was ordered is ordered again."""
    try:
        return kernel.callable(*values)
    finally:
        for back in after:
            back()

"""Arrays of other libraries as kernel arguments: PyTorch tensors, and whatever speaks DLPack or `__array_interface__`.

Each becomes a NumPy array over the same memory, and the call is made with that. Memory on another device than the host is
copied there and back, which only PyTorch tensors allow. None of this costs anything for ndarrays and NumPy arrays: they
never get here.
"""

import copy
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quadrants._native import NdarrayBase
from quadrants.lang.exception import QuadrantsRuntimeTypeError
from quadrants.lang.frontend import bundles
from quadrants.lang.frontend.arguments import is_tensor
from quadrants.types.annotations import NdarrayType

_HOST = (1, 3, 11)  # DLPack's kDLCPU, kDLCUDAHost, kDLROCMHost


def _takes_arrays(annotation: Any) -> bool:
    return annotation is NdarrayType or isinstance(annotation, NdarrayType) or is_tensor(annotation)


def _of_torch(tensor: Any, where: str) -> tuple[np.ndarray, Callable[[], None] | None]:
    if not tensor.is_contiguous():
        raise ValueError(
            "Non contiguous tensors are not supported, please call tensor.contiguous() before passing it into "
            f"quadrants kernel: {where}"
        )
    plain = tensor.detach()
    here = plain.device.type == "cpu"
    host = plain if here else plain.cpu()
    try:
        array = host.numpy()
    except TypeError:
        raise QuadrantsRuntimeTypeError(f"{where}: no element type of ours is {tensor.dtype}") from None
    return array, None if here else lambda: plain.copy_(host) and None


def _of_dlpack(value: Any, where: str) -> np.ndarray:
    device = value.__dlpack_device__()
    if int(device[0]) not in _HOST:
        raise QuadrantsRuntimeTypeError(
            f"{where} lies on another device (DLPack device {tuple(map(int, device))}), expected memory of the host: "
            "copy it there first"
        )
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError) as error:
        raise QuadrantsRuntimeTypeError(f"{where} cannot be shared through DLPack: {error}") from error


def adopt(value: Any, where: str) -> tuple[np.ndarray, Callable[[], None] | None] | None:
    """A NumPy array over the memory of a foreign one, and what to do when the kernel is done; None for what isn't one.

    A read-only exporter gives a read-only array, and so does DLPack's unversioned form, which can't say.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        return _of_torch(value, where)
    kind = type(value)
    if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__"):
        return _of_dlpack(value, where), None
    if hasattr(value, "__array_interface__"):
        return np.asarray(value), None
    return None


def _members(obj: Any, where: str, after: list[Callable[[], None]]) -> Any:
    """A dataclass object with foreign members replaced: the object itself when it has none, else a copy."""
    twin = obj
    for name, annotation in bundles.annotations_of(type(obj)).items():
        value = getattr(obj, name, None)
        if isinstance(value, (np.ndarray, NdarrayBase)) or value is None:
            continue
        if bundles.is_bundle(type(value)):
            found = _members(value, f'member "{name}" of {where}', after)
        elif _takes_arrays(annotation):
            adoption = adopt(value, f'member "{name}" of {where}')
            if adoption is None:
                continue
            found = adoption[0]
            after.extend(filter(None, adoption[1:]))
        else:
            continue
        if found is not value:
            twin = copy.copy(obj) if twin is obj else twin
            object.__setattr__(twin, name, found)  # the class may be frozen
    return twin


def adopted(kernel: Any, values: Sequence[Any]) -> tuple[list[Any], list[Callable[[], None]]] | None:
    """The arguments of a call with foreign arrays replaced, and what to do afterwards; None when there are none."""
    out: list[Any] | None = None
    after: list[Callable[[], None]] = []
    for k, (annotation, value) in enumerate(zip(kernel.signature.types, values)):
        if isinstance(value, (np.ndarray, NdarrayBase)):
            continue
        where = f'argument "{kernel.signature.names[k]}" of kernel "{kernel.name}"'
        found: Any
        if bundles.is_bundle(annotation) and isinstance(value, annotation):
            found = _members(value, where, after)
        elif _takes_arrays(annotation):
            adoption = adopt(value, where)
            if adoption is None:
                continue
            found = adoption[0]
            after.extend(filter(None, adoption[1:]))
        else:
            continue
        if found is not value:
            out = list(values) if out is None else out
            out[k] = found
    return None if out is None else (out, after)


def call(kernel: Any, values: list[Any], after: list[Callable[[], None]]) -> Any:
    """Makes the call with adopted arrays; what was copied to the host goes back."""
    result = kernel.callable(*values)
    for back in after:
        back()
    return result

"""Arrays of other libraries as kernel arguments: PyTorch tensors, and whatever speaks DLPack or `__array_interface__`.

Each becomes a NumPy array over the same memory, and the call is made with that. Memory on another device than the host is
copied there and back, which only PyTorch tensors allow. None of this costs anything for ndarrays and NumPy arrays: they
never get here.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quadrants._native import NdarrayBase
from quadrants.lang.exception import QuadrantsRuntimeTypeError
from quadrants.types.annotations import NdarrayType

_HOST = (1, 3, 11)  # DLPack's kDLCPU, kDLCUDAHost, kDLROCMHost


def _is_array(annotation: Any) -> bool:
    return annotation is NdarrayType or isinstance(annotation, NdarrayType)


def _of_torch(tensor: Any, where: str) -> tuple[np.ndarray, Callable[[], None] | None]:
    if not tensor.is_contiguous():
        raise ValueError(
            "Non contiguous tensors are not supported, please call tensor.contiguous() before passing it into "
            f"quadrants kernel: {where}"
        )
    plain = tensor.detach()
    if plain.device.type == "cpu":
        return plain.numpy(), None
    host = plain.cpu()
    return host.numpy(), lambda: plain.copy_(host) and None


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


def adopted(kernel: Any, values: Sequence[Any]) -> tuple[list[Any], list[Callable[[], None]]] | None:
    """The arguments of a call with foreign arrays replaced, and what to do afterwards; None when there are none."""
    out: list[Any] | None = None
    after: list[Callable[[], None]] = []
    for k, (annotation, value) in enumerate(zip(kernel.signature.types, values)):
        if isinstance(value, (np.ndarray, NdarrayBase)) or not _is_array(annotation):
            continue
        where = f'argument "{kernel.signature.names[k]}" of kernel "{kernel.name}"'
        found = adopt(value, where)
        if found is None:
            continue
        out = list(values) if out is None else out
        out[k] = found[0]
        if found[1] is not None:
            after.append(found[1])
    return None if out is None else (out, after)


def call(kernel: Any, values: list[Any], after: list[Callable[[], None]]) -> Any:
    """Makes the call with adopted arrays; what was copied to the host goes back."""
    result = kernel.callable(*values)
    for back in after:
        back()
    return result

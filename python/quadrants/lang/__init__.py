"""The language: front end, host objects and runtime. Submodules load when first used (`quadrants.lang.impl`, ...)."""

from importlib import import_module
from typing import Any

_SUBMODULES = frozenset(
    """_ndarray config exception field func impl kernel kernel_impl later matrix misc ndarray ops simt snode static stream struct
    util values""".split()
)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

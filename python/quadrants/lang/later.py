"""Documented names that this version lacks: each exists, and raises "... is not supported yet" when it is used.

So programs that only mention such a name import and run, `dir()` is complete, and the error says what is missing. A
name leaves this table when the real thing arrives.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from quadrants.lang.exception import not_supported_yet


def later_function(name: str) -> Callable[..., Any]:
    """A function that raises, in kernels and outside, that `qd.<name>` is not supported yet."""

    def function(*args: Any, **kwargs: Any) -> Any:
        raise not_supported_yet(f"qd.{name}")

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"`qd.{name}` is not supported yet."
    function._quadrants_later = name  # the front end words its error with it
    return function


def later_class(name: str, members: str = "", base: type = object) -> type:
    """A class whose instances cannot be made yet; `isinstance` against it and its documented members work."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise not_supported_yet(f"qd.{name}")

    body: dict[str, Any] = {member: later_function(f"{name}.{member}") for member in members.split()}
    body.update(
        __new__=refuse, __module__=__name__, __doc__=f"`qd.{name}` is not supported yet.", _quadrants_later=name
    )
    return type(name, (base,), body)


def fill_module(module: ModuleType, functions: str, classes: str = "") -> None:
    """Puts functions and classes for later into a module of the package."""
    path = module.__name__.partition(".")[2]
    for name in functions.split():
        setattr(module, name, later_function(f"{path}.{name}"))
    for name in classes.split():
        setattr(module, name, later_class(f"{path}.{name}"))


_FUNCTIONS = """activate append checkpoint clock_counter clock_freq_hz deactivate deactivate_all_snodes get_addr
is_active length rescale_index sparse_matrix_builder"""
_CLASSES = {
    "BitpackedFields": "place",
    "GraphStatus": "checkpoint yielded",
    "Mesh": "generate_meta load_meta",
    "MeshInstance": "get_position_as_numpy",
}


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS.split():
        value: Any = later_function(name)
    elif name in _CLASSES:
        value = later_class(name, _CLASSES[name])
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, value)

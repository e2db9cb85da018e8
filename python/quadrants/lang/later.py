"""Documented names that this version lacks: each exists, and raises "... is not supported yet" when it is used.

So programs that only mention such a name import and run, `dir()` and signatures are complete, and the error says what is
missing. A name leaves its table when the real thing arrives.

A table is text, a line a name: `name(parameters)` is a function, `class Name(parameters): member member` a class.
"""

import keyword
from collections.abc import Callable
from types import ModuleType
from typing import Any

from quadrants import _native
from quadrants.lang.exception import not_supported_yet

_DEFAULTS = {"f32": _native.f32, "ADJOINT": None}  # names that stand as defaults in the tables


def later_function(path: str, signature: str = "(*args, **kwargs)") -> Callable[..., Any]:
    """A function of that signature that raises, in kernels and outside, that `qd.<path>` is not supported yet."""
    name = path.rpartition(".")[2]
    word = "and_" if keyword.iskeyword(name) else name  # `and`, `or` are names of attributes here

    def refuse() -> Any:
        raise not_supported_yet(f"qd.{path}")

    space: dict[str, Any] = {**_DEFAULTS, "refuse": refuse}
    exec(f"def {word}{signature}:\n    return refuse()\n", space)  # noqa: S102 - text of this package
    function = space[word]
    function.__name__ = function.__qualname__ = name
    function.__module__ = f"quadrants.{path.rpartition('.')[0]}".rstrip(".")
    function.__doc__ = f"`qd.{path}` is not supported yet: QuadrantsSyntaxError."
    function._quadrants_later = path  # the front end words its error with it
    return function


def later_class(path: str, signature: str = "(*args, **kwargs)", members: str = "") -> type:
    """A class whose instances cannot be made yet; `isinstance` against it and its documented members work."""
    name = path.rpartition(".")[2]
    parameters = signature[1:-1]
    body: dict[str, Any] = {member: later_function(f"{path}.{member}") for member in members.split()}
    space: dict[str, Any] = {**_DEFAULTS, "refuse": lambda: later_function(path)()}
    exec(f"def __new__(cls, {parameters}):\n    return refuse()\n", space)  # noqa: S102 - text of this package
    body.update(__new__=space["__new__"], __module__=f"quadrants.{path.rpartition('.')[0]}".rstrip("."),
                __doc__=f"`qd.{path}` is not supported yet: QuadrantsSyntaxError.", _quadrants_later=path)  # fmt: skip
    return type(name, (), body)


def made_later(path: str, table: str) -> dict[str, Any]:
    """The functions and classes of a table; `path` is the module's, "" for the package."""
    made: dict[str, Any] = {}
    for line in filter(None, map(str.strip, table.splitlines())):
        head, _, members = line.partition("): ")
        is_class = head.startswith("class ")
        name, _, rest = head.removeprefix("class ").partition("(")
        signature = f"({rest.rstrip(')')})" if rest.count("(") == 0 else f"({rest}"
        full = f"{path}.{name}".lstrip(".")
        made[name] = later_class(full, signature, members) if is_class else later_function(full, signature)
    return made


def fill_module(module: ModuleType, table: str) -> list[str]:
    """Puts the names of a table into a module of the package, and gives them, sorted."""
    made = made_later(module.__name__.partition(".")[2], table)
    vars(module).update(made)
    return sorted(made)


_TABLE = """
    activate(node, indices)
    append(node, indices, val)
    checkpoint(cp_id, yield_on)
    deactivate(node, indices)
    is_active(node, indices)
    length(node, indices)
    class BitpackedFields(max_num_bits): place
    class Mesh(): generate_meta load_meta
    class MeshInstance(): add_mesh_attribute get_position_as_numpy get_relation_access get_relation_size set_index_mapping set_num_patches set_owned_offset set_patch_max_element_num set_relation_dynamic set_relation_fixed set_total_offset
"""  # noqa: E501 - one line a name
_made: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if not _made:
        _made.update(made_later("", _TABLE))
    if name not in _made:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, _made[name])

"""What a specialisation has read from outside: globals, closure cells, attributes. Each read becomes a guard of the
native `Guards`, so a later call that finds another number, string, function or array there compiles again.

Mutable containers are guarded by content, and only small ones: a large captured array would be frozen into the code.
"""

import builtins
import types

import numpy as np

from quadrants._native import Guards
from quadrants.lang.exception import QuadrantsNameError, QuadrantsTypeError

MAX_CAPTURED = 4096  # elements of a captured list or array

_CONSTANT_MODULES = ("quadrants", "math", "numpy", "operator")


class Content:
    """Snapshot of a mutable container; `same` tells whether it still holds the same things."""

    __slots__ = ("kept", "owner")

    def __init__(self, owner):
        self.owner = owner
        self.kept = freeze(owner)

    @property
    def same(self) -> bool:
        try:
            return freeze(self.owner) == self.kept
        except QuadrantsTypeError:
            return False


class _ById:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return type(other) is _ById and self.x is other.x

    __hash__ = None


def freeze(x):
    """A comparable copy of a container; numbers by type and value, other objects by identity."""
    kind = type(x)
    if kind in (int, float, bool, str, bytes, type(None)):
        return (kind, x)
    if kind in (list, tuple, set, frozenset, dict):
        if len(x) > MAX_CAPTURED:
            raise _too_large(f"a {kind.__name__} of {len(x)} elements")
        if kind is dict:
            return (kind, [(freeze(k), freeze(v)) for k, v in x.items()])
        return (kind, x if kind in (set, frozenset) and not x else [freeze(v) for v in x])
    if isinstance(x, np.ndarray):
        if x.size > MAX_CAPTURED:
            raise _too_large(f"a NumPy array of shape {x.shape}")
        return (kind, x.shape, x.dtype.str, x.tobytes())
    if isinstance(x, np.generic):
        return (kind, x.item())
    if isinstance(x, _matrix()):
        return (kind, freeze(x.to_numpy()))
    return _ById(x)


def _matrix():
    from quadrants.lang.matrix import Matrix

    return Matrix


def _too_large(what):
    return QuadrantsTypeError(
        f"{what} is captured by the kernel; at most {MAX_CAPTURED} elements can be compiled in: pass it as an argument."
    )


def is_container(x) -> bool:
    if isinstance(x, tuple):
        return any(is_container(e) for e in x)
    return isinstance(x, (list, dict, set, np.ndarray, _matrix()))


class Recorder:
    """Reads outside values for one specialisation and keeps the guards. Each name is read once."""

    __slots__ = ("_attributes", "_contents", "_globals", "_keep", "guards")

    def __init__(self):
        self.guards = Guards()
        self._globals = {}
        self._attributes = {}
        self._contents = set()
        self._keep = []

    def name(self, fn, name: str):
        """Value of a free name of `fn`: closure cell, then global, then builtin; QuadrantsNameError otherwise."""
        key = (id(fn), name)
        found = self._globals.get(key, self)
        if found is self:
            found = self._globals[key] = self._read(fn, name)
        return found

    def _read(self, fn, name):
        free = fn.__code__.co_freevars
        if name in free:
            cell = fn.__closure__[free.index(name)]
            try:
                value = cell.cell_contents
            except ValueError:
                raise QuadrantsNameError(f'Name "{name}" is not defined') from None
            self.guards.add_cell(cell, value)
            return self._content(value)
        space = fn.__globals__
        if name in space:
            value = space[name]
            self.guards.add_global(space, name, value)
            return self._content(value)
        if hasattr(builtins, name):
            self.guards.add_builtin_absent(space, name)
            return getattr(builtins, name)
        raise QuadrantsNameError(f'Name "{name}" is not defined')

    def _content(self, value):
        if is_container(value) and id(value) not in self._contents:
            content = Content(value)
            self._contents.add(id(value))
            self._keep.append(content)
            self.guards.add_attribute(content, "same", True)
        return value

    def attribute(self, owner, name: str):
        """Attribute of a captured Python object; AttributeError when there is none."""
        key = (id(owner), name)
        found = self._attributes.get(key, self)
        if found is self:
            found = getattr(owner, name)
            if not _constant(owner):
                self._keep.append(owner)
                if isinstance(found, types.MethodType):  # made anew at each access: the function is what counts
                    self.guards.add_attribute(owner, name + ".__func__", found.__func__)
                else:
                    self.guards.add_attribute(owner, name, found)
                    self._content(found)
            self._attributes[key] = found
            self._keep.append(found)
        return found


def _constant(owner) -> bool:
    """Modules and classes of ours, math and NumPy: nobody rebinds what is in them."""
    if isinstance(owner, types.ModuleType):
        return owner.__name__.split(".", 1)[0] in _CONSTANT_MODULES
    if isinstance(owner, type):
        return owner.__module__.split(".", 1)[0] in _CONSTANT_MODULES
    return type(owner).__module__.split(".", 1)[0] in ("quadrants", "builtins", "numpy")

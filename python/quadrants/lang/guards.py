"""What a specialisation has read from outside: globals, closure cells, attributes. Each read becomes a guard of the
native `Guards`, so a later call that finds another number, string, function or array there compiles again.

Mutable containers are guarded by content, and only small ones: a large captured array would be frozen into the code.
"""

import builtins
import types

import numpy as np

from quadrants._native import Guards
from quadrants.lang.exception import QuadrantsNameError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.forms import Forms, NoForm

MAX_CAPTURED = 4096  # elements of a captured list or array

PASSED = (int, float, bool)  # what `data_oriented(template_primitives=False)` passes at each call

_CONSTANT_MODULES = ("quadrants", "math", "numpy", "operator")


class Content:
    """Snapshot of a mutable container; `same` tells whether it still holds the same things."""

    __slots__ = ("kept", "owner")

    def __init__(self, owner):
        self.owner = owner
        try:
            self.kept = freeze(owner)
        except RecursionError:
            raise QuadrantsTypeError(
                "a container that holds itself cannot be captured: its content is compared"
            ) from None

    @property
    def same(self) -> bool:
        try:
            return freeze(self.owner) == self.kept
        except QuadrantsTypeError:
            return False


class Absent:
    """Tells whether an object still lacks an attribute."""

    __slots__ = ("name", "owner")

    def __init__(self, owner, name):
        self.owner, self.name = owner, name

    @property
    def same(self) -> bool:
        return not hasattr(self.owner, self.name)


class ById:
    """Compares by identity."""

    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return type(other) is ById and self.x is other.x

    __hash__ = None  # type: ignore[assignment]


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
    if isinstance(x, _struct()):
        return (kind, freeze(x.entries))
    return ById(x)


def _matrix():
    from quadrants.lang.matrix import Matrix

    return Matrix


def _struct():
    from quadrants.lang.struct import Struct

    return Struct


def _func():
    from quadrants.lang.func import Func

    return Func


def _bound_func():
    from quadrants.lang.func import BoundFunc

    return BoundFunc


def _too_large(what):
    return QuadrantsTypeError(
        f"{what} is captured by the kernel; at most {MAX_CAPTURED} elements can be compiled in: pass it as an argument."
    )


def is_container(x) -> bool:
    if isinstance(x, tuple):
        return any(is_container(e) for e in x)
    return isinstance(x, (list, dict, set, np.ndarray, _matrix(), _struct()))


class Recorder:
    """Reads outside values for one specialisation and keeps the guards. Each name is read once.

    What is read is also noted down for the source tier: `steps` say where (a function's free name, an object's
    attribute), `seen` what was found, as stable forms. `unstable` is why no other process could know, or empty.
    """

    __slots__ = (
        "_attributes", "_contents", "_globals", "_keep", "forms", "guards", "seen", "steps", "unstable", "warned"
    )  # fmt: skip

    def __init__(self):
        self.guards = Guards()
        self.forms, self.steps, self.seen, self.unstable = Forms(), [], [], ""
        self.warned = {}  # compile-time warnings, see frontend/errors.py
        self._globals = {}
        self._attributes = {}
        self._contents = set()
        self._keep = []

    def begin(self, fn, owners):
        """The kernel's function and its compile-time arguments: where all reads start."""
        self.forms.number(fn)
        for owner, whole in owners:
            if whole:
                self._note(None, owner, "an argument")
            else:
                self._note_parts(None, owner)

    def _note_parts(self, step, owner):
        """An object of a dataclass whose members are noted as they are read."""
        cls = type(owner)
        if not self.unstable:
            new = id(owner) not in self.forms.numbers
            numbers = self.forms.number(owner), self.forms.number(cls)
            self.seen.append(["dataclass", cls.__module__, cls.__qualname__] if new else ["seen", *numbers])
            if step is not None:
                self.steps.append(step)

    def member(self, kernel, owner, name: str, place=None):
        """(annotation, value) of a member of a dataclass argument. Noted is what an argument of its kind would be.
        `place`: number and name by which an error speaks of it."""
        from quadrants.lang.frontend import arguments, bundles

        annotation, value = bundles.annotations_of(type(owner))[name], getattr(owner, name)
        place = place or (0, name)
        number = self.forms.numbers.get(id(owner))
        if self.unstable:
            return annotation, value
        if number is None:
            self.cannot(f'member "{name}" of a {type(owner).__name__} that was reached through something unrecorded')
            return annotation, value
        step = ["m", number, name]
        if bundles.is_bundle(annotation):
            self._note_parts(step, value)
        elif arguments.by_value(annotation, value):
            self._note(step, value, f'member "{name}"')
        else:
            try:
                form = arguments.argument_form(kernel, place[0], place[1], annotation, value)
                self.seen.append([self.forms.of_annotation(annotation), form])
                self.steps.append(step)
            except NoForm as none:
                self.cannot(f'member "{name}": {none}')
        return annotation, value

    def passed(self, owner, name: str):
        """Notes the type of a member that is an argument of each call. AttributeError when it can't be one."""
        kind = type(owner.__dict__[name])
        if kind not in PASSED or type(owner)._template_primitives:
            raise AttributeError(name)
        number = self.forms.numbers.get(id(owner))
        if number is None:
            self.cannot(f'member "{name}" of a {type(owner).__name__} that was reached through something unrecorded')
        elif not self.unstable:
            self.steps.append(["p", number, name])
            self.seen.append(kind.__name__)

    def cannot(self, why: str):
        """What the kernel depends on can't be told to another process."""
        self.unstable = self.unstable or why

    def _note(self, step, value, what):
        if self.unstable:
            return
        try:
            self.seen.append(self.forms.of(value))
        except NoForm as none:
            self.cannot(f"{what}: {none}")
        except QuadrantsSyntaxError as error:  # an annotation that can't be resolved: the walk says it better
            self.cannot(str(error))
        if step is not None:
            self.steps.append(step)

    def name(self, fn, name: str):
        """Value of a free name of `fn`: closure cell, then global, then builtin; QuadrantsNameError otherwise."""
        key = (id(fn), name)
        found = self._globals.get(key, self)
        if found is self:
            found = self._globals[key] = self._read(fn, name)
            if not self.unstable:
                number = self.forms.numbers.get(id(fn))
                if number is None:
                    self.cannot(f"the function {fn.__qualname__} was reached through something that is not recorded")
                else:
                    self._note(["n", number, name], found, f'"{name}" of {fn.__qualname__}')
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

    def absent(self, owner, name: str):
        """Guards that an object has no such attribute."""
        missing = Absent(owner, name)
        self._keep.append(missing)
        self.guards.add_attribute(missing, "same", True)
        self.cannot(f'it asks whether a {type(owner).__name__} has an attribute "{name}"')

    def attribute(self, owner, name: str):
        """Attribute of a captured Python object; AttributeError when there is none."""
        key = (id(owner), name)
        found = self._attributes.get(key, self)
        if found is self:
            found = getattr(owner, name)
            if not _constant(owner):
                self._keep.append(owner)
                if isinstance(
                    found, (types.MethodType, _bound_func())
                ):  # made anew at each access: the function is what counts
                    self.guards.add_attribute(owner, name + ".__func__", found.__func__)
                else:
                    self.guards.add_attribute(owner, name, found)
                    self._content(found)
            self._attributes[key] = found
            self._keep.append(found)
            if not self.unstable:
                self._note_attribute(owner, name, found)
        return found

    def _note_attribute(self, owner, name, found):
        number = self.forms.numbers.get(id(owner))
        if number is not None:
            self._note(["a", number, name], found, f'attribute "{name}" of {type(owner).__name__}')
        elif not _constant(owner):
            self.cannot(f'attribute "{name}" of a {type(owner).__name__} that was reached through something unrecorded')


def _constant(owner) -> bool:
    """Modules and classes of ours, math and NumPy: nobody rebinds what is in them."""
    if isinstance(owner, types.ModuleType):
        return owner.__name__.split(".", 1)[0] in _CONSTANT_MODULES
    if isinstance(owner, type):
        return owner.__module__.split(".", 1)[0] in _CONSTANT_MODULES
    return type(owner).__module__.split(".", 1)[0] in ("quadrants", "builtins", "numpy") and not isinstance(
        owner, (_func(), types.FunctionType)
    )

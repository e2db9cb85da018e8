"""Standard-library dataclasses as arguments: an object is taken apart member by member, as its class annotates them.

A member becomes a member of the argument in the launch plan when the walk first reads it, so what a kernel doesn't use
costs nothing and may be anything. Functions take such objects by reference.
"""

import dataclasses
import sys

from quadrants.lang.exception import QuadrantsRuntimeTypeError, QuadrantsSyntaxError
from quadrants.lang.func import BoundFunc, Func
from quadrants.types.annotations import settled

_hints = {}  # class -> annotations by name, text resolved


def is_bundle(annotation) -> bool:
    """Whether an annotation is a dataclass."""
    return isinstance(annotation, type) and dataclasses.is_dataclass(annotation)


def annotations_of(cls) -> dict:
    """Annotations of the fields by name. QuadrantsSyntaxError for text that can't be resolved."""
    found = _hints.get(cls)
    if found is None:
        found = _hints[cls] = {f.name: _resolved(cls, f) for f in dataclasses.fields(cls)}
    return found


def _resolved(cls, field):
    if not isinstance(field.type, str):
        return settled(field.type)
    space = {}
    for base in reversed(cls.__mro__):
        module = sys.modules.get(base.__module__)
        space.update(vars(module) if module is not None else {})
    for member in vars(cls).values():
        function = getattr(member, "fn", member)
        space.update(getattr(function, "__globals__", {}))
    try:
        return settled(eval(field.type, space))
    except Exception as e:
        raise QuadrantsSyntaxError(
            f'The annotation "{field.type}" of {cls.__name__}.{field.name} cannot be resolved: {e}'
        ) from None


class Bundle:
    """An object of a dataclass inside a kernel: argument (or member of one) number `index` of the plan."""

    __slots__ = ("index", "kernel", "made", "name", "obj", "plan")

    def __init__(self, kernel, plan, index, name, obj):
        self.kernel, self.plan, self.index, self.name, self.obj = kernel, plan, index, name, obj
        self.made = {}

    def kernel_attribute(self, w, attr):
        """A member, made when it is first read; or a method."""
        found = self.made.get(attr, self)
        if found is not self:
            return found
        cls = type(self.obj)
        annotations = annotations_of(cls)
        if attr in annotations:
            found = self.made[attr] = member(w, self, attr, *w.rec.member(self.kernel, self.obj, attr))
            return found
        inside = getattr(cls, attr, None)
        if type(inside) is Func:
            w.rec.attribute(cls, attr)
            return inside if isinstance(_raw(cls, attr), staticmethod) else BoundFunc(inside, self)
        return w.wrap(w.rec.attribute(cls, attr), f'"{attr}" of {cls.__name__}')


def _raw(cls, name):
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


def member(w, owner: Bundle, attr, annotation, value):
    """The kernel's value of one member, planned behind what is planned already."""
    from quadrants.lang.frontend.driver import parameter

    plan, k = owner.plan, len(owner.plan)
    plan.append(None)
    found = parameter(w, owner.kernel, plan, k, f"{owner.name}.{attr}", annotation, value)
    plan[k] = ("member", owner.index, attr, plan[k])
    return found


def of_argument(w, kernel, plan, k, name, cls, value) -> Bundle:
    """A parameter annotated with a dataclass. QuadrantsRuntimeTypeError for an object of another class."""
    if not isinstance(value, cls):
        raise QuadrantsRuntimeTypeError(
            f"Argument ({k},) (type={type(value)}) cannot be converted into required type {cls.__name__} "
            f"(parameter '{name}' of kernel '{kernel.name}')"
        )
    plan[k] = ("instance", type(value))
    return Bundle(kernel, plan, k, name, value)

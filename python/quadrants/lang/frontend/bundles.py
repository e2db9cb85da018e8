"""Standard-library dataclasses as arguments: an object is taken apart member by member, as its class annotates them.

A member becomes a member of the argument in the launch plan when the walk first reads it, so what a kernel doesn't use
costs nothing and may be anything. Functions take such objects by reference.
"""

import dataclasses
import functools
import sys
import types

from quadrants.lang.exception import QuadrantsRuntimeTypeError, QuadrantsSyntaxError, QuadrantsTypeError
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


class Method:
    """A plain Python function of the class with its object: it runs while the kernel is compiled."""

    __slots__ = ("function", "owner")

    def __init__(self, function, owner):
        self.function, self.owner = function, owner


class Bundle:
    """An object of a dataclass inside a kernel: argument (or member of one) number `index` of the plan."""

    __slots__ = ("index", "kernel", "made", "name", "obj", "plan")

    def __init__(self, kernel, plan, index, name, obj):
        self.kernel, self.plan, self.index, self.name, self.obj = kernel, plan, index, name, obj
        self.made = {}

    @property
    def class_name(self):
        return type(self.obj).__name__

    def kernel_attribute(self, w, attr):
        """A member, made when it is first read; or a method."""
        found = self.made.get(attr, self)
        if found is not self:
            return found
        cls = type(self.obj)
        if attr == "__class__":
            return cls
        annotations = annotations_of(cls)
        if attr in annotations:
            place = w.positions.get(self.index, self.index), f"{self.name}.{attr}"
            found = self.made[attr] = member(w, self, attr, *w.rec.member(self.kernel, self.obj, attr, place))
            return found
        if not hasattr(cls, attr):
            raise AttributeError(
                f"'{cls.__name__}' has no member '{attr}': a kernel knows of an object of a dataclass what its class says: "
                f"the members {', '.join(annotations)}, methods, properties and constants"
            )
        raw, inside = _raw(cls, attr), w.rec.attribute(cls, attr)
        if isinstance(raw, property):
            return self._property(w, attr, raw.fget)
        if isinstance(raw, functools.cached_property):
            raise QuadrantsTypeError(
                f"'{attr}' of {cls.__name__} is a cached_property: a kernel reads no values that an object keeps; "
                "make it a property"
            )
        if type(inside) is Func:
            return inside if isinstance(raw, staticmethod) else BoundFunc(inside, self)
        if type(raw) is types.FunctionType:
            return Method(raw, self)
        return w.wrap(inside, f'"{attr}" of {cls.__name__}')

    def _property(self, w, attr, getter):
        """The value of a property: its getter, called as the kernel would."""
        from quadrants.lang.frontend.calls import call_with_values

        if type(getter) is Func:
            return call_with_values(w, getter, (self,))
        if type(getter) is types.FunctionType:
            return call_with_values(w, Method(getter, self), ())
        raise QuadrantsTypeError(f"the property '{attr}' of {self.class_name} cannot be read in kernels")

    def class_attribute(self, w, attr, default):
        """An attribute of the class as it is in Python; `default` for a member of the object."""
        cls = type(self.obj)
        return default if attr in annotations_of(cls) else w.rec.attribute(cls, attr)


def _raw(cls, name):
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


def member(w, owner: Bundle, attr, annotation, value):
    """The kernel's value of one member, planned behind what is planned already."""
    from quadrants.lang.frontend.driver import parameter

    plan, k = owner.plan, len(owner.plan)
    plan.append(None)
    w.positions[k] = w.positions.get(owner.index, owner.index)
    found = parameter(w, owner.kernel, plan, k, f"{owner.name}.{attr}", annotation, value)
    plan[k] = ("member", owner.index, attr, plan[k])
    return found


def of_argument(w, kernel, plan, k, name, cls, value) -> Bundle:
    """A parameter annotated with a dataclass. QuadrantsRuntimeTypeError for an object of another class."""
    if not isinstance(value, cls):
        raise QuadrantsRuntimeTypeError(
            f"Argument ({w.positions.get(k, k)},) (type={type(value)}) cannot be converted into required type {cls.__name__} "
            f"(parameter '{name}' of kernel '{kernel.name}')"
        )
    plan[k] = ("instance", type(value))
    return Bundle(kernel, plan, k, name, value)

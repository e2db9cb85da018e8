"""Places that a target, an atomic operation or an argument by reference names: variables, elements, members, components.

A part is changed by writing back the whole: what a struct or vector lies in, it lies in by value.
"""

from programs.scalars import Invalid
from programs.values import Struct, Vec, copied, like


class Place:
    """`kind` is what coverage calls an assignment to it."""

    def __init__(self, get, put, kind=""):
        self.get, self.put, self.kind = get, put, kind


def fixed(v):
    raise Invalid("target")


def of_value(v):
    """A value that is no place."""
    return Place(lambda: v, fixed)


def of_name(scope, name):
    def put(v):
        old = scope.get(name)
        scope[name] = copied(v) if old is None else like(old, v)

    return Place(lambda: scope[name], put)


def of_element(array, index):
    at = array.at(index)
    return Place(lambda: array.get(at), lambda v: array.set(at, v), "Assign to an element")


def member_of(place, name):
    """A member of a struct, or some components of a vector."""
    whole = place.get()
    if type(whole) is Struct and name in whole.members:

        def put(v):
            changed = copied(place.get())
            changed.members[name] = like(changed.members[name], v)
            place.put(changed)

        return Place(lambda: place.get().members[name], put, "Assign to a member")
    if type(whole) is Vec and set(name) <= set("xyzw"):
        return _swizzle(place, ["xyzw".index(c) for c in name])
    raise Invalid(name)


def component_of(place, at):
    def put(v):
        changed = copied(place.get())
        changed.data[at] = like(changed.data[at], v)
        place.put(changed)

    return Place(lambda: place.get().data[at], put, "Assign to a component")


def _swizzle(place, picked):
    if len(picked) == 1:
        return component_of(place, picked[0])

    def get():
        return Vec((len(picked),), [place.get().data[k] for k in picked])

    def put(v):
        given = like(get(), v)
        changed = copied(place.get())
        for k, e in zip(picked, given.data):
            changed.data[k] = e
        place.put(changed)

    return Place(get, put, "Assign to a swizzle")

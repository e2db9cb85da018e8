"""Who a local array belongs to. A `Big` that an expression has just made may be taken over by the first name or container
that keeps it; one that has a name is copied, so that no two names ever share an array.
"""

from quadrants.lang.values import Big, Rec, variable


def held(w, value):
    """A value that a name or a container is going to keep: arrays in it that others refer to are copied."""
    kind = type(value)
    if kind is Big:
        return variable(w, value)
    if kind is Rec:
        return Rec({name: held(w, e) for name, e in value.members.items()}, value.methods)
    return value


def settle(value):
    """Arrays in a value have got a name: no second one takes them over."""
    if type(value) is Big:
        value.owned = False
    elif type(value) is Rec:
        for e in value.members.values():
            settle(e)

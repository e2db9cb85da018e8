"""`getattr` and `hasattr` inside kernels: the same reads as `x.name`, so they are recorded like those."""

from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import bundles, structs
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.calls import PLAIN
from quadrants.lang.frontend.exprs import attribute_of
from quadrants.lang.util import hook
from quadrants.lang.values import COMPOUND, PLACES, SCALARS, describe, load

_OF_THE_WALK = (*SCALARS, *COMPOUND, *PLACES, Acc, structs.AccStruct)
_MISSING = object()


def _read(w, x, name):
    """x.name, or _MISSING; that it is missing is recorded, too."""
    if type(name) is not str:
        raise QuadrantsTypeError(f"attribute name must be string, not '{describe(w, name)}'")
    try:
        return load(w, attribute_of(w, x, name))
    except (AttributeError, QuadrantsSyntaxError) as error:
        if type(x) is bundles.Bundle:
            w.rec.absent(type(x.obj), name)
        elif type(x) not in _OF_THE_WALK and hook(x, "kernel_attribute") is None:
            if not isinstance(error, AttributeError):
                raise
            w.rec.absent(x, name)
        return _MISSING


def getattr_(w, x, name, *default):
    found = _read(w, x, name)
    if found is not _MISSING:
        return found
    if not default:
        return attribute_of(w, x, name)  # raises what it did
    return default[0]


def hasattr_(w, x, name):
    return _read(w, x, name) is not _MISSING


PLAIN.update({getattr: getattr_, hasattr: hasattr_})

"""What can be called on a field inside kernels: `fill`, and `get_scalar_field` of a field of vectors or matrices."""

from quadrants.lang import field_funcs
from quadrants.lang.exception import QuadrantsIndexError, QuadrantsTypeError
from quadrants.lang.frontend.access import Acc
from quadrants.lang.func import BoundFunc


class _ScalarField:
    """The method `get_scalar_field`: one component of every element, as a field."""

    __slots__ = ("acc",)

    def __init__(self, acc):
        self.acc = acc

    def kernel_call(self, w, *indices):
        acc = self.acc
        numbers = [w.known(k) for k in indices]
        if any(type(k) is not int for k in numbers):
            raise QuadrantsTypeError("get_scalar_field takes integers known at compile time")
        shape = (acc.n,) if acc.endim == 1 else (acc.n, acc.m)
        if len(numbers) != acc.endim or not all(0 <= k < n for k, n in zip(numbers, shape)):
            raise QuadrantsIndexError(f"elements of shape {shape} have no component {tuple(numbers)}")
        part = Acc()
        for slot in Acc.__slots__:
            setattr(part, slot, getattr(acc, slot))
        part.comps = (acc.comps[numbers[0] if len(numbers) == 1 else numbers[0] * acc.m + numbers[1]],)
        part.n, part.m, part.endim = 1, 1, 0
        return part


def of_field(acc, attr):
    """The method of a field, or None."""
    if attr == "fill":
        return BoundFunc(field_funcs.fill, acc)
    return _ScalarField(acc) if attr == "get_scalar_field" and acc.endim else None

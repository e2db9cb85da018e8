"""Attributes and methods of fields and arrays inside kernels."""

from quadrants.lang.exception import QuadrantsIndexError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import access
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


def attribute(w, acc, attr):
    """Attribute of a field or array."""
    if attr == "shape":
        return tuple(acc.shape)
    if attr == "dtype":
        return acc.dtype
    if attr in ("n", "m"):
        return getattr(acc, attr)
    if attr == "ndim":
        return acc.endim if acc.what == "Field" else acc.ndim
    if attr == "grad":
        return _grad(w, acc)
    if attr in ("snode", "parent"):
        from quadrants.lang.frontend import nodes

        return nodes.of_field(w, acc, attr)
    if acc.what == "Field" and attr == "fill":
        return BoundFunc(_fill(), acc)
    if acc.what == "Field" and attr == "get_scalar_field" and acc.endim:
        return _ScalarField(acc)
    if attr == "dual":
        raise QuadrantsSyntaxError(f'attribute "{attr}" of fields is not supported yet')
    if attr in ("append", "length", "deactivate", "activate", "is_active"):
        raise QuadrantsSyntaxError(f'"{attr}" on sparse fields is not supported yet')
    raise AttributeError(f"a {acc.what.lower()} has no attribute '{attr}' inside kernels")


def _fill():
    from quadrants.lang.field_funcs import fill

    return fill


def _grad(w, acc):
    if acc.grad is None and acc.argument is not None:
        acc.grad = access.of_gradient(w, acc)
    if acc.grad is None:
        grad = getattr(acc.obj, "grad", None) if acc.obj is not None else None
        if grad is None:
            raise QuadrantsSyntaxError(
                f"'{acc.name or acc.what}' has no gradient here: create it with needs_grad=True"
                + ("" if acc.obj is not None else " and pass an ndarray that has one")
            )
        acc.grad = w.wrap(grad)
    return acc.grad

"""Nodes of field trees inside kernels: loops over them, `qd.rescale_index`, and `qd.get_addr`."""

from quadrants._native import Value
from quadrants.lang import snode
from quadrants.lang.elementwise import binary
from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import access
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.calls import PLAIN
from quadrants.lang.values import MATRICES, Mat, describe, elements, from_nested, shown_as


@shown_as("node of a field tree")
class Node:
    """A node of a field tree: all of its cells exist, so a loop over it is one over its shape."""

    __slots__ = ("snode",)

    def __init__(self, node):
        self.snode = node

    @property
    def shape(self):
        return tuple(self.snode.shape)

    def kernel_attribute(self, w, attr):
        if attr == "shape":
            return self.shape
        if attr == "parent":
            return Parent(self.snode)
        raise QuadrantsSyntaxError(f'"{attr}" of a node of a field tree is not supported inside kernels')


class Parent:
    """`x.parent`, waiting to be called: `x` is a field or a node."""

    __slots__ = ("of",)

    def __init__(self, of):
        self.of = of

    def kernel_call(self, w, n=1):
        found = self.of.parent(w.known_int(n, "the argument of parent()"))
        if not isinstance(found, snode.SNode):
            raise QuadrantsSyntaxError(f"there is no node {n} levels above {self.of!r}")
        return Node(found)


def of_field(w, acc, attr):
    """`snode` or `parent` of a field."""
    if acc.what != "Field":
        raise AttributeError(f"an array has no attribute '{attr}' inside kernels")
    w.rec.cannot("a kernel that looks at a field tree follows from how it was built")
    return Node(acc.obj.snode) if attr == "snode" else Parent(acc.obj)


def _shape(w, x, name):
    if type(x) is Acc or type(x) is Node:
        return tuple(x.shape)
    raise QuadrantsTypeError(f"qd.{name} takes a field or a node of a field, got '{describe(w, x)}'")


def rescale_index_(w, a, b, I):  # noqa: E741 - the documented name
    if type(I) in (list, tuple):
        I = from_nested(w, I)  # noqa: E741
    if type(I) not in MATRICES or I.ndim != 1:
        raise QuadrantsTypeError(f"qd.rescale_index takes a vector of indices, got '{describe(w, I)}'")
    parts = list(elements(w, I))
    for k, (op, factor) in enumerate(snode.index_ratios(_shape(w, a, "rescale_index"), _shape(w, b, "rescale_index"))):
        if op is not None and k < len(parts):
            parts[k] = binary(w, op, parts[k], factor)
    return Mat(len(parts), 1, 1, parts)


def get_addr_(w, f, indices):
    if type(f) is Node:
        placed = next(f.snode._places(), None)
        f = f if placed is None else w.wrap(placed._field)
    if type(f) is not Acc or f.what != "Field":
        raise QuadrantsTypeError(f"qd.get_addr takes a field, got '{describe(w, f)}'")
    place = access.at(w, f, [indices], None)
    b = w.b
    w.words.append(("buffer", f.obj.buffer))
    start = b.scalar_param(w.u64, f"address of {f.name or 'field'}")
    index = place.index if type(place.index) is Value else b.const(place.index, w.i64)
    return b.add(start, b.mul(b.cast(index, w.u64), b.const(f.dtype.size, w.u64)))


PLAIN.update({snode.rescale_index: rescale_index_, snode.get_addr: get_addr_})

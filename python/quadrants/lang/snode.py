"""Field trees: `qd.root`, `FieldsBuilder` and the nodes below them.

A tree of dense nodes says which axes a field has, how long they are, and in which order they are stored: the axis that
is first met on the way down is outermost. Each field gets a buffer of its own, zeroed, when it is placed. Nesting one
axis in several levels multiplies its lengths; the blocks are not laid out apart: no program can tell from results.
"""

import math
import operator
from collections.abc import Iterator
from typing import Any

from quadrants._lib.core import Axis
from quadrants.lang.exception import QuadrantsRuntimeError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.impl import caller, get_runtime

MAX_AXES = 12


def axes(*numbers: int) -> list[Axis]:
    """The axes of these numbers: `axes(0, 1)` is `qd.ij`. QuadrantsRuntimeError for one outside 0 to 11."""
    given = [operator.index(number) for number in numbers]
    if not all(0 <= number < MAX_AXES for number in given):
        raise QuadrantsRuntimeError(f"axes are numbered from 0 to {MAX_AXES - 1}, got {given}")
    return [Axis(number) for number in given]


def _axis_numbers(given: Any) -> list[int]:
    """Of `qd.ij` and the like. TypeError for anything else."""
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    if not found or not all(isinstance(axis, Axis) for axis in found):
        raise TypeError(f"expected axes such as qd.ij or qd.axes(0, 1), got {given!r:.60}")
    return [axis.number for axis in found]


_AXIS_NAMES = "i j k l ij ik il jk jl kl ijk ijl ikl jkl ijkl"
i, j, k, l, ij, ik, il, jk, jl, kl, ijk, ijl, ikl, jkl, ijkl = (  # noqa: E741 - the documented names
    axes(*("ijkl".index(letter) for letter in name)) for name in _AXIS_NAMES.split()
)


def positive_shape(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of ints. TypeError for anything but integers, QuadrantsRuntimeError for one below 1."""
    given = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    dims = tuple(operator.index(dim) for dim in given)
    if len(dims) > MAX_AXES:
        raise QuadrantsRuntimeError(f"A field has at most {MAX_AXES} dimensions, got {len(dims)}")
    for number, dim in enumerate(dims):
        if dim < 1:
            raise QuadrantsRuntimeError(
                f"Every dimension of a Quadrants field should be positive, got {dim} in dimension {number}."
            )
    return dims


class SNode:
    """A node of a field tree. Made by the methods of `qd.root`, of a FieldsBuilder, or of another node."""

    def __init__(self, kind: str, parent: "SNode | None", extents: dict[int, int], builder: "FieldsBuilder") -> None:
        self._kind = kind
        self._parent = parent
        self._extents = extents  # length of each axis down to here, in order of storage
        self._builder = builder
        self._children: list[SNode] = []
        self._field: Any = None  # of a place node

    def dense(self, axes: Any, dimensions: Any) -> "SNode":
        """A dense node below this one: `dimensions` is one length for all axes, or one each. QuadrantsRuntimeError for a
        length below 1, an axis given twice, or a builder that is finalized."""
        self._builder._check_open()
        numbers = _axis_numbers(axes)
        dims = positive_shape(dimensions)
        if len(dims) == 1:
            dims *= len(numbers)
        if len(dims) != len(numbers) or len(set(numbers)) != len(numbers):
            raise QuadrantsRuntimeError(f"dense: {len(numbers)} axes ({numbers}) and {len(dims)} dimensions do not fit")
        extents = dict(self._extents)
        for number, dim in zip(numbers, dims):
            extents[number] = extents.get(number, 1) * dim
        return self._add(SNode("dense", self, extents, self._builder))

    def _add(self, node: "SNode") -> "SNode":
        self._children.append(node)
        return node

    def pointer(self, axes: Any, dimensions: Any) -> "SNode":
        """Sparse: QuadrantsRuntimeError."""
        raise _unsupported("Pointer")

    def bitmasked(self, axes: Any, dimensions: Any) -> "SNode":
        """Sparse: QuadrantsRuntimeError."""
        raise _unsupported("Bitmasked")

    def dynamic(self, axis: Any, dimension: int, chunk_size: int | None = None) -> "SNode":
        """Sparse: QuadrantsRuntimeError."""
        raise _unsupported("Dynamic")

    def quant_array(self, axes: Any, dimensions: Any, max_num_bits: int) -> "SNode":
        """Quantised: QuadrantsRuntimeError."""
        raise _unsupported("QuantArray")

    def place(self, *fields: Any, offset: Any = None) -> "SNode":
        """Gives fields (or lists of them) the shape of this node, and memory; `offset` is the first element's index.
        ValueError for anything but fields, RuntimeError for one that has been placed."""
        self._builder._check_open()
        for field in fields:
            if isinstance(field, (list, tuple)):
                self.place(*field, offset=offset)
                continue
            if hasattr(field, "_leaves"):  # of structs: its members
                self.place(*field._leaves(), offset=offset)
                continue
            if not hasattr(field, "_place"):
                raise ValueError(f"{field!r} cannot be placed: expected a field")
            node = SNode("place", self, self._extents, self._builder)
            field._place(node, offset)
            node._field = field
            self._add(node)
        return self

    def lazy_grad(self) -> None:
        """Places a gradient beside every field of reals below this node."""
        self._place_twins("grad")

    def lazy_dual(self) -> None:
        """Places a forward gradient beside every field of reals below this node."""
        self._place_twins("dual")

    def _place_twins(self, role: str) -> None:
        for node in list(self._places()):
            field = node._field._owner
            if not field._role and field.dtype.is_real:
                twin = field._make_twin(role)
                if not twin._is_placed():
                    (node._parent or self).place(twin, offset=field.offset)

    def _places(self) -> Iterator["SNode"]:
        for child in self._children:
            if child._kind == "place":
                yield child
            yield from child._places()

    def parent(self, n: int = 1) -> Any:
        """The node `n` levels up."""
        node: SNode | None = self
        for _ in range(n):
            node = node._parent if node is not None else None
        return root if node is not None and node._kind == "root" else node

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis in the order of axis numbers."""
        return tuple(self._extents[number] for number in sorted(self._extents))

    def deactivate_all(self) -> None:
        """Deactivates sparse nodes below; there are none, and dense ones stay as they are."""

    def _strides(self) -> tuple[int, ...]:
        """Distance in elements between neighbours along each axis, in the order of axis numbers."""
        left = math.prod(self._extents.values())
        strides = {}
        for number, extent in self._extents.items():
            left //= extent
            strides[number] = left
        return tuple(strides[number] for number in sorted(strides))

    def __repr__(self) -> str:
        return "qd.root" if self._parent is None else f"<qd.SNode of type {self._kind}>"

    def __str__(self) -> str:
        """The way from the root: kind and shape of each node."""
        return "qd.root" if self._parent is None else f"{self._parent} => {self._kind} {list(self.shape)}"


def _unsupported(kind: str) -> QuadrantsRuntimeError:
    return QuadrantsRuntimeError(f"{kind} SNode is not supported on this backend.")


class SNodeTree:
    """What `FieldsBuilder.finalize` gives: a group of fields whose memory can be given back together."""

    def __init__(self, root_node: SNode) -> None:
        self._root_node: SNode | None = root_node

    def destroy(self) -> None:
        """Gives back the memory of the tree's fields; using them afterwards is QuadrantsRuntimeError."""
        if self._root_node is None:
            raise QuadrantsRuntimeError("SNode tree has been destroyed")
        for node in self._root_node._places():
            node._field._release("its SNode tree was destroyed")
        self._root_node = None


class FieldsBuilder:
    """A field tree of its own, apart from `qd.root`. Needs `init`."""

    def __init__(self) -> None:
        get_runtime().require_context()
        runtime = get_runtime()
        self._epoch = runtime.epoch
        self._finalized = False
        self._root_node = SNode("root", None, {}, self)
        self._created_at = caller()
        runtime.builders.add(self)
        runtime.pending = True

    @classmethod
    def _implicit(cls) -> "FieldsBuilder":
        """A builder that the program did not make, so that it need not finalize it."""
        builder = cls()
        get_runtime().builders.discard(builder)
        return builder

    def _check_open(self) -> None:
        if self._finalized:
            raise QuadrantsRuntimeError("FieldsBuilder finalized")
        if self._epoch != get_runtime().epoch:
            raise QuadrantsRuntimeError("This FieldsBuilder belongs to a runtime that was reset; make a new one")

    def dense(self, indices: Any, dimensions: Any) -> SNode:
        """See SNode.dense."""
        return self._root_node.dense(indices, dimensions)

    def pointer(self, indices: Any, dimensions: Any) -> SNode:
        """See SNode.pointer."""
        return self._root_node.pointer(indices, dimensions)

    def bitmasked(self, indices: Any, dimensions: Any) -> SNode:
        """See SNode.bitmasked."""
        return self._root_node.bitmasked(indices, dimensions)

    def dynamic(self, index: Any, dimension: int, chunk_size: int | None = None) -> SNode:
        """See SNode.dynamic."""
        return self._root_node.dynamic(index, dimension, chunk_size)

    def quant_array(self, indices: Any, dimensions: Any, max_num_bits: int) -> SNode:
        """See SNode.quant_array."""
        return self._root_node.quant_array(indices, dimensions, max_num_bits)

    def place(self, *fields: Any, offset: Any = None) -> SNode:
        """See SNode.place."""
        return self._root_node.place(*fields, offset=offset)

    def lazy_grad(self) -> None:
        """See SNode.lazy_grad."""
        self._check_open()
        self._root_node.lazy_grad()

    def lazy_dual(self) -> None:
        """See SNode.lazy_dual."""
        self._check_open()
        self._root_node.lazy_dual()

    def deactivate_all(self) -> None:
        """See SNode.deactivate_all."""

    def finalize(self, raise_warning: bool = True) -> SNodeTree:
        """Closes the builder: nothing can be placed any more. QuadrantsRuntimeError when it was closed already."""
        self._check_open()
        self._finalized = True
        get_runtime().builders.discard(self)
        return SNodeTree(self._root_node)


class _Root:
    """`qd.root`: the default builder of the current runtime. Placing is allowed at any time, after a kernel ran too."""

    def _builder(self) -> FieldsBuilder:
        runtime = get_runtime()
        if runtime.root is None:
            runtime.root = FieldsBuilder._implicit()
        return runtime.root

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (
            get_runtime().context is None and not hasattr(SNode, name) | hasattr(FieldsBuilder, name)
        ):
            raise AttributeError(f"'qd.root' has no attribute {name!r}")
        if name == "finalize":
            return lambda raise_warning=True: SNodeTree(self._builder()._root_node)
        builder = self._builder()
        return getattr(builder if hasattr(FieldsBuilder, name) else builder._root_node, name)

    def __repr__(self) -> str:
        return "qd.root"

    def __dir__(self) -> list[str]:
        return sorted({name for cls in (SNode, FieldsBuilder) for name in vars(cls) if not name.startswith("_")})


root = _Root()


def index_ratios(a: tuple[int, ...], b: tuple[int, ...]) -> list[tuple[str | None, int]]:
    """How an index along each axis of shape `a` becomes one of shape `b`: the operation (or None) and its number."""
    pairs = zip(a, b)
    return [("floordiv", m // n) if m > n else ("mul", n // m) if m < n else (None, 1) for m, n in pairs]


def rescale_index(a: Any, b: Any, I: Any) -> Any:  # noqa: E741 - the documented name
    """The index `I` of field (or node) `a`, as a vector, scaled to the shape of `b`: divided, rounding down, along an
    axis where `a` is longer, multiplied where `b` is. In kernels and outside; QuadrantsTypeError for other arguments."""
    from quadrants.lang.matrix import Vector

    if not all(isinstance(getattr(x, "shape", None), tuple) for x in (a, b)):
        raise QuadrantsTypeError(f"qd.rescale_index takes fields or nodes of fields, got {a!r:.60} and {b!r:.60}")
    index = [int(one) for one in I]
    for axis, (op, factor) in enumerate(index_ratios(a.shape, b.shape)[: len(index)]):
        index[axis] = index[axis] // factor if op == "floordiv" else index[axis] * factor
    return Vector(index)


def deactivate_all_snodes() -> None:
    """Deactivates every sparse node; there are none, and dense ones stay as they are. Needs `init`."""
    get_runtime().require_context()


def get_addr(f: Any, indices: Any) -> Any:
    """Address of an element of a field, in bytes, as a u64. Inside kernels only: QuadrantsSyntaxError elsewhere."""
    raise QuadrantsSyntaxError("qd.get_addr can only be called inside kernels and functions.")

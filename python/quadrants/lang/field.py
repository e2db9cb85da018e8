"""Fields: dense tensors that kernels capture, of scalars, vectors or matrices.

What a kernel needs of a field is plain attributes: component `c` of the element at indices `i` is scalar number
`sum((i[k] - offset[k]) * strides[k]) + base + element_strides[c]` of `buffer`, whose scalars are of `dtype`. `shape`
and all strides never change once the field is placed, so kernels take them as constants.
"""

import math
import operator
from typing import Any

import numpy as np

from quadrants import _native
from quadrants._lib.core import Layout
from quadrants.lang import host
from quadrants.lang.exception import QuadrantsAssertionError, QuadrantsRuntimeError, QuadrantsSyntaxError
from quadrants.lang.impl import allocate, caller, get_runtime, materialize
from quadrants.lang.snode import SNode, positive_shape
from quadrants.lang.util import cook_dtype
from quadrants.types.compound import MatrixType
from quadrants.types.structs import StructType


class Field:
    """Common to all fields. `grad` is the field of gradients or None, `offset` the first element's index or None."""

    def __init__(
        self,
        dtype: _native.DataType,
        element_shape: tuple[int, ...],
        layout: Layout | None,
        name: str = "",
        role: str = "",
    ) -> None:
        runtime = get_runtime()
        runtime.require_context()
        self._dtype, self.element_shape, self._layout, self._name = dtype, element_shape, layout, name
        self._role = role  # "grad" or "dual" of another field, "" of a field that the program made
        self._created_at = caller()
        self._snode: SNode | None = None
        self._shape: tuple[int, ...] | None = None
        self._elements: host.Elements | None = None
        self._gone = "it has not been placed"
        self.buffer: Any = None
        self.strides: tuple[int, ...] = ()
        self.element_strides: tuple[int, ...] = ()
        self.base: int = 0
        self.offset: tuple[int, ...] | None = None
        self.grad: Field | None = None
        self.dual: Field | None = None
        runtime.unplaced.add(self)
        runtime.pending = True
        runtime.fields.add(self)

    # -- placement
    @property
    def _owner(self) -> "Field":
        """The field that the memory belongs to: another one for a component of a matrix field."""
        return self

    def _is_placed(self) -> bool:
        return self._shape is not None

    def _place(self, node: SNode, offset: Any) -> None:
        if self._shape is not None:
            raise RuntimeError(f"{self!r} has been placed already")
        shape, strides = node.shape, node._strides()
        if offset is not None:
            given = tuple(offset) if hasattr(offset, "__iter__") else (offset,)
            offset = tuple(operator.index(one) for one in given)
            if len(offset) != len(shape):
                raise QuadrantsSyntaxError(
                    f"The dimensionality of shape and offset must be the same ({len(shape)} != {len(offset)})"
                )
        components, elements = math.prod(self.element_shape), math.prod(shape)
        soa = self._layout is Layout.SOA
        step = elements if soa else 1
        self.buffer = allocate(components * elements * self._dtype.size, f"a field of shape {shape}")
        self.strides = strides if soa else tuple(components * stride for stride in strides)
        self.element_strides = tuple(step * c for c in range(components))
        self._shape, self._snode, self.offset = shape, node, offset
        inner = (
            (step,)
            if len(self.element_shape) == 1
            else (step * self.element_shape[1], step)
            if self.element_shape
            else ()
        )
        self._elements = host.Elements(self.buffer, self._dtype, shape + self.element_shape, self.strides + inner, 0)
        get_runtime().unplaced.discard(self)

    def _release(self, why: str) -> None:
        self._gone, self._elements, self.buffer = why, None, None
        for twin in (self.grad, self.dual):
            if twin is not None:
                twin._release(why)

    def _make_twin(self, role: str) -> "Field":
        """The field of gradients ("grad") or of forward gradients ("dual"), made when there is none."""
        if getattr(self, role) is None:
            name = f"{self._name}.{role}"
            setattr(self, role, type(self)(self._dtype, self.element_shape, self._layout, name, role))
        return getattr(self, role)

    def _live(self) -> host.Elements:
        get_runtime().require_context()
        materialize()
        if self._elements is None:
            raise QuadrantsRuntimeError(f"{self!r} (created at {self._created_at}) cannot be used: {self._gone}")
        return self._elements

    # -- description
    @property
    def dtype(self) -> _native.DataType:
        """Scalar type of the elements."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis. QuadrantsRuntimeError before the field is placed."""
        if self._shape is None:
            raise QuadrantsRuntimeError(f"{self!r} (created at {self._created_at}) has no shape: {self._gone}")
        return self._shape

    @property
    def layout(self) -> Layout | None:
        """AOS or SOA for vectors and matrices, None for scalars."""
        return self._layout

    @property
    def snode(self) -> SNode | None:
        """The place of the field in its tree."""
        return self._snode

    def parent(self, n: int = 1) -> Any:
        """The node `n` levels above the field."""
        return self._snode.parent(n) if self._snode is not None else None

    def has_grad(self) -> bool:
        """Whether the field has storage for gradients."""
        return self.grad is not None

    def has_dual(self) -> bool:
        """Whether the field has storage for forward gradients."""
        return self.dual is not None

    # -- single elements
    def _index(self, key: Any) -> tuple[int, ...]:
        """A checked index, the offset taken off. AssertionError for another arity or out of bounds, TypeError."""
        key = () if key is None else key if isinstance(key, tuple) else tuple(key) if isinstance(key, list) else (key,)
        if len(key) == 1 and key[0] is None:
            key = ()
        shape = self.shape
        if len(key) != len(shape):
            raise AssertionError("Slicing is not supported on qd.field")
        for one in key:
            if not hasattr(type(one), "__index__"):
                raise TypeError(
                    f"Detected illegal element of type: {type(one)}. "
                    "Please be aware that slicing a qd.field is not supported so far."
                )
        index = tuple(map(operator.index, key))
        if self.offset:
            index = tuple(map(operator.sub, index, self.offset))
        for one, extent in zip(index, shape):
            if not 0 <= one < extent:
                offset = f" and offset {self.offset}" if self.offset else ""
                raise QuadrantsAssertionError(
                    f"Accessing field ({self._name or repr(self)}) of size {shape}{offset} with indices {tuple(key)}"
                )
        return index

    def __iter__(self) -> Any:
        raise NotImplementedError("Struct for is only available in Quadrants scope.")

    def __str__(self) -> str:
        if self._is_placed() and self._elements is not None:
            return str(self.to_numpy())
        return "<Field: Definition of this field is incomplete>" if not self._is_placed() else repr(self)

    # -- all elements
    def fill(self, val: Any) -> None:
        """Sets every element; a real number is truncated where elements are integers."""
        self._live().fill(val)

    def _exported(self, dtype: Any, copy: bool | None) -> np.ndarray:
        return host.exported(self._live(), dtype, copy, "a field")

    def to_numpy(self, dtype: Any = None, *, copy: bool | None = True) -> np.ndarray:
        """The elements as an array of `shape + element_shape`.

        `copy=True` copies, `False` gives a view of the field's memory or ValueError, `None` a view where it can be had.
        """
        return self._exported(dtype, copy)

    def from_numpy(self, arr: np.ndarray) -> None:
        """Sets every element from a NumPy array of the field's shape; elements are cast. ValueError for another shape,
        TypeError for anything but an array."""
        if not isinstance(arr, np.ndarray):
            raise TypeError(f"{np.ndarray} expected, but {type(arr)} provided")
        elements = self._live()
        if arr.shape != elements.shape and arr.shape != elements.shape + (1,) * (len(self.element_shape) == 1):
            raise ValueError(f"qd.field shape {elements.shape} does not match the numpy array shape {arr.shape}")
        elements.store(arr.reshape(elements.shape))

    def to_torch(self, device: Any = None, *, copy: bool | None = True) -> Any:
        """As `to_numpy`, as a tensor: a view lies where the field's memory is, a copy on `device` or the host."""
        return host.to_torch(self._live(), device, copy, "a field", lambda copy: self.to_numpy(copy=copy))

    def from_torch(self, arr: Any) -> None:
        """As `from_numpy`, from a tensor."""
        found = host.from_torch(self._live(), arr, "a field")
        if found is not None:
            self.from_numpy(found)

    def to_dlpack(self, versioned: bool = False) -> Any:
        """A DLPack capsule over the field's memory, on whatever device that is. ValueError where there can't be one."""
        return host.dlpack(self._live(), "a field", (1, 0) if versioned else None)

    def __dlpack__(self, **options: Any) -> Any:
        return host.dlpack(self._live(), "a field", **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return host.dlpack_device()

    def copy_from(self, other: "Field") -> None:
        """Copies the elements of a field of the same shape; they are cast. TypeError for anything but a field, ValueError
        for another shape."""
        if not isinstance(other, Field):
            raise TypeError("Cannot copy from a non-field object")
        if self.shape != other.shape or self.element_shape != other.element_shape:
            raise ValueError(f"qd.field shape {self.shape} does not match the source field shape {other.shape}")
        self._live().store(host.exported(other._live(), None, None, "a field"))


class ScalarField(Field):
    """A field of numbers: `f[i, j]`, or `f[None]` for a 0-D one."""

    def __getitem__(self, key: Any) -> Any:
        elements = self._live()
        return elements.read(self._index(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        elements = self._live()
        elements.write(self._index(key), value)

    def __repr__(self) -> str:
        return "<qd.field>"


class MatrixField(Field):
    """A field of vectors or matrices; `f[i]` is a value over the element's memory, so that `f[i].x = 1` writes it."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._components: dict[int, Any] = {}  # those that were asked for, by number

    def __getattr__(self, name: str) -> Any:
        shape = self.__dict__.get("element_shape", ())
        if name == "n":
            return shape[0]
        if name == "m":
            return 1 if len(shape) == 1 else shape[1]
        if name == "ndim":
            return len(shape)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")

    def __getitem__(self, key: Any) -> Any:
        from quadrants.lang.matrix import element_value

        elements = self._live()
        return element_value(elements, self._index(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key]._assign(..., value)

    def get_scalar_field(self, *indices: int) -> ScalarField:
        """The field of one component; it shares the memory of this one. Before this field is placed, placing each of its
        components places it. IndexError for a component that isn't there."""
        from quadrants.lang.components import ComponentField

        index = tuple(map(operator.index, indices))
        if len(index) != len(self.element_shape) or not all(0 <= a < n for a, n in zip(index, self.element_shape)):
            raise IndexError(f"{self!r} has no component {index}")
        number = index[0] if len(index) == 1 else index[0] * self.element_shape[1] + index[1]
        if number not in self._components:
            self._components[number] = ComponentField(self, number, f"{self._name}{list(index)}")
        return self._components[number]

    def _place(self, node: SNode, offset: Any) -> None:
        placed = [one for one in self._components.values() if one._is_placed()]
        if placed and len(placed) != self.n * self.m:
            raise RuntimeError(f"{placed[0]._name or 'a component'} of {self!r} has been placed already")
        super()._place(node, offset)
        for component in self._components.values():
            component._attach()

    def fill(self, val: Any) -> None:
        """Sets every element to one number, or every component to that of a vector or matrix; AssertionError for another
        shape of it."""
        if not hasattr(val, "__len__"):
            super().fill(val)
            return
        from quadrants.lang.matrix import Matrix

        entries = (val if isinstance(val, Matrix) else Matrix(val)).to_numpy()
        if entries.shape != self.element_shape:
            raise AssertionError(f"fill: expected entries of shape {self.element_shape}, got {entries.shape}")
        self._live().store(entries)

    def to_numpy(self, keep_dims: bool = False, dtype: Any = None, *, copy: bool | None = True) -> np.ndarray:  # type: ignore[override]
        """As for scalars. A matrix of one column gives `shape + (n,)`, or `shape + (n, 1)` with `keep_dims`."""
        array = self._exported(dtype, copy)
        if len(self.element_shape) == 2 and self.element_shape[1] == 1 and not keep_dims:
            return array[..., 0]
        return array[..., None] if keep_dims and len(self.element_shape) == 1 else array

    def to_torch(self, device: Any = None, keep_dims: bool = False, *, copy: bool | None = True) -> Any:  # type: ignore[override]
        """As `to_numpy`, as a tensor: a view lies where the field's memory is, a copy on `device` or the host."""
        tensor = host.to_torch(self._live(), device, copy, "a field", lambda copy: self._exported(None, copy))
        if len(self.element_shape) == 2 and self.element_shape[1] == 1 and not keep_dims:
            return tensor[..., 0]
        return tensor[..., None] if keep_dims and len(self.element_shape) == 1 else tensor

    def from_numpy(self, arr: np.ndarray) -> None:
        """Sets every element; a matrix of one column also takes arrays without that axis."""
        if (
            isinstance(arr, np.ndarray)
            and self.element_shape[1:] == (1,)
            and arr.shape == self.shape + self.element_shape[:1]
        ):
            arr = arr[..., None]
        super().from_numpy(arr)

    def __repr__(self) -> str:
        return f"<{self.n}x{self.m} qd.Matrix.field>"


def _storage_node(shape: tuple[int, ...], order: str | None, offset: Any) -> SNode:
    """A tree of one place: axes stored in `order`, outermost first."""
    from quadrants.lang.snode import FieldsBuilder, axes

    letters = "ijklmnopqrst"[: len(shape)]
    if order is None:
        order = letters
    if len(order) != len(shape):
        raise QuadrantsSyntaxError(
            f"The dimensionality of shape and order must be the same ({len(shape)} != {len(order)})"
        )
    if len(set(order)) != len(order):
        raise QuadrantsSyntaxError("The axes in order must be different")
    if sorted(order) != list(letters):
        raise QuadrantsSyntaxError(
            f"Invalid axis in order={order!r}: a field of {len(shape)} dimensions has the axes {letters}"
        )
    numbers = [letters.index(letter) for letter in order]
    root_node = FieldsBuilder._implicit()._root_node
    return root_node.dense(axes(*numbers), [shape[number] for number in numbers]) if shape else root_node


def _finish(field: Field, shape: Any, order: str | None, offset: Any, needs_grad: bool, needs_dual: bool) -> Any:
    """Checks what goes together, makes the gradient, and places both when a shape is given."""
    if (needs_grad or needs_dual) and not field.dtype.is_real:
        raise QuadrantsRuntimeError(
            f"{field.dtype.name} is not supported for field with `needs_grad=True` or `needs_dual=True`."
        )
    for role, needed in (("grad", needs_grad), ("dual", needs_dual)):
        if needed:
            field._make_twin(role)
    if shape is None:
        for name, value in (("offset", offset), ("order", order)):
            if value is not None:
                raise QuadrantsSyntaxError(f"shape cannot be None when {name} is set")
        return field
    node = _storage_node(positive_shape(shape), order, offset)
    node.place(*(one for one in (field, field.grad, field.dual) if one is not None), offset=offset)
    return field


def field(
    dtype: Any,
    shape: Any = None,
    order: str | None = None,
    name: str = "",
    offset: Any = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
) -> Any:
    """A field of scalars, or of vectors or matrices when `dtype` is such a type; zeroed.

    `shape` is a tuple of positive lengths, () for a single element, or None to `place` the field later. `order`
    names the axes outermost first ("ji" stores columns together); `offset` is the index of the first element.
    `needs_grad` adds storage for gradients. Needs `init`; raises ValueError, QuadrantsRuntimeError or
    QuadrantsSyntaxError.
    """
    if isinstance(dtype, MatrixType):
        return create_matrix_field(dtype.dtype, dtype.whole_shape(), shape, order, name, offset, needs_grad, needs_dual)
    if isinstance(dtype, StructType):
        if order is not None:
            raise QuadrantsSyntaxError("a field of structs takes no order")
        return dtype.field(shape=shape, name=name, offset=offset, needs_grad=needs_grad, needs_dual=needs_dual)
    made = ScalarField(cook_dtype(dtype), (), None, name)
    try:
        return _finish(made, shape, order, offset, needs_grad, needs_dual)
    except Exception:
        get_runtime().unplaced.discard(made)
        raise


def create_matrix_field(
    dtype: Any,
    element_shape: tuple[int | None, ...],
    shape: Any = None,
    order: str | None = None,
    name: str = "",
    offset: Any = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: Layout = Layout.AOS,
) -> MatrixField:
    """A field of vectors (`element_shape` of one length) or matrices; the rest as for `field`."""
    if isinstance(dtype, (list, tuple)):
        flat = {cook_dtype(one) for row in dtype for one in (row if isinstance(row, (list, tuple)) else [row])}
        if len(flat) != 1:
            raise QuadrantsRuntimeError("Member fields of a matrix field must have the same compute type")
        dtype = flat.pop()
    if any(length is None for length in element_shape):
        raise QuadrantsSyntaxError(f"a field needs elements of known shape, got {element_shape}")
    lengths = positive_shape(element_shape)
    made = MatrixField(cook_dtype(float if dtype is None else dtype), lengths, Layout(layout), name)
    try:
        return _finish(made, shape, order, offset, needs_grad, needs_dual)
    except Exception:
        get_runtime().unplaced.discard(made)
        raise

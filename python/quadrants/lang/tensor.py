"""`qd.tensor`: one face for ndarrays and fields. A Tensor wraps either and forwards to it.

`layout` names the axes in the order in which they are stored, outermost first; indices stay in the order of the shape,
on the host and in kernels. A field has it as its `order`; an ndarray is stored with its axes permuted.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from quadrants.lang import host
from quadrants.lang.field import Field, MatrixField, create_matrix_field, field
from quadrants.lang.ndarray import Ndarray, ndarray
from quadrants.lang.util import cook_dtype
from quadrants.types.compound import MatrixType

MAX_LAYOUT_AXES = 6  # as many as the kind id of an ndarray has room for


class Backend(IntEnum):
    """What holds the elements of a tensor."""

    FIELD = 0
    NDARRAY = 1


class Tensor:
    """A tensor over an ndarray or a field. TypeError for anything else.

    As an annotation of kernels and functions, `qd.Tensor` takes either, and None.
    """

    _takes_none = True  # so that `qd.Tensor | None` is the same annotation
    __slots__ = ("__dict__", "__weakref__", "_grad", "_impl", "_layout")

    def __init__(self, impl: Any) -> None:
        if not isinstance(impl, (Ndarray, Field)):
            raise TypeError(f"Tensor(impl) requires an Ndarray or Field; got {type(impl).__name__}")
        self._impl: Any = impl
        self._layout: tuple[int, ...] | None = getattr(impl, "_tensor_layout", None)
        self._grad: Tensor | None = None

    def _unwrap(self) -> Any:
        """The ndarray or field."""
        return self._impl

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self._impl.shape

    @property
    def dtype(self) -> Any:
        """Scalar type of the elements."""
        return self._impl.dtype

    @property
    def layout(self) -> tuple[int, ...] | None:
        """Axes in the order of storage, outermost first, where one was given."""
        return self._layout

    @property
    def grad(self) -> "Tensor | None":
        """The gradients as a tensor, the same object each time; None when there are none."""
        inner = self._impl.grad
        if inner is None:
            return None
        if self._grad is None or self._grad._impl is not inner:
            self._grad = wrap(inner)
            self._grad._layout = self._layout
        return self._grad

    def has_grad(self) -> bool:
        """Whether there is storage for gradients."""
        return self._impl.has_grad()

    def has_dual(self) -> bool:
        """Whether there is storage for forward gradients."""
        return self._impl.has_dual()

    def __getitem__(self, key: Any) -> Any:
        return self._impl[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._impl[key] = value

    def fill(self, value: Any) -> None:
        """Sets every element."""
        self._impl.fill(value)

    def copy_from(self, other: Any) -> None:
        """Copies the elements of a tensor of the same shape and backend. TypeError for another backend."""
        source = other._impl if isinstance(other, Tensor) else other
        if isinstance(source, Ndarray) != isinstance(self._impl, Ndarray):
            raise TypeError(
                f"copy_from: this tensor is a {_backend_of(self._impl).name}, the source is a "
                f"{_backend_of(source).name if isinstance(source, (Ndarray, Field)) else type(source).__name__}"
            )
        self._impl.copy_from(source)

    def to_numpy(self, *args: Any, **kwargs: Any) -> Any:
        """The elements as an array; arguments as for the ndarray or field."""
        return self._impl.to_numpy(*args, **kwargs)

    def from_numpy(self, arr: Any) -> None:
        """Sets every element from an array of the tensor's shape."""
        self._impl.from_numpy(arr)

    def to_torch(self, *args: Any, **kwargs: Any) -> Any:
        """As `to_numpy`, as a PyTorch tensor."""
        return self._impl.to_torch(*args, **kwargs)

    def from_torch(self, arr: Any) -> None:
        """As `from_numpy`, from a PyTorch tensor."""
        self._impl.from_torch(arr)

    def to_dlpack(self, versioned: bool = False) -> Any:
        """A DLPack capsule over the memory."""
        return self._impl.to_dlpack(versioned)

    def __repr__(self) -> str:
        layout = f", layout={self._layout}" if self._layout is not None else ""
        dtype = getattr(self.dtype, "name", self.dtype)
        return f"Tensor(shape={self.shape}, dtype={dtype}, backend={_backend_of(self._impl).name}{layout})"

    def __reduce__(self) -> tuple[Any, ...]:
        shape = tuple(self._impl.element_shape)
        data = self._impl._live().load()
        return _rebuild, (self.dtype.name, shape, self.shape, self._layout, int(_backend_of(self._impl)), data)


class _Elements(Tensor):
    __slots__ = ()

    @property
    def element_shape(self) -> tuple[int, ...]:
        """(n,) for vectors, (n, m) for matrices."""
        return tuple(self._impl.element_shape)


class VectorTensor(_Elements):
    """A tensor of vectors."""

    __slots__ = ()


class MatrixTensor(_Elements):
    """A tensor of matrices."""

    __slots__ = ()


def _backend_of(impl: Any) -> Backend:
    return Backend.NDARRAY if isinstance(impl, Ndarray) else Backend.FIELD


def wrap(impl: Any) -> Tensor:
    """The tensor over an ndarray or field, of the class that its elements ask for. TypeError for anything else."""
    dims = len(impl.element_shape) if isinstance(impl, (Ndarray, MatrixField)) else 0
    return (Tensor, VectorTensor, MatrixTensor)[dims](impl)


def _rebuild(dtype: str, element_shape: Any, shape: Any, layout: Any, backend: int, data: Any) -> Tensor:
    """Makes a tensor again from its pickle; needs `init`."""
    from quadrants import _native

    made = _create(getattr(_native, dtype), tuple(element_shape), shape, Backend(backend), layout, False)
    made._impl._live().store(data)
    return made


def layout_code(layout: tuple[int, ...]) -> int:
    """A permutation as the 24 bits of an ndarray's kind id."""
    return sum((axis + 1) << (4 * place) for place, axis in enumerate(layout))


def layout_of(kind: int) -> tuple[int, ...] | None:
    """The permutation in a kind id, None when the axes are stored in their order."""
    code, out = kind >> 40, []
    while code:
        out.append((code & 15) - 1)
        code >>= 4
    return tuple(out) or None


def _checked_layout(layout: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    if layout is None:
        return None
    layout = tuple(layout)
    if len(layout) != len(shape):
        raise ValueError(f"layout has {len(layout)} entries but shape has {len(shape)} dimensions; they must match")
    if sorted(layout) != list(range(len(shape))):
        raise ValueError(f"layout={layout} is not a permutation of range({len(shape)})")
    if len(layout) > MAX_LAYOUT_AXES:
        raise ValueError(f"layout= takes at most {MAX_LAYOUT_AXES} axes, got {len(layout)}")
    return layout


def _permuted_ndarray(dtype: Any, shape: tuple[int, ...], layout: tuple[int, ...], needs_grad: bool) -> Ndarray:
    """An ndarray of scalars whose axes are stored in the order of `layout`."""
    made = ndarray(dtype, tuple(shape[axis] for axis in layout), needs_grad)
    for one in (made, made.grad):
        if one is None:
            continue
        stored: Any = one._live()
        strides = [0] * len(shape)
        for axis, stride in zip(layout, stored.strides):
            strides[axis] = stride
        one._elements = host.Elements(one.buffer, one.dtype, shape, tuple(strides), 0)
        one._shape = shape
        one._lay_out(layout_code(layout))
        one._tensor_layout = layout  # type: ignore[attr-defined]
    return made


def _create(
    dtype: Any, element_shape: tuple[int, ...], shape: Any, backend: Any, layout: Any, needs_grad: bool
) -> Tensor:
    shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    backend, layout = Backend(backend), _checked_layout(layout, shape)
    moved = layout is not None and layout != tuple(range(len(shape)))
    impl: Any
    if backend is Backend.NDARRAY and moved:
        impl = _permuted_ndarray(cook_dtype(dtype), shape, layout, needs_grad)
    elif backend is Backend.NDARRAY:
        from quadrants.lang.ndarray import create_ndarray

        impl = create_ndarray(dtype, shape, element_shape, needs_grad)
    elif element_shape:
        impl = create_matrix_field(dtype, element_shape, shape, needs_grad=needs_grad)
    else:
        order = "".join("ijklmnopqrst"[axis] for axis in layout) if moved else None
        impl = field(dtype, shape, order, needs_grad=needs_grad)
    made = wrap(impl)
    made._layout = layout
    return made


def _refuse(name: str, given: dict[str, Any], accepted: str) -> None:
    if "order" in given:
        raise TypeError(f"{name}(...) does not accept order=; pass layout=(...) instead")
    if given:
        raise TypeError(f"{name}() got unexpected keyword argument(s) {sorted(given)}; accepted: {accepted}")


def tensor(
    dtype: Any,
    shape: Any,
    *,
    backend: Any = Backend.NDARRAY,
    layout: Any = None,
    needs_grad: bool = False,
    **kwargs: Any,
) -> Tensor:
    """A tensor of scalars, or of vectors or matrices when `dtype` is such a type; zeroed. Needs `init`.

    `layout` is a permutation of the axes, outermost first. ValueError for anything else there; TypeError for a layout
    of vectors or matrices and for other keywords.
    """
    _refuse("qd.tensor", kwargs, "backend, dtype, layout, needs_grad, shape")
    if isinstance(dtype, MatrixType):
        if layout is not None:
            raise TypeError(
                "layout= is not supported with compound dtypes (vector/matrix). "
                "Use qd.Vector.tensor(...) or qd.Matrix.tensor(...) without layout= instead."
            )
        return _create(dtype.dtype, dtype.whole_shape(), shape, backend, None, needs_grad)
    return _create(dtype, (), shape, backend, layout, needs_grad)


def element_tensor(name: str) -> Callable[..., Tensor]:
    """`Vector.tensor` and `Matrix.tensor`."""

    def make(
        element_shape: tuple[int, ...],
        dtype: Any,
        shape: Any,
        *,
        backend: Any = Backend.NDARRAY,
        needs_grad: bool = False,
        **kwargs: Any,
    ) -> Tensor:
        _refuse(name, kwargs, "backend, dtype, needs_grad, shape")
        return _create(dtype, element_shape, shape, backend, None, needs_grad)

    return make


_Tensor, _VectorTensor, _MatrixTensor, _wrap = Tensor, VectorTensor, MatrixTensor, wrap

"""`qd.Matrix` and `qd.Vector` outside kernels: small values over a NumPy array, with the operators that kernels have.

An element of a field or ndarray read on the host is such a value over the element's memory, so writes go through and
later changes show; where memory is not mapped, each use reads the element and each change writes it. Arithmetic is done on 64-bit numbers whatever the element
type, and its results are values of their own.
"""

import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from quadrants.lang import traced
from quadrants.lang.exception import (
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsTypeError,
)
from quadrants.lang.swizzle_attributes import patterns
from quadrants.lang.util import array_of, cook_dtype, to_quadrants_type

MANY_ENTRIES = 144


def _as_array(values: Any) -> np.ndarray:
    if isinstance(values, Matrix):
        return values._a
    if not hasattr(values, "__len__") or isinstance(values, (str, bytes, dict)):
        raise QuadrantsTypeError("An Matrix/Vector can only be initialized with an array-like object")
    parts = [_as_array(one) if isinstance(one, (Matrix, list, tuple)) else one for one in values]
    return array_of(parts)


def _wide(array: np.ndarray) -> np.ndarray:
    """The array with the type that Python numbers have: float64, int64, uint64."""
    if array.dtype.kind == "f":
        return array.astype(np.float64, copy=False)
    return array if array.dtype.kind == "u" and array.dtype.itemsize == 8 else array.astype(np.int64, copy=False)


def _plain(value: Any) -> Any:
    """A Python number for a scalar, a Matrix for an array."""
    return _make(value) if isinstance(value, np.ndarray) and value.ndim else np.asarray(value).item()


def _make(array: np.ndarray, dt: Any = None) -> "Matrix":
    """A value over this array, without a copy. `dt` is the element type where one was asked for."""
    matrix = object.__new__(Vector if array.ndim == 1 else Matrix)
    matrix._a, matrix._dt = array, dt
    return matrix


def _typed(array: np.ndarray, dt: Any) -> "Matrix":
    """A value of these entries with an element type, cast as kernels cast."""
    from quadrants.lang.host import cast_array

    dtype = cook_dtype(dt)
    return _make(np.array(cast_array(array, dtype)), dtype)


def _binary(function: Callable[[Any, Any], Any], mirrored: bool = False) -> Callable[["Matrix", Any], Any]:
    def method(self: "Matrix", other: Any) -> Any:
        mine, theirs = _wide(self._a), other
        if not isinstance(other, (int, float)):
            theirs = _wide(other._a if isinstance(other, Matrix) else np.asarray(other))
            if theirs.ndim and theirs.shape != mine.shape:
                raise ValueError(f"operands could not be broadcast together with shapes {mine.shape} {theirs.shape}")
        return _plain(function(theirs, mine) if mirrored else function(mine, theirs))

    return method


def _comparison(
    function: Callable[[Any, Any], Any], truth: Callable[[np.ndarray], Any]
) -> Callable[["Matrix", Any], Any]:
    """An operator whose result is true or false as a whole, too, so that `assert a == b` means what it says."""
    entrywise = _binary(function)

    def method(self: "Matrix", other: Any) -> Any:
        result = entrywise(self, other)
        result._truth = truth
        return result

    return method


# Attributes that the class does not list: `dir(qd.Matrix)` is fixed by what programs have seen.
_HIDDEN: dict[str, Callable[[Any], Any]] = {
    "n": lambda self: self._a.shape[0],
    "m": lambda self: 1 if self._a.ndim == 1 else self._a.shape[1],
    "ndim": lambda self: self._a.ndim,
    "entries": lambda self: self._a,
    "dtype": lambda self: self._dt,
}


_Swizzled = type("_Swizzled", (), patterns())


class Matrix(_Swizzled):  # type: ignore[misc, valid-type]
    """A small matrix (n rows, m columns) or, of class Vector, a vector (n entries).

    `arr` holds numbers, nested for a matrix; `dt` casts them. Entries are `m[i, j]` and `v[i]`.
    QuadrantsTypeError for anything but an array-like object; a warning above 144 entries.
    """

    _a: np.ndarray
    _dt: Any  # the element type where one was asked for; None: numbers, as Python has them
    _is_element = False  # an element of a tensor: numbers read are Python's, numbers written must be of its type
    _truth: Callable[[np.ndarray], Any] | None = None  # of a result of == or !=
    __array_priority__ = 1000.0  # an ndarray on the left leaves the operator to this class
    __array_ufunc__ = None

    def __new__(cls, arr: Any = (), dt: Any = None) -> "Matrix":
        if traced.walker() is not None and traced.holds(arr):
            return traced.in_kernel(cls, (arr,), {} if dt is None else {"dt": dt})
        array = np.array(_as_array(arr))
        if array.ndim not in (1, 2):
            raise QuadrantsTypeError(f"A Matrix/Vector has one or two axes, got an object with {array.ndim}")
        if array.size > MANY_ENTRIES:
            text = "x".join(map(str, array.shape))
            warnings.warn(
                f"Quadrants matrices/vectors with {text} > {MANY_ENTRIES} entries are not suggested: "
                "kernels unroll them. A field holds a large matrix.",
                stacklevel=2,
            )
        return _make(array) if dt is None else _typed(array, dt)

    def __getattr__(self, name: str) -> Any:
        if name in _HIDDEN:
            return _HIDDEN[name](self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (np.array(self._a), self._dt)

    # -- shape and entries
    def get_shape(self) -> tuple[int, ...]:
        """(n, m), or (n,) for a vector."""
        return self._a.shape

    def to_list(self) -> list[Any]:
        """The entries as Python numbers, nested for a matrix."""
        return (self._a if self._a.dtype.kind == "b" else _wide(self._a)).tolist()

    def to_numpy(self) -> np.ndarray:
        """A copy of the entries."""
        return np.array(self._a)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._a, dtype=dtype)

    def __len__(self) -> int:
        return self._a.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list()) if self._a.ndim == 2 else (self[k] for k in range(len(self)))

    def _checked_index(self, index: Any) -> tuple[Any, ...]:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != self._a.ndim:
            raise QuadrantsIndexError(f"Expected {self._a.ndim} indices, got {len(index)}")
        return tuple(one if isinstance(one, slice) else operator.index(one) for one in index)

    def __getitem__(self, index: Any) -> Any:
        part = self._a[self._checked_index(index)]
        if isinstance(part, np.ndarray) and part.ndim:
            return _make(np.array(part))
        if part.dtype.kind == "f" and part.dtype.itemsize < 8 and not self._is_element:
            return part  # compares with the number it was made of: qd.math.vec2(0.1, 0).x == 0.1
        return _plain(_wide(np.asarray(part)))

    def _subset(self, indices: list[int]) -> "Matrix":
        return _make(self._a[indices], self._dt)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._assign(self._checked_index(index), value)

    def _assign(self, index: Any, value: Any) -> None:
        from quadrants.lang.host import cast_array, number_for

        array = self._a
        dtype = to_quadrants_type(array.dtype)
        source = value._a if isinstance(value, Matrix) else value
        if isinstance(source, (list, tuple)):
            source = np.array(_as_array(source))
        if isinstance(source, np.ndarray) and source.ndim:
            target = array[index].shape
            if source.shape != target:
                raise ValueError(f"cannot assign entries of shape {source.shape} to entries of shape {target}")
            array[index] = cast_array(source, dtype)
        elif isinstance(source, (float, np.floating)) and not self._is_element:
            array[index] = cast_array(np.asarray(source), dtype)
        else:
            array[index] = number_for(source, dtype)
        self._changed(array)

    def _changed(self, array: np.ndarray) -> None:
        """Called with the entries after each change of them."""

    def fill(self, val: Any) -> None:
        """Sets every entry to one number."""
        self._assign(..., val)

    def cast(self, dtype: Any) -> "Matrix":
        """The same entries with another element type, cast as kernels cast."""
        return _typed(self._a, dtype)

    def __repr__(self) -> str:
        return str(self._a)

    def __bool__(self) -> bool:
        if self._truth is None:
            raise ValueError("The truth value of a matrix or vector is ambiguous. Consider using `any` or `all`.")
        return bool(self._truth(self._a))

    # -- reductions
    def all(self) -> bool:
        """Whether every entry is nonzero."""
        return bool(self._a.all())

    def any(self) -> bool:
        """Whether an entry is nonzero."""
        return bool(self._a.any())

    def sum(self) -> Any:
        """Sum of the entries."""
        return _plain(_wide(self._a).sum())

    def max(self) -> Any:
        """The largest entry."""
        return _plain(_wide(self._a).max())

    def min(self) -> Any:
        """The smallest entry."""
        return _plain(_wide(self._a).min())

    def norm_sqr(self) -> Any:
        """Sum of the squares."""
        wide = _wide(self._a)
        return _plain((wide * wide).sum())

    def norm(self, eps: float = 0.0) -> float:
        """sqrt(norm_sqr + eps)."""
        return float(np.sqrt(self.norm_sqr() + eps))

    def norm_inv(self, eps: float = 0.0) -> float:
        """1 / norm(eps)."""
        return 1.0 / self.norm(eps)

    def normalized(self, eps: float = 0.0) -> "Matrix":
        """The entries over (norm + eps)."""
        return self / (self.norm() + eps)

    # -- products
    def dot(self, other: "Matrix") -> Any:
        """Scalar product of two vectors."""
        mine, theirs = _vectors(self, other, "dot")
        return _plain(np.dot(mine, theirs))

    def cross(self, other: "Matrix") -> Any:
        """Cross product: a vector for three entries, a number for two. QuadrantsCompilationError for other vectors."""
        a, b = _vectors(self, other, "cross")
        if len(a) == 2:
            return _plain(a[0] * b[1] - a[1] * b[0])
        if len(a) != 3:
            raise QuadrantsCompilationError(f"Cross product takes vectors of 2 or 3 entries, got shape {a.shape}")
        return _make(a[[1, 2, 0]] * b[[2, 0, 1]] - a[[2, 0, 1]] * b[[1, 2, 0]])

    def outer_product(self, other: "Matrix") -> "Matrix":
        """The n x m matrix of all products of two vectors of n and m entries. QuadrantsCompilationError for matrices."""
        if self._a.ndim != 1 or other._a.ndim != 1:
            raise QuadrantsCompilationError("outer_product takes two vectors")
        return _make(np.outer(_wide(self._a), _wide(other._a)))

    def frobenius_inner(self, other: "Matrix") -> Any:
        """Sum of the entrywise products."""
        return (self * other).sum()

    def __matmul__(self, other: Any) -> Any:
        other = other if isinstance(other, Matrix) else Matrix(other)
        if self._a.shape[-1] != other._a.shape[0]:
            raise QuadrantsTypeError(f"`@` cannot combine shapes {self._a.shape} and {other._a.shape}")
        return _plain(_wide(self._a) @ _wide(other._a))

    # -- square matrices
    def transpose(self) -> "Matrix":
        """Rows and columns exchanged. QuadrantsCompilationError for a vector."""
        if self._a.ndim == 1:
            raise QuadrantsCompilationError(
                "`transpose()` cannot apply to a vector. If you want something like `a @ b.transpose()`, "
                "write `a.outer_product(b)` instead."
            )
        return _make(np.array(self._a.T))

    def _square(self, largest: int, what: str) -> np.ndarray:
        shape = self._a.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise QuadrantsCompilationError(f"expected a square matrix, got shape {shape}")
        if shape[0] > largest:
            raise QuadrantsCompilationError(f"{what} takes matrices up to {largest}x{largest}, got shape {shape}")
        return _wide(self._a)

    def trace(self) -> Any:
        """Sum of the diagonal."""
        return _plain(np.trace(self._square(1 << 30, "trace")))

    def determinant(self) -> Any:
        """The determinant, up to 4x4; an integer for integers."""
        return _plain(np.asarray(_determinant(self._square(4, "determinant"))))

    def inverse(self) -> "Matrix":
        """The inverse, up to 12x12. Entries of a singular matrix are not finite."""
        square = self._square(12, "inverse").astype(np.float64)
        try:
            return _make(np.linalg.inv(square))
        except np.linalg.LinAlgError:
            return _make(np.full(square.shape, np.inf))

    # -- operators
    __add__, __radd__ = _binary(operator.add), _binary(operator.add, True)
    __sub__, __rsub__ = _binary(operator.sub), _binary(operator.sub, True)
    __mul__, __rmul__ = _binary(operator.mul), _binary(operator.mul, True)
    __truediv__, __rtruediv__ = _binary(operator.truediv), _binary(operator.truediv, True)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv), _binary(operator.floordiv, True)
    __mod__, __rmod__ = _binary(operator.mod), _binary(operator.mod, True)
    __pow__, __rpow__ = _binary(operator.pow), _binary(operator.pow, True)
    __and__, __rand__ = _binary(operator.and_), _binary(operator.and_, True)
    __or__, __ror__ = _binary(operator.or_), _binary(operator.or_, True)
    __xor__, __rxor__ = _binary(operator.xor), _binary(operator.xor, True)
    __lshift__, __rlshift__ = _binary(operator.lshift), _binary(operator.lshift, True)
    __rshift__, __rrshift__ = _binary(operator.rshift), _binary(operator.rshift, True)
    __eq__, __ne__ = _comparison(operator.eq, np.all), _comparison(operator.ne, np.any)  # type: ignore[assignment]
    __lt__, __le__ = _binary(operator.lt), _binary(operator.le)
    __gt__, __ge__ = _binary(operator.gt), _binary(operator.ge)
    __hash__ = object.__hash__

    def __neg__(self) -> "Matrix":
        return _make(-_wide(self._a))

    def __pos__(self) -> "Matrix":
        return _make(np.array(self._a))

    def __abs__(self) -> "Matrix":
        return _make(abs(_wide(self._a)))

    def __invert__(self) -> "Matrix":
        return _make(~_wide(self._a))

    # -- makers; static, so that `Matrix.zero is Vector.zero`
    @staticmethod
    def zero(dt: Any, n: int, m: int | None = None) -> "Matrix":
        """All zeros: a vector of n entries, or n rows and m columns."""
        return _typed(np.zeros((n,) if m is None else (n, m), np.bool_), dt)

    @staticmethod
    def one(dt: Any, n: int, m: int | None = None) -> "Matrix":
        """All ones."""
        return _typed(np.ones((n,) if m is None else (n, m), np.bool_), dt)

    @staticmethod
    def unit(n: int, i: int, dt: Any = None) -> "Matrix":
        """The vector of n entries whose entry i is 1, of type `dt` (default_ip). ValueError for an entry that isn't there."""
        if not 0 <= i < n:
            raise ValueError(f"unit({n}, {i}): expected 0 <= i < n")
        return _typed(np.arange(n) == i, int if dt is None else dt)

    @staticmethod
    def identity(dt: Any, n: int) -> "Matrix":
        """The identity of n rows."""
        return _typed(np.eye(n), dt)

    @staticmethod
    def diag(dim: int, val: Any) -> "Matrix":
        """`val` on the diagonal, zero elsewhere."""
        return _make(np.diag([val] * dim))

    @staticmethod
    def rows(rows: list[Any]) -> "Matrix":
        """The matrix of these rows: vectors or lists of equal length."""
        return _make(_stacked(rows))

    @staticmethod
    def cols(cols: list[Any]) -> "Matrix":
        """The matrix of these columns."""
        return _make(np.array(_stacked(cols).T))

    @classmethod
    def field(cls, n: int, m: int, dtype: Any, shape: Any = None, **kwargs: Any) -> Any:
        """A field of n by m matrices; keywords as for `qd.field`, `layout` and `ndim` too."""
        from quadrants.lang.field import create_matrix_field

        ndim = kwargs.pop("ndim", None)
        return create_matrix_field(dtype, (n, m) if ndim != 1 else (n,), shape, **kwargs)

    @classmethod
    def ndarray(cls, n: int, m: int, dtype: Any, shape: Any, needs_grad: bool = False) -> Any:
        """An ndarray of n by m matrices."""
        from quadrants.lang.ndarray import create_ndarray

        return create_ndarray(dtype, shape, (n, m), needs_grad)

    @classmethod
    def tensor(cls, n: int, m: int, dtype: Any, shape: Any, **kwargs: Any) -> Any:
        """A tensor of n by m matrices; keywords `backend`, `needs_grad`."""
        from quadrants.lang.tensor import element_tensor

        return element_tensor("qd.Matrix.tensor")((n, m), dtype, shape, **kwargs)


class Vector(Matrix):
    """A small vector; see Matrix."""

    @classmethod
    def field(cls, n: int, dtype: Any, shape: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """A field of vectors of n entries; keywords as for `qd.field`, `layout` too."""
        from quadrants.lang.field import create_matrix_field

        return create_matrix_field(dtype, (n,), shape, **kwargs)

    @classmethod
    def ndarray(cls, n: int, dtype: Any, shape: Any, needs_grad: bool = False) -> Any:  # type: ignore[override]
        """An ndarray of vectors of n entries."""
        from quadrants.lang.ndarray import create_ndarray

        return create_ndarray(dtype, shape, (n,), needs_grad)

    @classmethod
    def tensor(cls, n: int, dtype: Any, shape: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """A tensor of vectors of n entries; keywords `backend`, `needs_grad`."""
        from quadrants.lang.tensor import element_tensor

        return element_tensor("qd.Vector.tensor")((n,), dtype, shape, **kwargs)


def _vectors(a: Matrix, b: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
    theirs = _as_array(b)
    if a._a.ndim != 1 or theirs.shape != a._a.shape:
        raise QuadrantsCompilationError(
            f"`{what}` takes two vectors of one length, got shapes {a._a.shape}, {theirs.shape}"
        )
    return _wide(a._a), _wide(theirs)


def _stacked(parts: list[Any]) -> np.ndarray:
    arrays = [_as_array(part) for part in parts]
    if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1:
        raise QuadrantsTypeError("rows and columns are given as vectors or lists of one length")
    return np.stack(arrays)


def _determinant(a: np.ndarray) -> Any:
    if len(a) == 1:
        return a[0, 0]
    minors = (np.delete(a[1:], k, axis=1) for k in range(len(a)))
    return sum((-1) ** k * a[0, k] * _determinant(minor) for k, minor in enumerate(minors))


class _Remote(Matrix):
    """An element in memory that is not mapped for the host: read at each use, written at each change."""

    _is_element = True

    @property
    def _a(self) -> np.ndarray:  # type: ignore[override]
        return self._elements.part(self._at)

    def _changed(self, array: np.ndarray) -> None:
        self._elements.write_part(self._at, array)


class _RemoteVector(_Remote, Vector):
    pass


def element_value(elements: Any, index: tuple[int, ...]) -> Matrix:
    """The vector or matrix at `index` of a tensor (host.Elements): writes to it reach the tensor, and it shows what the
    tensor holds."""
    if elements.array is not None:
        mapped = _make(elements.part(index), elements.dtype)
        mapped._is_element = True
        return mapped
    value = object.__new__(_RemoteVector if len(elements.shape) - len(index) == 1 else _Remote)
    value._elements, value._at, value._dt = elements, index, elements.dtype
    return value

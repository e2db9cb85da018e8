"""Vector and matrix types: callable in Python to build a value, and makers of fields and ndarrays of their own kind.

Two types with equal shape and element type are equal, so a type can be written anew wherever it is needed.
"""

from collections.abc import Iterator
from typing import Any

from quadrants.lang.exception import QuadrantsSyntaxError


def _flat(parts: tuple[Any, ...]) -> Iterator[Any]:
    for part in parts:
        if hasattr(part, "__len__") and getattr(part, "ndim", 1) != 0:
            entries = part.to_list() if hasattr(part, "to_list") else part
            yield from _flat(tuple(entries))
        else:
            yield part


class DefaultUnsigned:
    """Stands for the unsigned integers as wide as `default_ip`, as `int` stands for `default_ip` itself."""


def _scalar_type(dtype: Any) -> Any:
    if dtype is None or dtype in (int, float, DefaultUnsigned):  # the default types are known at init only
        return dtype
    from quadrants.lang.util import cook_dtype

    return cook_dtype(dtype)


class MatrixType:
    """`qd.types.matrix(n, m, dtype)`. `dtype` None leaves the element type to the value; `int`, `float` follow init."""

    def __init__(self, n: int | None = None, m: int | None = None, dtype: Any = None, ndim: int = 2) -> None:
        self.n, self.m, self.ndim = n, m, ndim
        self._dtype = _scalar_type(dtype)

    @property
    def dtype(self) -> Any:
        """The scalar type, or None."""
        if isinstance(self._dtype, type):
            from quadrants import _native
            from quadrants.lang.util import cook_dtype

            if self._dtype is DefaultUnsigned:
                return _native.u64 if cook_dtype(int).size == 8 else _native.u32
            return cook_dtype(self._dtype)
        return self._dtype

    def get_shape(self) -> tuple[int | None, ...]:
        """(n, m), or (n,) for a vector."""
        return (self.n,) if self.ndim == 1 else (self.n, self.m)

    def whole_shape(self) -> tuple[int, ...]:
        """The shape of an element that can be made. ValueError for a type without a size or an element type."""
        n, m = self.n, 1 if self.ndim == 1 else self.m
        if n is None or m is None or self.dtype is None:
            raise ValueError(f"{self} needs a size and an element type: it can only annotate what is given by a value")
        return (n,) if self.ndim == 1 else (n, m)

    def _key(self) -> tuple[Any, ...]:
        return (self.ndim, self.n, self.m, getattr(self.dtype, "id", self.dtype))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, *parts: Any) -> Any:
        """A value: one number for all entries, or all entries, flat or nested. ValueError for another count."""
        from quadrants.lang import traced
        from quadrants.lang.matrix import Matrix, Vector

        if traced.walker() is not None and traced.holds(parts):
            return traced.in_kernel(self, parts, {})
        if self.n is None or self.m is None:
            raise ValueError(f"{self} has no shape to build a value of")
        if not parts:
            raise QuadrantsSyntaxError(f"Custom type instances need to be created with an initial value: {self}(0)")
        entries = list(_flat(parts))
        if len(entries) == 1:
            entries *= self.n * self.m
        if len(entries) != self.n * self.m:
            raise ValueError(f"{self} takes 1 or {self.n * self.m} entries, got {len(entries)}")
        if self.ndim == 1:
            return Vector(entries, self.dtype)
        return Matrix([entries[row * self.m : (row + 1) * self.m] for row in range(self.n)], self.dtype)

    def field(self, **kwargs: Any) -> Any:
        """A field of this element type; keywords as for `qd.Matrix.field`."""
        from quadrants.lang.matrix import Matrix, Vector

        shape = self.whole_shape()
        if self.ndim == 1:
            return Vector.field(shape[0], dtype=self.dtype, **kwargs)
        return Matrix.field(shape[0], shape[1], dtype=self.dtype, **kwargs)

    def ndarray(self, **kwargs: Any) -> Any:
        """An ndarray of this element type; keywords as for `qd.Matrix.ndarray`."""
        from quadrants.lang.matrix import Matrix, Vector

        shape = self.whole_shape()
        if self.ndim == 1:
            return Vector.ndarray(shape[0], dtype=self.dtype, **kwargs)
        return Matrix.ndarray(shape[0], shape[1], dtype=self.dtype, **kwargs)

    def to_string(self) -> str:
        """How the type is written."""
        dtype = self.dtype.to_string() if self.dtype is not None else "None"
        return f"vector({self.n}, {dtype})" if self.ndim == 1 else f"matrix({self.n}, {self.m}, {dtype})"

    def __repr__(self) -> str:
        return f"<qd.types.{self.to_string()}>"


class VectorType(MatrixType):
    """`qd.types.vector(n, dtype)`."""

    def __init__(self, n: int | None = None, dtype: Any = None, unpacked: bool = False) -> None:
        super().__init__(n, 1, dtype, ndim=1)
        self.unpacked = unpacked


def vector(n: int | None = None, dtype: Any = None, *, unpacked: bool = False) -> VectorType:
    """The type of vectors of `n` entries."""
    return VectorType(n, dtype, unpacked)


def matrix(n: int | None = None, m: int | None = None, dtype: Any = None) -> MatrixType:
    """The type of matrices of `n` rows and `m` columns."""
    return MatrixType(n, m, dtype)

"""The attributes `x`, `zyx`, `rgb`, … of vectors outside kernels; inside, they are lang/swizzle.py's."""

from itertools import product
from typing import Any

from quadrants.lang.exception import QuadrantsRuntimeError, QuadrantsSyntaxError

GROUPS = ("xyzw", "rgba", "stpq")


class Swizzle:
    """Attribute of a pattern such as `zyx`: reads a value of those entries, writes them."""

    __slots__ = ("letters", "pattern")

    def __init__(self, letters: str, pattern: str) -> None:
        self.letters, self.pattern = letters, pattern

    def _indices(self, matrix: Any) -> list[int]:
        n = matrix._a.shape[0]
        indices = [self.letters.index(letter) for letter in self.pattern]
        if max(indices) >= n:
            raise QuadrantsSyntaxError(
                f"vec{n} only has attributes={tuple(self.letters[:n])}, got={tuple(self.pattern)}"
            )
        return indices

    def __get__(self, matrix: Any, owner: type) -> Any:
        if matrix is None:
            return self
        indices = self._indices(matrix)
        return matrix[indices[0]] if len(indices) == 1 else matrix._subset(indices)

    def __set__(self, matrix: Any, value: Any) -> None:
        indices = self._indices(matrix)
        if len(set(indices)) != len(indices):
            raise QuadrantsSyntaxError(f"cannot assign to `.{self.pattern}`: an entry occurs twice")
        if hasattr(value, "__len__") and len(value) != len(indices):
            raise QuadrantsRuntimeError(
                f"value len does not match the swizzle pattern={self.pattern}: expected {len(indices)} entries, got {len(value)}"
            )
        matrix._assign(indices[0] if len(indices) == 1 else indices, value)


def patterns() -> dict[str, Swizzle]:
    """The attributes of vectors by their patterns."""
    every = ((letters, map("".join, product(letters, repeat=k))) for letters in GROUPS for k in range(1, 5))
    return {pattern: Swizzle(letters, pattern) for letters, some in every for pattern in some}

"""Components of vector and matrix fields, as fields of numbers over the same memory.

A component can be asked for before its field is placed, and be placed itself: when the last one has been, the whole
field gets its memory, so that a field has one buffer whatever way it was placed.
"""

from typing import Any

from quadrants.lang import host
from quadrants.lang.field import Field, MatrixField, ScalarField
from quadrants.lang.impl import get_runtime
from quadrants.lang.snode import SNode


class ComponentField(ScalarField):
    """Component `number` (row by row) of a vector or matrix field."""

    def __init__(self, whole: MatrixField, number: int, name: str) -> None:
        super().__init__(whole.dtype, (), None, name, whole._role)
        get_runtime().unplaced.discard(self)  # whether it is placed is said of the whole field
        self._whole, self._number = whole, number
        if whole._is_placed():
            whole._live()
            self._attach()

    @property
    def _owner(self) -> Field:
        return self._whole

    def _attach(self) -> None:
        """Takes the memory of the whole field, which has just got it."""
        whole = self._whole
        start = whole.element_strides[self._number]
        self.buffer, self.strides, self.element_strides = whole.buffer, whole.strides, (0,)
        self.base, self.offset = start, whole.offset
        self._shape, self._snode = whole.shape, self._snode or whole._snode
        self._elements = host.Elements(self.buffer, self._dtype, self._shape, self.strides, start)

    def _place(self, node: SNode, offset: Any) -> None:
        """Notes where the component belongs; the last one places the whole field, when all have one shape."""
        whole = self._whole
        if self._shape is not None:
            raise RuntimeError(f"{self!r} has been placed already")
        self._shape, self._snode = node.shape, node
        shapes = component_shapes(whole)
        if None not in shapes and len(set(shapes)) == 1:
            whole._place(node, offset)

    def _release(self, why: str) -> None:
        super()._release(why)
        if self._whole._elements is not None:
            self._whole._release(why)


def component_shapes(field: Any) -> list[tuple[int, ...] | None]:
    """Shapes that the components of a field have been placed with, None for one that has not; [] for other fields."""
    if not isinstance(field, MatrixField) or not field._components:
        return []
    count = field.n * field.m
    return [field._components[k]._shape if k in field._components else None for k in range(count)]

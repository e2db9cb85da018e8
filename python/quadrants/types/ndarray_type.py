"""An old path: see quadrants.types.annotations."""

from quadrants.types.annotations import NDArray as NDArray
from quadrants.types.annotations import NdarrayType as NdarrayType
from quadrants.types.annotations import ndarray as ndarray

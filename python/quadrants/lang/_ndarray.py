"""An old path: see quadrants.lang.ndarray."""

from quadrants.lang.ndarray import Ndarray as Ndarray
from quadrants.lang.ndarray import NdarrayTypeMetadata as NdarrayTypeMetadata
from quadrants.lang.ndarray import ScalarNdarray as ScalarNdarray

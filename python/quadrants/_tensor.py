"""An old path: see quadrants.lang.tensor."""

from quadrants.lang.tensor import Backend as Backend
from quadrants.lang.tensor import Tensor as Tensor
from quadrants.lang.tensor import tensor as tensor

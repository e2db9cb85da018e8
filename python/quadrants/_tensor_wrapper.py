"""An old path: see quadrants.lang.tensor."""

from quadrants.lang.tensor import MatrixTensor as MatrixTensor
from quadrants.lang.tensor import Tensor as Tensor
from quadrants.lang.tensor import VectorTensor as VectorTensor
from quadrants.lang.tensor import wrap as wrap

"""An old path: see quadrants.lang.decompositions and quadrants.lang.ops."""

from quadrants.lang.decompositions import eig as eig
from quadrants.lang.decompositions import make_spd as make_spd
from quadrants.lang.decompositions import polar_decompose as polar_decompose
from quadrants.lang.decompositions import solve as solve
from quadrants.lang.decompositions import svd as svd
from quadrants.lang.decompositions import sym_eig as sym_eig
from quadrants.lang.ops import randn as randn

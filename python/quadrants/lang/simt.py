"""An old path: see quadrants.simt."""

from quadrants.simt import block as block
from quadrants.simt import grid as grid
from quadrants.simt import subgroup as subgroup
from quadrants.simt import warp as warp

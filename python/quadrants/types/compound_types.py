"""An old path: see quadrants.types.compound and quadrants.types.structs."""

from quadrants.types.compound import matrix as matrix
from quadrants.types.compound import vector as vector
from quadrants.types.structs import struct as struct

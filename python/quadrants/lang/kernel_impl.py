"""An old path: see quadrants.lang.kernel and quadrants.lang.func."""

from quadrants.lang.func import func as func
from quadrants.lang.func import pyfunc as pyfunc
from quadrants.lang.func import real_func as real_func
from quadrants.lang.kernel import data_oriented as data_oriented
from quadrants.lang.kernel import kernel as kernel

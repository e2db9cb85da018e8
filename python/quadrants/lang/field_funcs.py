"""Methods of fields inside kernels, in the language itself."""

from quadrants.lang.func import func
from quadrants.lang.static import grouped


@func
def fill(self, val):
    """Sets every element. At the top level of a kernel this is a parallel loop of its own."""
    for I in grouped(self):  # noqa: E741
        self[I] = val

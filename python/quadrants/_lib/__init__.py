"""What programs written for the older package layout import from `quadrants._lib`."""

from . import core as core

"""`qd.sparse`: sparse grids. Not supported yet; each name says so when it is used."""

import sys as _sys

from quadrants.lang.later import fill_module as _fill_module

_NAMES = _fill_module(
    _sys.modules[__name__],
    """
    grid(field_dict, shape)
    usage(x)
    """,
)


def __dir__() -> list[str]:
    return _NAMES

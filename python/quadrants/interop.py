"""`qd.interop`: sharing a device with other libraries. Not supported yet; each name says so when it is used."""

import sys as _sys

from quadrants.lang.later import fill_module as _fill_module

_NAMES = "get_mps_command_queue"
_fill_module(_sys.modules[__name__], _NAMES)


def __dir__() -> list[str]:
    return _NAMES.split()

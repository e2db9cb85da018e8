"""`qd.ad`: automatic differentiation. Not supported yet; each name says so when it is used."""

import sys as _sys

from quadrants.lang.later import fill_module as _fill_module

_NAMES = "FwdMode Tape clear_all_gradients grad_for grad_replaced no_grad"
_fill_module(_sys.modules[__name__], _NAMES)


def __dir__() -> list[str]:
    return _NAMES.split()

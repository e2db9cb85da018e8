"""`qd.ad`: automatic differentiation. Not supported yet; each name says so when it is used."""

import sys as _sys

from quadrants.lang.later import fill_module as _fill_module

_NAMES = _fill_module(
    _sys.modules[__name__],
    """
    class FwdMode(loss, param, seed=None, clear_gradients=True): clear_seed insert recover_kernels
    class Tape(loss=None, clear_gradients=True, validation=False, grad_check=None): grad insert
    clear_all_gradients(gradient_type=ADJOINT)
    grad_for(primal)
    grad_replaced(func)
    no_grad(func)
    """,
)


def __dir__() -> list[str]:
    return _NAMES

"""`qd.experimental`: things that moved elsewhere since."""

import warnings
from typing import Any

from quadrants.lang import func as _func

_NAMES = "real_func"


def real_func(func: Any) -> Any:
    """Deprecated: the same as `qd.real_func`."""
    warnings.warn(
        "qd.experimental.real_func is deprecated. Use qd.real_func instead.", DeprecationWarning, stacklevel=2
    )
    return _func.real_func(func)


def __dir__() -> list[str]:
    return _NAMES.split()

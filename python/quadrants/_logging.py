"""Log levels and the functions that write log lines; the sink is the core's, on standard error.

The level lives here as well as in the core, so that asking `is_logging_effective` costs no native call.
"""

import sys
from collections.abc import Callable

from quadrants import _native

TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL = LEVELS = ("trace", "debug", "info", "warn", "error", "critical")
_level = "info"


def check_level(level: object, origin: str) -> str:
    """The level in lower case; ValueError naming `origin`, the value and what is accepted."""
    name = level.lower() if isinstance(level, str) else level
    if name not in LEVELS and name != "off":
        raise ValueError(f"{origin}: unknown logging level {level!r}; accepted are {', '.join(LEVELS)}, off")
    return name


def set_logging_level(level: str) -> None:
    """Lets lines of this level and of more severe ones through. One of trace debug info warn error critical off."""
    global _level
    _level = check_level(level, "set_logging_level")
    _native.set_log_level("critical" if _level == "off" else _level)  # the core writes nothing at critical


def is_logging_effective(level: str) -> bool:
    """Whether a line of this level would be written now."""
    name = check_level(level, "is_logging_effective")
    return _level != "off" and name != "off" and LEVELS.index(name) >= LEVELS.index(_level)


def _get_logging(name: str) -> Callable[..., None]:
    """A function that writes a line of a level: `_get_logging("info")("{} kernels", 3)`."""

    def logger(msg: object, *args: object, **kwargs: object) -> None:
        if is_logging_effective(name):
            text = str(msg)
            text = text.format(*args, **kwargs) if args or kwargs else text
            if name == CRITICAL:  # a level that the core has no lines of
                print(f"[quadrants] [critical] {text}", file=sys.stderr, flush=True)
            else:
                _native.log(name, text)

    return logger


trace, debug, info, warn, error, critical = (_get_logging(name) for name in LEVELS)

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "TRACE", "WARN", "is_logging_effective", "set_logging_level"]

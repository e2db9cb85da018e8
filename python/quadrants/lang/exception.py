"""Exception classes of the language and of the runtime.

Two roots: `QuadrantsCompilationError` for programs that cannot be compiled, `QuadrantsRuntimeError` for everything that
fails later. The subclasses also derive from the Python class that a user would catch. The native module raises these
same classes, so there is no second hierarchy to map.
"""


class QuadrantsCompilationError(Exception):
    """A kernel or function cannot be compiled. The message holds file, line and a caret where they are known."""


class QuadrantsSyntaxError(QuadrantsCompilationError, SyntaxError):
    """The program uses a construct that the language lacks, or uses one where it is not allowed."""


class QuadrantsNameError(QuadrantsCompilationError, NameError):
    """A name is not defined where a kernel uses it."""


class QuadrantsIndexError(QuadrantsCompilationError, IndexError):
    """An index has the wrong arity or is out of range."""


class QuadrantsTypeError(QuadrantsCompilationError, TypeError):
    """An operand has a type that the operation does not take."""


class QuadrantsRuntimeError(RuntimeError):
    """The runtime cannot do what was asked: no `init` yet, a refused shape, a failed launch."""


class QuadrantsAssertionError(QuadrantsRuntimeError, AssertionError):
    """An `assert` in a kernel failed, or a checked access was out of bounds."""


class QuadrantsRuntimeTypeError(QuadrantsRuntimeError, TypeError):
    """An argument of a kernel call has the wrong type."""


def not_supported_yet(what: str) -> QuadrantsSyntaxError:
    """The error for a documented part of the language that this version lacks."""
    return QuadrantsSyntaxError(f"{what} is not supported yet")


__all__ = [
    "QuadrantsAssertionError",
    "QuadrantsCompilationError",
    "QuadrantsIndexError",
    "QuadrantsNameError",
    "QuadrantsRuntimeError",
    "QuadrantsRuntimeTypeError",
    "QuadrantsSyntaxError",
    "QuadrantsTypeError",
    "not_supported_yet",
]

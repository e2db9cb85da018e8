"""`@qd.kernel(fastcache=True)` promises that a kernel captures no numbers, strings or fields: they are errors, except that
constants by name (`UPPERCASE`) and what stands in `qd.static` only warn. The source tier itself needs no such promise."""

import enum

from quadrants.lang.exception import QuadrantsCompilationError
from quadrants.lang.frontend import errors


def check(w, name: str) -> None:
    """Looks at a free name that a kernel is about to use."""
    from quadrants.lang.field import Field

    if w.fn.__module__.split(".", 1)[0] == "quadrants":
        return
    value = w.rec.name(w.fn, name)
    if not isinstance(value, (int, float, str, Field)) or isinstance(value, enum.Enum):
        return
    text = (
        f'[PURE.VIOLATION] "{name}" of "{w.fn.__qualname__}" is a captured {type(value).__name__}: kernels with '
        "fastcache=True take what they depend on as arguments"
    )
    if not (w.static or name.isupper()):
        raise QuadrantsCompilationError(text)
    if name not in w.impure:
        w.impure.add(name)
        errors.warn(w, text, w.source.tree, "UserWarning")

"""`qd.graph`: loops of a kernel that the runtime drives, and sections that may run side by side.

Inside kernels only; the front end recognises these objects (lang/frontend/graphs.py). Backends without device loops run the
pieces of a kernel from the host, with the same results.
"""

import contextlib as _contextlib
from collections.abc import Iterator as _Iterator
from typing import Any as _Any


def do_while(condition: _Any) -> bool:
    """`while qd.graph.do_while(c):` runs its body, then again as long as `c`, a 0-D i32 ndarray, is not zero.

    Only at the top level of a `@qd.kernel(graph=True)` or directly inside another such loop. `c` is a parameter of the
    kernel, `self.member` or `params.member`.
    """
    return True


@_contextlib.contextmanager
def parallel_context() -> _Iterator[None]:
    """`with qd.graph.parallel_context():` holds only `with qd.graph.parallel():` sections, which are independent."""
    yield


@_contextlib.contextmanager
def parallel() -> _Iterator[None]:
    """One section of a `parallel_context`; it may run beside the others."""
    yield


def __dir__() -> list[str]:
    return "do_while parallel parallel_context".split()

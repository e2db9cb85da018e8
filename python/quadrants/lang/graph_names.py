"""`qd.stream_parallel` and the older flat names of `qd.graph`."""

import contextlib
from collections.abc import Iterator
from typing import Any

from quadrants import graph


class GraphStatus:
    """What a launch of a kernel with checkpoints came to: whether it `yielded`, and at which `checkpoint` (its label)."""

    __slots__ = ("checkpoint", "yielded")

    def __init__(self, yielded: bool, checkpoint: int | None) -> None:
        self.yielded, self.checkpoint = yielded, checkpoint

    def __repr__(self) -> str:
        return (
            f"GraphStatus(yielded=True, checkpoint={self.checkpoint})" if self.yielded else "GraphStatus(yielded=False)"
        )


def graph_do_while(condition: Any) -> bool:
    """Deprecated name of `qd.graph.do_while`."""
    return graph.do_while(condition)


def graph_parallel_context() -> Any:
    """Deprecated name of `qd.graph.parallel_context`."""
    return graph.parallel_context()


def graph_parallel() -> Any:
    """Deprecated name of `qd.graph.parallel`."""
    return graph.parallel()


@contextlib.contextmanager
def stream_parallel() -> Iterator[None]:
    """`with qd.stream_parallel():` sections of a kernel may run on queues of their own; all top-level statements are such
    sections, or none. Where a device has no queues they run one after the other."""
    yield


DEPRECATED = {
    graph_do_while: ("graph_do_while", "graph.do_while"),
    graph_parallel_context: ("graph_parallel_context", "graph.parallel_context"),
    graph_parallel: ("graph_parallel", "graph.parallel"),
}

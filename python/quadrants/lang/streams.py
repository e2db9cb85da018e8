"""`qd.create_stream`, `qd.create_event`: queues of a device. Where launches are synchronous, as on the CPU, they do nothing.

Handles are 0 there. An object belongs to the runtime that it was made in: after `qd.reset` using it is a RuntimeError,
destroying it is not.
"""

from typing import Any

from quadrants.lang import impl


class _Owned:
    """What streams and events share: the runtime they belong to."""

    _what = ""

    def __init__(self, handle: int) -> None:
        impl.get_runtime().require_context()
        self._handle, self._epoch = handle, impl.get_runtime().epoch

    @property
    def handle(self) -> int:
        """The driver's handle; 0 where there is none."""
        return self._handle

    def _check(self) -> None:
        if self._epoch != impl.get_runtime().epoch:
            raise RuntimeError(f"{self._what}'s owning Program has been destroyed (e.g. after qd.reset())")

    def destroy(self) -> None:
        """Gives the driver's object back. May be called more than once."""
        self._handle = 0


class Stream(_Owned):
    """A queue of launches: `kernel(..., qd_stream=stream)`. Also a context manager that destroys it at the end."""

    _what = "Stream"

    def synchronize(self) -> None:
        """Waits until the launches of this stream are done. RuntimeError after `qd.reset`."""
        self._check()
        impl.sync()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.destroy()


class Event(_Owned):
    """A point in a stream that another one, or the host, waits for."""

    _what = "Event"

    def record(self, qd_stream: Stream | None = None) -> None:
        """Marks the present end of a stream, of the default one without an argument."""
        self._check()
        check_stream(qd_stream)

    def wait(self, qd_stream: Stream | None = None) -> None:
        """Makes what a stream launches from here on wait for the mark."""
        self._check()
        check_stream(qd_stream)

    def synchronize(self) -> None:
        """Waits on the host until the mark is reached."""
        self._check()
        impl.sync()


def check_stream(stream: Any) -> None:
    """TypeError for anything but a stream or None, RuntimeError for a stream of an earlier runtime."""
    if stream is None:
        return
    if not isinstance(stream, Stream):
        raise TypeError(f"qd_stream must be a stream of qd.create_stream(), got {type(stream).__name__}")
    stream._check()


def create_stream() -> Stream:
    """A new stream. QuadrantsRuntimeError before `qd.init`."""
    return Stream(0)


def create_event() -> Event:
    """A new event. QuadrantsRuntimeError before `qd.init`."""
    return Event(0)

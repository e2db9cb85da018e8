"""`qd.create_stream`, `qd.create_event`: queues of a device. Where there is one queue, as on the CPU, they do nothing.

Handles are 0 there. Streams are in no order with each other or with launches without one, but for what events make;
`qd.sync()` and every read on the host wait for all of them. An object belongs to the runtime that it was made in: after
`qd.reset` using it is a RuntimeError, destroying it is not.
"""

from collections.abc import Callable
from typing import Any

from quadrants import _native
from quadrants.lang import impl


class _Owned:
    """What streams and events share: the runtime they belong to."""

    _what = ""

    def __init__(self, native: Any) -> None:
        self._native, self._epoch = native, impl.get_runtime().epoch

    @property
    def handle(self) -> int:
        """The driver's handle; 0 where there is none, and once destroyed."""
        return self._native.handle if self._epoch == impl.get_runtime().epoch else 0

    def _check(self) -> None:
        if self._epoch != impl.get_runtime().epoch:
            raise RuntimeError(f"{self._what}'s owning Program has been destroyed (e.g. after qd.reset())")

    def destroy(self) -> None:
        """Gives the driver's object back. May be called more than once."""
        if self._epoch == impl.get_runtime().epoch:
            self._native.destroy()


class Stream(_Owned):
    """A queue of launches: `kernel(..., qd_stream=stream)`. Also a context manager that destroys it at the end."""

    _what = "Stream"

    def synchronize(self) -> None:
        """Waits until the launches of this stream are done. RuntimeError after `qd.reset`."""
        self._check()
        self._native.sync()

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
        self._native.record(check_stream(qd_stream))

    def wait(self, qd_stream: Stream | None = None) -> None:
        """Makes what a stream launches from here on wait for the mark."""
        self._check()
        self._native.wait(check_stream(qd_stream))

    def synchronize(self) -> None:
        """Waits on the host until the mark is reached."""
        self._check()
        self._native.sync()


def check_stream(stream: Any) -> Any:
    """The native stream, or None. TypeError for anything but a stream or None, RuntimeError for a stream of an earlier
    runtime."""
    if stream is None:
        return None
    if not isinstance(stream, Stream):
        raise TypeError(f"qd_stream must be a stream of qd.create_stream(), got {type(stream).__name__}")
    stream._check()
    return stream._native


def call_on(stream: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a kernel with a stream as the thread's."""
    native = check_stream(stream)
    return function(*args, **kwargs) if native is None else native.call(function, *args, **kwargs)


def create_stream() -> Stream:
    """A new stream. QuadrantsRuntimeError before `qd.init`."""
    return Stream(_native.Stream(impl.get_runtime().require_context()))


def create_event() -> Event:
    """A new event. QuadrantsRuntimeError before `qd.init`."""
    return Event(_native.Event(impl.get_runtime().require_context()))

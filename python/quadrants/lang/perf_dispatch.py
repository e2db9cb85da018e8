"""`qd.perf_dispatch`: several implementations of one function, of which the fastest for the arguments' geometry is called.

Every geometry goes through a trial: each compatible implementation is called `warmup` times (`first_warmup` in the first
trial, which pays for compiling) and then `active` times with a clock around it. Trial calls are real calls: one
implementation a call, so results never depend on how many there are.
"""

import inspect
import os
import time
from collections.abc import Callable, Hashable
from typing import Any

from quadrants.lang import impl
from quadrants.lang.exception import QuadrantsRuntimeError, QuadrantsSyntaxError

REPEAT_AFTER_COUNT = 300


def _forced(dispatcher: str) -> str | None:
    """The implementation that QD_PERFDISPATCH_FORCE names for a dispatcher: `dispatcher:implementation[,...]`."""
    found = None
    for pair in filter(None, os.environ.get("QD_PERFDISPATCH_FORCE", "").split(",")):
        parts = [part.strip() for part in pair.split(":")]
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"Malformed QD_PERFDISPATCH_FORCE entry '{pair}'. Expected format: 'dispatcher:impl'.")
        if parts[0] == dispatcher:
            found = parts[1]
    return found


def _say(text: str) -> None:
    if os.environ.get("QD_PERFDISPATCH_PRINT_DEBUG", "") not in ("", "0"):
        print(text, flush=True)


class _Implementation:
    def __init__(self, function: Callable[..., Any], is_compatible: Callable[..., bool] | None) -> None:
        self.function, self.is_compatible = function, is_compatible
        self.name = getattr(function, "__name__", repr(function))


class _Trial:
    """What is known about one geometry: times so far, then the winner and how often it was called."""

    def __init__(self) -> None:
        self.first, self.round = True, 0
        self.seconds: dict[int, list[float]] = {}
        self.winner: _Implementation | None = None
        self.calls, self.decided_at = 0, 0.0


class PerformanceDispatcher:
    """Called like the prototype. `register` adds an implementation; it must be the topmost decorator."""

    def __init__(self, prototype: Callable[..., Any], settings: dict[str, Any]) -> None:
        self.__name__, self.__doc__ = prototype.__name__, prototype.__doc__
        self.__wrapped__ = prototype
        self._signature = inspect.signature(prototype)
        self._settings = settings
        self._implementations: list[_Implementation] = []
        self._trials: dict[Hashable, _Trial] = {}
        self._force = _forced(self.__name__)

    def register(self, impl: Any = None, *, is_compatible: Callable[..., bool] | None = None) -> Any:
        """Adds an implementation, a kernel or any function with the prototype's parameters; gives it back.

        `is_compatible(*args)` says for which arguments it may be called. QuadrantsSyntaxError for parameters that the
        prototype lacks.
        """
        if impl is None:
            return lambda function: self.register(function, is_compatible=is_compatible)
        known = self._signature.parameters
        for name in inspect.signature(getattr(impl, "__wrapped__", impl)).parameters:
            if name not in known:
                raise QuadrantsSyntaxError(
                    f"Signature parameter {name} of function not in perf_dispatch function prototype "
                    "(error code: PERFDISPATCH_ANNOTATION_SEQUENCE_MISMATCH)."
                )
        added = _Implementation(impl, is_compatible)
        self._implementations.append(added)
        self._trials.clear()
        _say(f"perf_dispatch '{self.__name__}': registered '{added.name}'")
        if not hasattr(impl, "_primal"):
            try:
                impl._quadrants_registered = True  # so that @qd.kernel above it can say what is wrong
            except AttributeError:
                pass
        return impl

    def _usable(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[_Implementation]:
        every = self._implementations
        if self._force is not None:
            forced = [one for one in every if one.name == self._force]
            if forced:
                return forced
        found = [one for one in every if one.is_compatible is None or one.is_compatible(*args, **kwargs)]
        if not found:
            raise QuadrantsRuntimeError("No suitable functions were found.")
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        settings = self._settings
        key = settings["get_geometry_hash"](*args, **kwargs)
        trial = self._trials.get(key)
        if trial is None:
            trial = self._trials[key] = _Trial()
        if trial.winner is not None and not self._due(trial):
            trial.calls += 1
            return trial.winner.function(*args, **kwargs)
        usable = self._usable(args, kwargs)
        if len(usable) == 1:
            return usable[0].function(*args, **kwargs)
        return self._try(trial, usable, args, kwargs)

    def _due(self, trial: _Trial) -> bool:
        """Whether it is time for another trial; begins it."""
        count, seconds = self._settings["repeat_after_count"], self._settings["repeat_after_seconds"]
        due = bool(count) and trial.calls >= count
        due = due or (seconds is not None and seconds > 0 and time.perf_counter() - trial.decided_at >= seconds)
        if due:
            trial.winner, trial.calls, trial.round, trial.first = None, 0, 0, False
            trial.seconds.clear()
        return due

    def _try(self, trial: _Trial, usable: list[_Implementation], args: tuple, kwargs: dict) -> Any:
        """One call of a trial: implementations take turns, each has its warm-up calls and then its timed ones."""
        warmup = max(self._settings["warmup"], self._settings["first_warmup"] if trial.first else 0)
        each = warmup + max(1, self._settings["active"])
        which, turn = divmod(trial.round, each)
        if which >= len(usable):  # fewer are compatible than when the trial began
            trial.round, which, turn = 0, 0, 0
        candidate = usable[which]
        impl.sync()
        began = time.perf_counter()
        result = candidate.function(*args, **kwargs)
        impl.sync()
        if turn >= warmup:
            trial.seconds.setdefault(self._implementations.index(candidate), []).append(time.perf_counter() - began)
        trial.round += 1
        if trial.round >= each * len(usable):
            best = min(trial.seconds, key=lambda k: min(trial.seconds[k]))
            trial.winner, trial.calls, trial.decided_at = self._implementations[best], 0, time.perf_counter()
            _say(f"perf_dispatch '{self.__name__}': fastest is '{trial.winner.name}'")
        return result


def perf_dispatch(
    *,
    get_geometry_hash: Callable[..., Hashable],
    first_warmup: int = 1,
    warmup: int = 0,
    active: int = 1,
    repeat_after_count: int | None = None,
    repeat_after_seconds: float | None = None,
) -> Callable[[Callable[..., Any]], PerformanceDispatcher]:
    """Makes a prototype a dispatcher among implementations that are registered with it.

    `get_geometry_hash(*args)` gives what the choice depends on, such as shapes. Each compatible implementation is called
    `warmup` times (`first_warmup` at least in the first trial) and timed `active` times; after `repeat_after_count` calls
    (300 unless one of the two is given) or `repeat_after_seconds` there is another trial. 0 means never.
    `QD_PERFDISPATCH_FORCE=dispatcher:implementation[,...]` decides instead; ValueError when that is malformed.
    """
    if repeat_after_count is None and repeat_after_seconds is None:
        repeat_after_count = REPEAT_AFTER_COUNT
    settings = {
        "get_geometry_hash": get_geometry_hash, "first_warmup": first_warmup, "warmup": warmup, "active": active,
        "repeat_after_count": repeat_after_count, "repeat_after_seconds": repeat_after_seconds,
    }  # fmt: skip
    return lambda prototype: PerformanceDispatcher(prototype, settings)

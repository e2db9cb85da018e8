"""Times of kernel launches for `qd.init(kernel_profiler=True)`: one record a launch, from before it until the device is done.

The records belong to a runtime and go with it. With the profiler on every call passes through Python (some microseconds a
call, outside of what is timed, but for the result's decoding); with it off nothing is added to a call.
"""

import json
import time
from collections import deque
from typing import Any

from quadrants.lang import impl

TRACE_LENGTH = 100_000  # launches that the trace remembers


class QueryResult:
    """Launches of one kernel: `counter`, and `min`, `max`, `avg` in milliseconds; all 0 when there was none."""

    __slots__ = ("avg", "counter", "max", "min")

    def __init__(self, times: "list[float] | None") -> None:
        count, total, low, high = times or (0, 0.0, 0.0, 0.0)
        self.counter, self.min, self.max = count, low, high
        self.avg = total / count if count else 0.0

    def __repr__(self) -> str:
        return f"QueryResult(counter={self.counter}, min={self.min:.6f}, max={self.max:.6f}, avg={self.avg:.6f})"


class Records:
    """What was measured since `init` or the last clear."""

    def __init__(self) -> None:
        self.epoch = -1
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self.by_kernel: dict[str, list[float]] = {}
        self.trace: deque[tuple[str, float, float]] = deque(maxlen=TRACE_LENGTH)
        self.origin: float | None = None

    def current(self) -> "Records":
        """The records of the present runtime."""
        epoch = impl.get_runtime().epoch
        if self.epoch != epoch:
            self.clear()
            self.epoch = epoch
        return self

    def add(self, name: str, began: float, seconds: float) -> None:
        """Notes one launch."""
        ms = seconds * 1e3
        self.origin = began if self.origin is None else self.origin
        self.trace.append((name, (began - self.origin) * 1e3, ms))
        row = self.by_kernel.get(name)
        if row is None:
            self.by_kernel[name] = [1, ms, ms, ms]
            return
        row[0] += 1
        row[1] += ms
        row[2], row[3] = min(row[2], ms), max(row[3], ms)

    @property
    def total_ms(self) -> float:
        """Milliseconds of all launches."""
        return sum(row[1] for row in self.by_kernel.values())


_records = Records()


def records() -> Records:
    """The records of the present runtime."""
    return _records.current()


def timed(kernel: Any, inner: Any, values: list[Any]) -> Any:
    """Calls `inner` with a clock around it; the time that it spends compiling does not count."""
    context = impl.get_runtime().require_context()
    kernel.handed.compiling = 0.0
    context.sync()
    began = time.perf_counter()
    result = inner(*values)
    context.sync()
    seconds = time.perf_counter() - began - kernel.handed.compiling
    records().add(kernel.name, began, max(seconds, 0.0))
    return result


def count_table() -> str:
    """One line a kernel, the most expensive first."""
    seen = records()
    total = seen.total_ms
    title = f"Kernel Profiler(count, default) @ {impl.get_runtime().arch.name.upper()} "
    lines = ["=" * 73, title, "=" * 73]
    lines += ["[      %     total   count |      min       avg       max   ] Kernel name", "-" * 73]
    for name, (count, sum_ms, low, high) in sorted(seen.by_kernel.items(), key=lambda item: -item[1][1]):
        share = 100.0 * sum_ms / total if total else 0.0
        lines.append(
            f"[{share:6.2f}% {sum_ms / 1e3:7.3f} s {count:6d}x |{low:9.3f} {sum_ms / count:9.3f} {high:9.3f} ms] {name}"
        )
    lines += [
        "-" * 73,
        f"[100.00%] Total execution time: {total / 1e3:7.3f} s   number of results: {len(seen.by_kernel)}",
    ]
    return "\n".join([*lines, "=" * 73])


def trace_table() -> str:
    """One line a launch, in order."""
    seen = records()
    title = f"Kernel Profiler(trace, default) @ {impl.get_runtime().arch.name.upper()} "
    lines = ["=" * 41, title, "=" * 41, "[  start.time | kernel.time ] Kernel name", "-" * 41]
    lines += [f"[{start:9.3f} ms |{ms:9.3f} ms ] {name}" for name, start, ms in seen.trace]
    return "\n".join([*lines, "-" * 41, f"Number of records:  {len(seen.trace)}", "=" * 41])


def timeline_clear() -> None:
    """Forgets the launches that `timeline_save` would write."""
    records().clear()


def timeline_save(fn: str) -> None:
    """Writes the launches that `qd.init(kernel_profiler=True)` has timed (the last 100,000) to the file `fn`, as a trace
    that chrome://tracing and Perfetto read; an empty one without the option."""
    events = [
        {"name": name, "ph": "X", "ts": start * 1e3, "dur": ms * 1e3, "pid": 0, "tid": 0, "cat": "launch"}
        for name, start, ms in records().trace
    ]
    with open(fn, "w") as file:
        json.dump(events, file)

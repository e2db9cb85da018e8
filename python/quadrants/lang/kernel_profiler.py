"""What `qd.init(kernel_profiler=True)` measured, as tables: the core times each task of a launch (core/runtime/profiler.hpp).

The records belong to a runtime and go with it. A task is a top-level loop or what stands between two of them.
"""

import json
from typing import Any, NamedTuple

from quadrants.lang import impl


class Row(NamedTuple):
    """Launches of a task or a kernel, in milliseconds."""

    name: str
    launches: int
    total: float
    min: float
    max: float


class QueryResult:
    """Launches of one kernel: `counter`, and `min`, `max`, `avg` in milliseconds; all 0 when there was none."""

    __slots__ = ("avg", "counter", "max", "min")

    def __init__(self, row: "Row | None") -> None:
        _, self.counter, total, self.min, self.max = row or Row("", 0, 0.0, 0.0, 0.0)
        self.avg = total / self.counter if self.counter else 0.0

    def __repr__(self) -> str:
        return f"QueryResult(counter={self.counter}, min={self.min:.6f}, max={self.max:.6f}, avg={self.avg:.6f})"


class Records:
    """All times of the present runtime: rows of tasks and of kernels, and (task, start, ms) of the last launches."""

    def __init__(self) -> None:
        tasks, kernels, trace = impl.get_runtime().require_context().profile()
        self.tasks = [Row(*row) for row in tasks]
        self.kernels = [Row(*row) for row in kernels]
        self.trace = [(self.tasks[task].name, start, ms) for task, start, ms in trace]

    @property
    def total_ms(self) -> float:
        """Milliseconds of all launches."""
        return sum(row.total for row in self.kernels)

    def find(self, name: str) -> "Row | None":
        """The row of a kernel, else of a task."""
        return next((row for row in self.kernels + self.tasks if row.name == name and row.launches), None)


def clear() -> None:
    """Forgets all times."""
    impl.get_runtime().require_context().clear_profile()


def count_table() -> str:
    """One line a task, the most expensive first."""
    seen = Records()
    rows = sorted((row for row in seen.tasks if row.launches), key=lambda row: -row.total)
    total = seen.total_ms
    title = f"Kernel Profiler(count, default) @ {impl.get_runtime().arch.name.upper()} "
    lines = ["=" * 73, title, "=" * 73]
    lines += ["[      %     total   count |      min       avg       max   ] Kernel name", "-" * 73]
    for name, count, ms, low, high in rows:
        share = 100.0 * ms / total if total else 0.0
        lines.append(
            f"[{share:6.2f}% {ms / 1e3:7.3f} s {count:6d}x |{low:9.3f} {ms / count:9.3f} {high:9.3f} ms] {name}"
        )
    lines += ["-" * 73, f"[100.00%] Total execution time: {total / 1e3:7.3f} s   number of results: {len(rows)}"]
    return "\n".join([*lines, "=" * 73])


def trace_table() -> str:
    """One line a launch of a task, in order."""
    trace = Records().trace
    title = f"Kernel Profiler(trace, default) @ {impl.get_runtime().arch.name.upper()} "
    lines = ["=" * 41, title, "=" * 41, "[  start.time | kernel.time ] Kernel name", "-" * 41]
    lines += [f"[{start:9.3f} ms |{ms:9.3f} ms ] {name}" for name, start, ms in trace]
    return "\n".join([*lines, "-" * 41, f"Number of records:  {len(trace)}", "=" * 41])


def timeline_save(fn: str) -> None:
    """Writes the launches that `qd.init(kernel_profiler=True)` has timed (the last 100,000) to the file `fn`, as a trace
    that chrome://tracing and Perfetto read; an empty one without the option."""
    events: list[dict[str, Any]] = [
        {"name": name, "ph": "X", "ts": start * 1e3, "dur": ms * 1e3, "pid": 0, "tid": 0, "cat": "launch"}
        for name, start, ms in Records().trace
    ]
    with open(fn, "w") as file:
        json.dump(events, file)

"""`qd.cache_report()`: what was compiled since `init`, what came from the cache, and where the time went.

The rows are plain data for programs (`rows`, `total`); printing the report gives the table.
"""

from typing import Any

from quadrants.lang.impl import get_runtime

PHASES = ("frontend_ms", "passes_ms", "codegen_ms", "finish_ms", "load_ms")
COLUMNS = ("tasks", "compiled", "cached", "bytes", *PHASES)
_HEADINGS = ("kernel", "tasks", "compiled", "cached", "bytes", "front end", "passes", "codegen", "finish", "load")


def _get(observations: Any, name: str) -> Any:
    value = observations.get(name, 0) if isinstance(observations, dict) else getattr(observations, name, 0)
    return value if not isinstance(value, int) or value > 0 else 0


def _row(kernel: str, frontend_ms: float, observations: Any) -> dict[str, Any]:
    return {
        "kernel": kernel,
        "tasks": _get(observations, "tasks_total"),
        "compiled": _get(observations, "tasks_recompiled"),
        "cached": _get(observations, "tasks_hit"),
        "bytes": _get(observations, "artifact_bytes"),
        "frontend_ms": frontend_ms,
        **{phase: float(_get(observations, phase)) for phase in PHASES[1:]},
        "whole_kernel_reason": _get(observations, "whole_kernel_reason") or "",
    }


def _shown(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


class CacheReport:
    """`rows` has a dictionary per compile: kernel, tasks, compiled, cached, bytes, milliseconds per phase, and why a
    kernel was kept whole; `total` adds them up. `warm` tells whether nothing had to be compiled."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.total = {column: sum(row[column] for row in rows) for column in COLUMNS}

    @property
    def warm(self) -> bool:
        """Whether there were tasks and all of them came from the cache."""
        return self.total["tasks"] > 0 and self.total["compiled"] == 0

    def __str__(self) -> str:
        lines: list[tuple[str, ...]] = [_HEADINGS]
        lines += [(row["kernel"], *(_shown(row[column]) for column in COLUMNS)) for row in self.rows]
        lines.append(("total", *(_shown(self.total[column]) for column in COLUMNS)))
        widths = [max(len(line[k]) for line in lines) for k in range(len(_HEADINGS))]
        table = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines]
        return "\n".join([*table, "times in milliseconds; tasks that one compile unit holds count one each"])

    __repr__ = __str__


def cache_report() -> CacheReport:
    """The compiles since `init`, in order. Needs `init`."""
    runtime = get_runtime()
    runtime.require_context()
    return CacheReport([_row(*record) for record in runtime.compiles])

"""`qd.profiler`: times of kernels, memory of fields and arrays, phases of compiles.

Kernel times need `qd.init(kernel_profiler=True)`. Hardware counters (CUPTI) can be named, and are not collected yet.
"""

import contextlib as _contextlib
from collections.abc import Iterator as _Iterator
from typing import Any as _Any

from quadrants import _logging
from quadrants.lang import cupti_metrics as _cupti
from quadrants.lang import impl as _impl
from quadrants.lang import kernel_profiler as _kernels

_NAMES = """CuptiMetric clear_kernel_profiler_info clear_scoped_profiler_info collect_kernel_profiler_metrics
    get_kernel_profiler_total_time get_predefined_cupti_metrics print_kernel_profiler_info
    print_memory_profiler_info print_scoped_profiler_info query_kernel_profiler_info
    set_kernel_profiler_metrics set_kernel_profiler_toolkit"""


class CuptiMetric:
    """Describes a counter of CUDA devices: its `name`, and how a table shows it. Counters are not collected yet."""

    def __init__(
        self, name: str = "", header: str = "unnamed_header", val_format: str = "{:8.0f}", scale: float = 1.0
    ) -> None:
        self.name, self.header, self.val_format, self.scale = name, header, val_format, scale


_compiles_seen = (-1, 0)  # epoch, number of compiles that clear_scoped_profiler_info has put behind us


def _is_on() -> bool:
    """Whether kernels are timed; says how to turn that on when they aren't, and before `init`."""
    runtime = _impl.get_runtime()
    on = runtime.context is not None and bool(runtime.options["kernel_profiler"])
    if not on:
        _logging.warn("The kernel profiler is off: use qd.init(kernel_profiler=True)")
    return on


def print_kernel_profiler_info(mode: str = "count") -> None:
    """Prints the times of tasks: `count` sums up each task, `trace` lists each launch of one (the last 100,000).

    A task is a top-level loop of a kernel (`kernel_1_range_for`, `kernel_1_name_range_for` with qd.loop_config(name=...))
    or what stands between two of them (`kernel_0_serial`). ValueError for another mode.
    """
    if mode not in ("count", "trace"):
        raise ValueError(f"Arg `mode` must be of type 'str', and has the value 'count' or 'trace', found {mode!r}.")
    if _is_on():
        print(_kernels.count_table() if mode == "count" else _kernels.trace_table(), flush=True)


def query_kernel_profiler_info(name: str) -> _kernels.QueryResult:
    """Launches of the kernel of that name, else of the task: `counter`, and `min`, `max`, `avg` in milliseconds.

    TypeError for a name that is no string.
    """
    if not isinstance(name, str):
        raise TypeError(f"query_kernel_profiler_info takes the name of a kernel, found {name!r}")
    return _kernels.QueryResult(_kernels.Records().find(name) if _is_on() else None)


def clear_kernel_profiler_info() -> None:
    """Forgets all times of kernels."""
    if _is_on():
        _kernels.clear()


def get_kernel_profiler_total_time() -> float:
    """Seconds that all launches took, from the first one or the last clear on."""
    return _kernels.Records().total_ms / 1e3 if _is_on() else 0.0


def set_kernel_profiler_toolkit(toolkit_name: str = "default") -> bool:
    """Chooses what measures. False, and a warning: there is no other toolkit than `default` yet."""
    if _is_on():
        _logging.warn(f"There is no kernel profiler toolkit {toolkit_name!r} here: going on with 'default'")
    return False


def set_kernel_profiler_metrics(metric_list: _Any = ()) -> None:
    """Chooses the counters to collect. None is collected yet: no effect."""
    _is_on()


def get_predefined_cupti_metrics(name: str = "") -> "list[CuptiMetric] | None":
    """The counters of a group: `global_access shared_access atomic_access cache_hit_rate device_utilization`. Another name
    gives None, and a warning with these."""
    if name not in _cupti.GROUPS:
        _logging.warn(f"No group of counters {name!r}; there are {', '.join(_cupti.GROUPS)}")
        return None
    return [
        CuptiMetric(counter, f" {heading} ", form, scale) for counter, heading, (form, scale) in _cupti.GROUPS[name]
    ]


@_contextlib.contextmanager
def collect_kernel_profiler_metrics(metric_list: _Any = ()) -> _Iterator[None]:
    """Collects counters for the launches of a `with` block. None is collected yet: no effect."""
    yield


def print_memory_profiler_info() -> None:
    """Prints the bytes of device memory that live fields and ndarrays hold."""
    runtime = _impl.get_runtime()
    runtime.require_context()
    print("[Memory Profiler]")
    total = 0
    for what, tensors in (("fields", runtime.fields), ("ndarrays", runtime.ndarrays)):
        buffers = {id(t.buffer): t.buffer.size for t in tensors if getattr(t, "buffer", None) is not None}
        total += sum(buffers.values())
        print(f"{what:10s}{len(buffers):8d} buffers {sum(buffers.values()):16d} B")
    print(f"Total: {total} B", flush=True)


def print_scoped_profiler_info() -> None:
    """Prints where compiles spent their time since `init` or the last clear: milliseconds a phase, a line a kernel."""
    runtime = _impl.get_runtime()
    runtime.require_context()
    skip = _compiles_seen[1] if _compiles_seen[0] == runtime.epoch else 0
    print("frontend    passes   codegen    finish      load ms  kernel")
    for name, frontend, seen in runtime.compiles[skip:]:
        phases = [seen.get(f"{phase}_ms", 0.0) for phase in ("passes", "codegen", "finish", "load")]
        print("  ".join(f"{ms:8.3f}" for ms in (frontend, *phases)), f"  {name}")


def clear_scoped_profiler_info() -> None:
    """Forgets the compiles so far, for `print_scoped_profiler_info`."""
    global _compiles_seen
    _compiles_seen = (_impl.get_runtime().epoch, len(_impl.get_runtime().compiles))


def __dir__() -> list[str]:
    return _NAMES.split()

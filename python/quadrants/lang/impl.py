"""The runtime object of the package: what `qd.init` sets up and `qd.reset` takes down.

One `Runtime` lives as long as the process; `init` replaces what it holds. The front end reads `options` and the default
types at each compile, kernels register in `kernels` to be told of a reset, and everything that owns device memory
remembers the `epoch` of its making, so that an object of an earlier runtime is refused instead of used.
"""

import atexit
import os
import sys
from typing import Any
from weakref import WeakSet, finalize, ref

from quadrants import _native
from quadrants.lang import config
from quadrants.lang.exception import QuadrantsRuntimeError

FORKED = (
    "This process was forked after qd.init(), and a runtime does not survive a fork. Start processes with the 'spawn' "
    "method, fork before qd.init(), or call qd.init() again in the child."
)


class Runtime:
    """State between one `init` and the next. Any thread may read it; `init` and `reset` change it."""

    def __init__(self) -> None:
        self.epoch = 0
        self.kernels: WeakSet[Any] = WeakSet()
        self.unplaced: WeakSet[Any] = WeakSet()
        self.builders: WeakSet[Any] = WeakSet()  # made by the program and not finalized
        self.pending = False  # something was made since `materialize` last found everything in place
        self.fields: WeakSet[Any] = WeakSet()
        self.ndarrays: WeakSet[Any] = WeakSet()
        self.shared: list[ref[Any]] = []  # NumPy arrays over device memory that programs may hold views of
        self.compiles: list[tuple[str, float, Any]] = []  # of record_compile, for qd.cache_report()
        self.abandoned: list[
            Any
        ] = []  # contexts of a parent process: closing them here could wait for threads that don't exist
        self.forked = False
        self.coverage: Any = None  # lang.kernel_coverage.Recorder, when kernels report what they reach
        self._forget()

    def _forget(self) -> None:
        self.context: Any = None
        self.arch: Any = None
        self.cfg: config.CompileConfig | None = None
        self.root: Any = None  # quadrants.lang.snode makes the default builder when it is first used
        self.unplaced.clear()
        self.builders.clear()
        self.pending = False
        self.fields.clear()
        self.ndarrays.clear()
        self.use_options(config.defaults())

    def use_options(self, values: dict[str, Any]) -> None:
        """Makes these the options; the default types follow them."""
        self.options = values

    @property
    def default_fp(self) -> Any:
        """Type of float literals."""
        return self.options["default_fp"]

    @property
    def default_ip(self) -> Any:
        """Type of int literals."""
        return self.options["default_ip"]

    @property
    def default_up(self) -> Any:
        """The unsigned type as wide as `default_ip`."""
        return _native.u64 if self.default_ip is _native.i64 else _native.u32

    def start(self, context: Any, arch: Any, values: dict[str, Any]) -> None:
        """Takes over an opened native context."""
        self.use_options(values)
        self.context, self.arch = context, arch
        self.cfg = config.CompileConfig(values, arch)
        self.epoch += 1
        if config.switched_on("QD_KERNEL_COVERAGE"):
            from quadrants.lang import kernel_coverage

            self.coverage = kernel_coverage.start()

    def stop(self) -> None:
        """Closes the context and tells every kernel. Idempotent. QuadrantsRuntimeError in a signal handler that came in the
        midst of a launch."""
        context = self.context
        if context is not None and not self.forked and context.launching:
            raise QuadrantsRuntimeError(
                "qd.init and qd.reset can't end a runtime whose kernel runs on this thread: a signal handler has to leave "
                "that to the program"
            )
        self.collect_coverage()
        self.coverage = None
        if self.forked and context is not None:
            self.abandoned.append(context)
            context = None
        self.forked = False
        self.epoch += 1
        self.compiles.clear()
        for kernel in list(self.kernels):
            kernel.clear()
        for array in list(self.ndarrays):
            array._forget()
        for field in list(self.fields):
            field._release("its runtime was reset; make it again after qd.init")
        traced = self.options["trace"]
        self._forget()
        if context is not None:
            self._close(context)
        if traced:
            _native.trace_stop()

    def collect_coverage(self) -> None:
        """Notes which lines the kernels of this runtime have run, when QD_KERNEL_COVERAGE is on."""
        if self.coverage is not None and not self.forked:
            self.coverage.collect()

    def _close(self, context: Any) -> None:
        """Closes a context now, or when the last NumPy view of its memory is gone."""
        views = [array for array in (shared() for shared in self.shared) if array is not None]
        self.shared.clear()
        left = len(views)

        def one_less() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                context.close()

        for array in views:
            finalize(array, one_less).atexit = False
        if not views:
            context.close()

    def require_context(self) -> Any:
        """The open context; QuadrantsRuntimeError without one, RuntimeError in a forked child."""
        if self.forked:
            raise QuadrantsRuntimeError(FORKED)
        if self.context is None:
            raise QuadrantsRuntimeError("There is no runtime. Maybe you forgot to call `qd.init()` first?")
        return self.context


_runtime = Runtime()


def get_runtime() -> Runtime:
    """The runtime object of this process; the same one always."""
    return _runtime


def current_cfg() -> Any:
    """`qd.cfg`; QuadrantsRuntimeError before `init`."""
    _runtime.require_context()
    return _runtime.cfg


def get_max_shared_memory_bytes(is_lowerbound_ok: bool = False) -> int:
    """Bytes of memory that the threads of a block share at most on the current device; 0 where there is none. They are
    known, so that a lower bound is never given."""
    return _runtime.require_context().max_block_shared


def allocate(size: int, what: str) -> Any:
    """Memory of the device, zeroed. MemoryError when there is not so much."""
    if size >= 1 << 63:
        raise MemoryError(f"{what} would take {size} bytes: no device has so much memory")
    return _runtime.require_context().alloc(size)


def record_compile(kernel: str, frontend_ms: float, observations: Any) -> None:
    """Notes one compile for `qd.cache_report()`: kernel name, time in the front end, the executable's observations."""
    _runtime.compiles.append((kernel, frontend_ms, observations))


def reset() -> None:
    """Destroys the runtime with all fields, ndarrays and compiled code. Kernels stay usable after the next `init`."""
    _runtime.stop()


def sync() -> None:
    """Waits until all launched kernels are done. QuadrantsRuntimeError before `init`."""
    _runtime.require_context().sync()


def caller() -> str:
    """File and line of the user's code that called into this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("quadrants."):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


_REMEDY = {
    "": "Place them below qd.root, or give them a shape.",
    "grad": "Place them as x.grad, call lazy_grad() below their node, or give the field a shape.",
    "dual": "Place them as x.dual, call lazy_dual() below their node, or give the field a shape.",
}


def materialize() -> None:
    """Checks that builders are finalized (QuadrantsRuntimeError) and that every field without a shape, with the gradients
    that it needs, has been placed: RuntimeError naming those that are not."""
    if not _runtime.pending:
        return
    for builder in list(_runtime.builders):
        raise QuadrantsRuntimeError(
            f"Field builder created at {builder._created_at} is not finalized. Please call finalize() on it."
        )
    missing = [field for field in _runtime.unplaced if not field._is_placed()]
    if not missing:
        _runtime.unplaced.clear()
        _runtime.pending = False
        return
    from quadrants.lang.components import component_shapes

    for field in missing:
        shapes = component_shapes(field)
        if shapes and None not in shapes:
            raise RuntimeError(
                f"Members of the following field have different shapes {shapes}:\n  {field!r} created at {field._created_at}"
            )
    role = min(field._role for field in missing)
    places = "\n".join(f"  {field!r} created at {field._created_at}" for field in missing if field._role == role)
    what = f"require `needs_{role}=True`, however their {role} field(s) are not placed" if role else "are not placed"
    raise RuntimeError(f"These field(s) {what}:\n{places}\n{_REMEDY[role]}")


def _leave_behind() -> None:
    """In a forked child: the context's threads are gone, so nothing of it may be used. The native module knows too."""
    _runtime.forked = _runtime.context is not None


def _close_at_exit() -> None:
    if _runtime.coverage is not None or "quadrants.lang.kernel_coverage" in sys.modules:
        from quadrants.lang import kernel_coverage

        _runtime.collect_coverage()
        kernel_coverage.write()
    # Daemon threads go on launching until the interpreter stops them: what they use is left to the end of the process.
    alone = len(sys._current_frames()) == 1
    seen = any(shared() is not None for shared in _runtime.shared)
    if _runtime.context is not None and not _runtime.forked and alone and not seen:
        _runtime.context.close()
    if _runtime.options["trace"] and not _runtime.forked:
        _native.trace_stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_behind)
atexit.register(_close_at_exit)

"""`@qd.kernel`: the callable that a program launches, and what is known about its compiles.

The callable itself is native and runs no Python code on a repeated call. When no specialisation fits, it asks
`Kernel.specialise` for one: arguments are bound, the function is walked (frontend/), the result compiled and added
with its guards.
"""

import copyreg
import time
import types
import warnings
from typing import Any

from quadrants import _logging
from quadrants import _native as native
from quadrants._native import KernelObject
from quadrants.lang import config, foreign, impl, source_tier, streams
from quadrants.lang.exception import QuadrantsRuntimeError, QuadrantsSyntaxError, not_supported_yet
from quadrants.lang.frontend import arguments, results
from quadrants.lang.frontend.signature import Signature
from quadrants.lang.frontend.source import Source
from quadrants.lang.later import later_function


class PerOffloadCacheObservations:
    """What the most recent compile of a kernel did; -1: it did not happen for that compile."""

    _INTS = (
        "frontend_constructs_total", "frontend_constructs_cache_hit", "frontend_constructs_recompiled", "tasks_total",
        "tasks_cache_hit", "tasks_recompiled",
    )  # fmt: skip

    def __init__(self):
        for name in self._INTS:
            setattr(self, name, -1)
        self.whole_kernel_reason = ""

    def record(self, seen: dict):
        """Takes over the figures of an Executable."""
        for name, key in zip(self._INTS, (
            "constructs_total", "constructs_hit", "constructs_recompiled", "tasks_total", "tasks_hit",
            "tasks_recompiled",
        )):  # fmt: skip
            setattr(self, name, seen.get(key, -1))
        self.whole_kernel_reason = seen.get("whole_kernel_reason", "")

    def __repr__(self):
        return f"PerOffloadCacheObservations({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class SrcLlCacheObservations:
    """What the source tier did for the most recent compile of a kernel (source_tier.py)."""

    def __init__(self):
        self.cache_key_generated = self.cache_validated = self.cache_loaded = self.cache_stored = False


_GRAD, _RESUME = later_function("kernel.grad"), later_function("kernel.resume")


class Kernel:
    """A kernel's function, source, parameters and observations: `callable._primal`."""

    def __init__(self, fn, fastcache=False):
        self.func = fn
        self.__name__ = self.name = fn.__name__
        self.__qualname__, self.__module__, self.__doc__ = fn.__qualname__, fn.__module__, fn.__doc__
        self.source = Source(fn)
        self.signature = Signature(fn, is_kernel=True)
        self.fastcache = fastcache
        self.is_method = _is_method(fn, self.signature)
        _check_annotated(self.signature, self.is_method)
        self.per_offload_cache_observations = PerOffloadCacheObservations()
        self.src_ll_cache_observations = SrcLlCacheObservations()
        self.callable = KernelObject(self, self.specialise, len(self.signature.names), tuple(self.signature.names))
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self.callable, name, getattr(self, name))
        self.callable.grad, self.callable.resume = _GRAD, _RESUME
        self.callable.__wrapped__ = fn

    def specialise(self, args: tuple, kwargs: dict) -> tuple[int | None, Any]:
        """Compiles the kernel for these arguments and adds the specialisation: its index in the callable, and the
        arguments in the order of parameters. A call that had to be made in another way was made: None, its result."""
        runtime = impl.get_runtime()
        context = runtime.require_context()
        if "qd_stream" in kwargs:
            stream = kwargs.pop("qd_stream")
            return None, streams.call_on(stream, self.callable, args, kwargs)
        values = self.signature.bind(args, kwargs)
        found = foreign.adopted(self, values)
        if found is not None:
            return None, foreign.call(self, *found)
        if arguments.needs_copies(self, values):
            from quadrants.lang.frontend import driver

            return None, driver.call_with_copies(self, values)
        return self._compile(values, runtime, context), values

    def _compile(self, values, runtime, context) -> int:
        began = time.perf_counter()
        impl.materialize()
        key, found = self._source_tier(values, runtime, context)
        self._trace(runtime, "source tier", "missed" if found is None else "loaded", began)
        if found is not None:
            observed = found.executable.observations
            in_core = sum(observed[phase] for phase in ("passes_ms", "codegen_ms", "finish_ms", "load_ms"))
            return self._add(found.executable, found, runtime, (time.perf_counter() - began) * 1e3 - in_core)
        from quadrants.lang.frontend import driver  # late: a hit needs nothing of it

        if config.switched_on("QD_SHOW_COMPILING"):
            _logging.info(f"Compiling kernel '{self.name}'")
        if runtime.options["print_non_pure"] and not self.fastcache:
            print(f"[NOT_PURE] Debug information: not pure: {self.name}", flush=True)
        walking = time.perf_counter()
        walk = driver.walk(self, values, runtime)
        self._trace(runtime, "front end", "", walking)
        if runtime.options.get("print_ir"):
            print(walk.builder.text(), flush=True)
        frontend_ms = (time.perf_counter() - began) * 1e3
        executable = context.compile(walk.builder, True) if key is not None else context.compile(walk.builder)
        if key is not None:
            storing = time.perf_counter()
            source_tier.store(self, context, key, walk, executable, self.src_ll_cache_observations)
            self._trace(runtime, "publish", "source tier", storing)
        return self._add(executable, walk, runtime, frontend_ms)

    def _trace(self, runtime, category, note, began):
        """A span of the trace that ends now, when one is written."""
        if runtime.options["trace"]:
            native.trace_add(category, self.name, note, int(began * 1e9), time.perf_counter_ns())

    def _source_tier(self, values, runtime, context):
        """The key in the source tier and what lies there; None where there is none."""
        seen = self.src_ll_cache_observations = SrcLlCacheObservations()
        if not source_tier.active(runtime):
            return None, None
        try:
            key = source_tier.Key(self, values, runtime)
        except source_tier.NoForm as why:
            source_tier.say_why(self, why)
            return None, None
        seen.cache_key_generated = True
        found = source_tier.load(self, values, context, key, seen)
        if found is not None and runtime.options["debug_cache_verify"]:
            self._verify(values, runtime, context, found)
        return key, found

    def _verify(self, values, runtime, context, found):
        """debug_cache_verify: the plan of a fresh walk must be the stored one."""
        from quadrants.lang.frontend import driver

        fresh = context.compile(driver.walk(self, values, runtime).builder, True)
        if fresh.plan != found.plan:
            raise QuadrantsRuntimeError(
                f'debug_cache_verify: the stored plan of kernel "{self.name}" differs from a new one: something that '
                "the front end reads is not recorded"
            )

    def _add(self, executable, walk, runtime, frontend_ms) -> int:
        """Makes an executable a specialisation of the callable; its index."""
        seen = executable.observations
        self.per_offload_cache_observations.record(seen)
        impl.record_compile(self.name, frontend_ms, seen)
        runtime.kernels.add(self.callable)
        return self.callable.add(
            executable, walk.args, walk.words, walk.guards, walk.result, results.reporter(self.name, walk.sites)
        )

    def __repr__(self):
        return f"<kernel {self.__qualname__}>"


copyreg.pickle(KernelObject, lambda kernel: kernel.__qualname__)  # by name, like a function; copies are the same


def _is_method(fn, signature) -> bool:
    outer = fn.__qualname__.rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>") and signature.names[:1] in (("self",), ("cls",))


def _check_annotated(signature, is_method):
    annotations = signature.fn.__annotations__
    for k, name in enumerate(signature.names):
        if name not in annotations and not (k == 0 and is_method):
            raise QuadrantsSyntaxError(
                f"Invalid type annotation (argument {k}) of Quadrants kernel: missing. Kernel "
                "parameters must be annotated: "
                f'"{name}" of "{signature.fn.__name__}", such as {name}: qd.i32'
            )


def kernel(_fn=None, *, pure=None, fastcache=False, graph=False, checkpoints=False):
    """Makes a function a kernel: `@qd.kernel` or `@qd.kernel(fastcache=True)`.

    Parameters must be annotated. Each top-level `for` runs in parallel on the device that `qd.init` chose. Raises
    QuadrantsSyntaxError for signatures that kernels cannot have.
    """
    if pure is not None:
        warnings.warn("qd.kernel(pure=...) is deprecated; use qd.kernel(fastcache=...) instead.", stacklevel=2)
    if checkpoints and not graph:
        raise QuadrantsSyntaxError("checkpoints=True needs graph=True")
    if checkpoints:
        raise not_supported_yet("qd.kernel(checkpoints=True)")

    def decorate(fn):
        check_decorated(fn, "kernel")
        if graph:
            from quadrants.lang.graph_kernel import GraphKernel

            return GraphKernel(fn, fastcache=bool(fastcache or pure)).callable
        return Kernel(fn, fastcache=bool(fastcache or pure)).callable

    return decorate if _fn is None else decorate(_fn)


def check_decorated(fn, what):
    """Refuses what is no plain Python function below `@qd.kernel` or `@qd.func`."""
    if isinstance(fn, types.FunctionType) and not getattr(fn, "_quadrants_registered", False):
        return
    if isinstance(fn, (staticmethod, classmethod)) or hasattr(fn, "_primal") or hasattr(fn, "source") or callable(fn):
        raise QuadrantsSyntaxError(
            f"Cant put {what} in front of other annotations (error code: KERNEL_ANNOTATION_ORDER): @qd.{what} takes a "
            f"Python function and must be the decorator next to the `def`, found {type(fn).__name__}."
        )
    raise TypeError(f"{fn!r} is not a callable object: @qd.{what} takes a Python function")


def pure(fn):
    """Deprecated marker: the same as `@qd.kernel(fastcache=True)` on the kernel below it."""
    warnings.warn("qd.pure is deprecated; use qd.kernel(fastcache=True) instead.", stacklevel=2)
    primal = getattr(fn, "_primal", None)
    if primal is not None:
        primal.fastcache = True
    return fn


def data_oriented(cls=None, *, stable_members=False, template_primitives=True):
    """Class decorator: its methods may be kernels and functions that use `self`.

    `stable_members` promises that members are never rebound; it has no effect, they are checked at little cost. Numbers
    that such an object holds are compile-time constants: another value compiles again. With
    `template_primitives=False`, its ints, floats and bools are passed at each call instead.
    """

    def decorate(c):
        c._data_oriented, c._template_primitives = True, template_primitives
        return c

    return decorate if cls is None else decorate(cls)

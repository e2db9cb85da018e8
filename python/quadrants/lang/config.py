"""The one table of options: name, default, what is accepted, where it goes, what it does.

Keywords of `qd.init`, `QD_<NAME>` in the environment, `qd.cfg`, `dump_compile_config`, the native `ContextConfig` and the
reference page are all read from these rows. `reach` says who obeys an option:

    code:<row>     a row of plugins-api/include/qd/options.def, handed to the plugin
    core:<field>   a field of ContextConfig (core/api/core.hpp)
    front          read by the front end through `get_runtime().options` at each compile
    host           read by this package
    none           accepted because programs pass it; this implementation decides the matter by itself

An option that does nothing is not in `CompileConfig` of the older system by accident: `none` rows are documented no-ops.
"""

import operator
import os
from collections.abc import Callable
from typing import Any

from quadrants import _native
from quadrants._logging import check_level

DataType = _native.DataType


class Kind:
    """How a value is checked. `accepted` completes the sentence "accepted are ..."."""

    def __init__(self, accepted: str, check: Callable[[Any], Any], parse: Callable[[str], Any]) -> None:
        self.accepted = accepted
        self.check = check  # gives the normal form; raises TypeError or ValueError
        self.parse = parse  # the same from environment text


def _as_flag(value: Any) -> bool:
    if isinstance(value, bool) or (hasattr(value, "dtype") and str(value.dtype) == "bool"):
        return bool(value)
    number = operator.index(value)
    if number not in (0, 1):
        raise ValueError
    return bool(number)


def _integer(low: int | None = None) -> Kind:
    def check(value: Any) -> int:
        number = operator.index(value)
        if low is not None and number < low:
            raise ValueError
        return number

    accepted = "integers" if low is None else f"integers from {low}"
    return Kind(accepted, check, lambda text: check(int(text)))


def _real(low: float, high: float | None) -> Kind:
    def check(value: Any) -> float:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
        if not number >= low or (high is not None and number > high):
            raise ValueError
        return number

    accepted = f"numbers from {low:g}" + ("" if high is None else f" to {high:g}")
    return Kind(accepted, check, lambda text: check(float(text)))


def _choice(*values: Any) -> Kind:
    def check(value: Any) -> Any:
        for accepted in values:
            if type(value) is type(accepted) and value == accepted:
                return accepted
        raise ValueError

    return Kind(" ".join(map(repr, values)), check, check)


def _text(value: Any) -> str:
    return os.fspath(value)


def _scalar_type(builtin: type, *types: DataType) -> Kind:
    def check(value: Any) -> DataType:
        if not isinstance(value, DataType):
            raise TypeError
        if value not in types:
            raise ValueError
        return value

    def parse(text: str) -> DataType:
        for dtype in types:
            if text in (dtype.name, dtype.name[1:]):
                return dtype
        raise ValueError

    names = " ".join(dtype.name for dtype in types)
    return Kind(f"{names} ('32' or '64' in the environment)", check, parse)


def _as_per_offload(value: Any) -> Any:
    if isinstance(value, str):
        if value.lower() not in ("auto", "0", "1", "true", "false"):
            raise ValueError
        return {"auto": "auto", "0": False, "false": False}.get(value.lower(), True)
    return _as_flag(value)


FLAG = Kind("True False (1 0 in the environment)", _as_flag, lambda text: _as_flag(int(text)))
INT, COUNT, POSITIVE = _integer(), _integer(0), _integer(1)
TEXT = Kind("strings", _text, str)
FRACTION, AMOUNT = _real(0.0, 1.0), _real(0.0, None)
FP = _scalar_type(float, _native.f32, _native.f64)
IP = _scalar_type(int, _native.i32, _native.i64)
UP = _scalar_type(int, _native.u32, _native.u64)
PER_OFFLOAD = Kind("'auto' True False", _as_per_offload, _as_per_offload)
LOG_LEVEL = Kind(
    "trace debug info warn error critical off", lambda v: check_level(v, "log_level"), lambda v: check_level(v, "log_level")
)
POLICY = _choice("never", "version", "lru", "fifo")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _compile_threads() -> int:
    return min(16, _cores())


def default_cache_path() -> str:
    """`$XDG_CACHE_HOME` when it is absolute, else `~/.cache`, then quadrants/qdcache; "" when there is no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        home = os.path.expanduser("~")
        base = os.path.join(home, ".cache") if os.path.isabs(home) else ""
    return os.path.join(base, "quadrants", "qdcache") if base else ""


class Option:
    """A row of the table. A callable default is evaluated at each `init`."""

    __slots__ = ("name", "default", "kind", "reach", "doc")

    def __init__(self, name: str, default: Any, kind: Kind, reach: str, doc: str) -> None:
        self.name, self.default, self.kind, self.reach, self.doc = name, default, kind, reach, doc

    def start(self) -> Any:
        return self.default() if callable(self.default) and not isinstance(self.default, DataType) else self.default


_O = Option
OPTIONS: tuple[Option, ...] = (
    # -- meaning of programs
    _O("default_fp", _native.f32, FP, "front", "Type of float literals and of `float` annotations."),
    _O("default_ip", _native.i32, IP, "front", "Type of int literals and of `int` annotations."),
    _O("fast_math", True, FLAG, "code:fast_math", "Reassociation, contraction, reciprocals, approximate functions; NaN and infinity stay."),
    _O("debug", False, FLAG, "front", "Assertions, bounds checks and overflow reports in kernels."),
    _O("check_out_of_bound", False, FLAG, "front", "Bounds checks, by itself."),
    _O("short_circuit_operators", True, FLAG, "front", "`and` and `or` skip their right side; False evaluates both."),
    _O("raise_on_templated_floats", False, FLAG, "front", "ValueError for a float that a kernel captures or takes as a template."),
    _O("unrolling_limit", 32, COUNT, "front", "Iterations of an unrolled loop from which a SyntaxWarning is given; 0: never."),
    _O("print_full_traceback", False, FLAG, "front", "Lets errors of the front end through with their Python traceback."),
    _O("print_non_pure", False, FLAG, "front", "Prints what keeps a kernel from being pure."),
    _O("random_seed", 0, INT, "core:random_seed", "Seed of `qd.random`; taken modulo 2^32. In no cache key."),
    # -- compiling
    _O("opt_level", 1, COUNT, "code:opt_level", "0 quick compile, 1 the usual passes, 2 and above everything."),
    _O("num_compile_threads", _compile_threads, COUNT, "code:num_compile_threads", "Tasks compiled side by side; 0: the cores of the process."),
    _O("cpu_max_num_threads", _cores, COUNT, "code:cpu_max_num_threads", "Workers of a launch on the CPU; 0: the cores of the process."),
    # -- caches (docs: one switch for all of them)
    _O("offline_cache", True, FLAG, "core:offline_cache", "Compiled code outlives the process. False touches no disk at all."),
    _O("offline_cache_file_path", default_cache_path, TEXT, "core:cache_root", "The one root of all caches; a relative path is taken from the working directory."),
    _O("offline_cache_cleaning_policy", "lru", POLICY, "core:cleaning_policy", "What goes first when the bound is passed."),
    _O("offline_cache_max_size_of_files", 100 << 20, COUNT, "core:cache_max_bytes", "Bytes over all caches together; 0: no bound."),
    _O("offline_cache_cleaning_factor", 0.25, FRACTION, "core:cleaning_factor", "Share that is freed when the bound is passed."),
    _O("per_offload_cache", "auto", PER_OFFLOAD, "core:per_offload", "One cache entry per task (True), per kernel (False), or what the backend prefers."),
    _O("src_ll_cache", True, FLAG, "host", "The source-level cache; without effect on disk when offline_cache is False."),
    _O("debug_cache_verify", False, FLAG, "core:debug_cache_verify", "Recompiles on each hit and compares."),
    # -- dumps
    _O("print_ir", False, FLAG, "core:print_ir", "Prints the IR of each kernel that is compiled, one at a time."),
    _O("print_kernel_asm", False, FLAG, "core:keep_asm", "Writes assembly of each task to debug_dump_path."),
    _O("debug_dump_path", "/tmp/ir/", TEXT, "core:dump_path", "Folder of dumps (QD_DUMP_IR) and of replacements (QD_LOAD_IR)."),
    _O("log_level", "info", LOG_LEVEL, "host", "Least severe log lines that are written."),
    _O("gdb_trigger", False, FLAG, "none", "Nothing here stops for a debugger by itself."),
    # -- accepted, decided elsewhere
    _O("advanced_optimization", True, FLAG, "none", "The pass list is fixed."),
    _O("cfg_optimization", True, FLAG, "none", "The pass list is fixed."),
    _O("flatten_if", False, FLAG, "none", "The pass list is fixed."),
    _O("move_loop_invariant_outside_if", False, FLAG, "none", "The pass list is fixed."),
    _O("cache_loop_invariant_global_vars", True, FLAG, "none", "The pass list is fixed."),
    _O("demote_dense_struct_fors", True, FLAG, "none", "Loops over dense fields are range loops always."),
    _O("make_thread_local", True, FLAG, "none", "Reductions are privatised where that pays."),
    _O("make_block_local", True, FLAG, "none", "`block_local` is not supported yet."),
    _O("detect_read_only", True, FLAG, "none", "Always on."),
    _O("real_matrix_scalarize", True, FLAG, "none", "Small matrices are scalars always."),
    _O("force_scalarize_matrix", False, FLAG, "none", "Small matrices are scalars always."),
    _O("half2_vectorization", False, FLAG, "none", "The code generator decides."),
    _O("make_cpu_multithreading_loop", True, FLAG, "none", "Small launches run on the calling thread."),
    _O("default_cpu_block_dim", 32, POSITIVE, "none", "The thread pool decides how work is cut."),
    _O("cpu_block_dim_adaptive", True, FLAG, "none", "The thread pool decides how work is cut."),
    _O("default_gpu_block_dim", 128, POSITIVE, "none", "No GPU backend yet."),
    _O("gpu_max_reg", 0, COUNT, "none", "No effect in the older system either."),
    _O("saturating_grid_dim", 0, COUNT, "none", "No GPU backend yet."),
    _O("max_block_dim", 0, COUNT, "none", "No GPU backend yet."),
    _O("ad_stack_experimental_enabled", False, FLAG, "none", "Autodiff is not supported yet."),
    _O("ad_stack_size", 0, COUNT, "none", "Autodiff is not supported yet."),
    _O("ad_stack_sparse_threshold_bytes", 100 << 20, COUNT, "none", "Autodiff is not supported yet."),
    _O("print_preprocessed_ir", False, FLAG, "none", "See print_ir."),
    _O("print_ir_dbg_info", False, FLAG, "none", "See print_ir."),
    _O("print_accessor_ir", False, FLAG, "none", "Host access uses no kernels."),
    _O("print_struct_llvm_ir", False, FLAG, "none", "Field trees have no code of their own."),
    _O("print_kernel_llvm_ir", False, FLAG, "none", "See QD_DUMP_IR."),
    _O("print_kernel_llvm_ir_optimized", False, FLAG, "none", "See QD_DUMP_IR."),
    _O("print_kernel_amdgcn", False, FLAG, "none", "No AMDGPU backend yet."),
    _O("kernel_profiler", False, FLAG, "none", "The profiler is not supported yet."),
    _O("timeline", False, FLAG, "none", "The profiler is not supported yet."),
    _O("verbose", True, FLAG, "none", "See log_level."),
    _O("verbose_kernel_launches", False, FLAG, "none", "See log_level."),
    _O("use_llvm", True, FLAG, "none", "The arch decides."),
    _O("simplify_before_lower_access", True, FLAG, "none", "No such stage."),
    _O("simplify_after_lower_access", True, FLAG, "none", "No such stage."),
    _O("lower_access", True, FLAG, "none", "No such stage."),
    _O("device_memory_GB", 1.0, AMOUNT, "none", "Memory is taken as it is needed."),
    _O("device_memory_fraction", 0.0, FRACTION, "none", "Memory is taken as it is needed."),
    _O("cuda_stack_limit", 0, COUNT, "none", "No CUDA backend yet."),
    _O("vk_api_version", "", TEXT, "none", "No Vulkan backend yet."),
    _O("quant_opt_store_fusion", True, FLAG, "none", "Quantised types are not supported yet."),
    _O("quant_opt_atomic_demotion", True, FLAG, "none", "Quantised types are not supported yet."),
    _O("make_mesh_block_local", True, FLAG, "none", "Meshes are not supported yet."),
    _O("optimize_mesh_reordered_mapping", True, FLAG, "none", "Meshes are not supported yet."),
    _O("mesh_localize_to_end_mapping", True, FLAG, "none", "Meshes are not supported yet."),
    _O("mesh_localize_from_end_mapping", False, FLAG, "none", "Meshes are not supported yet."),
    _O("mesh_localize_all_attr_mappings", False, FLAG, "none", "Meshes are not supported yet."),
    _O("demote_no_access_mesh_fors", True, FLAG, "none", "Meshes are not supported yet."),
    _O("experimental_auto_mesh_local", False, FLAG, "none", "Meshes are not supported yet."),
    _O("auto_mesh_local_default_occupacy", 4, COUNT, "none", "Meshes are not supported yet."),
    _O("external_metal_command_queue", 0, COUNT, "none", "No Metal backend yet."),
    _O("external_metal_command_queue_is_torch_queue", False, FLAG, "none", "No Metal backend yet."),
)
ROWS: dict[str, Option] = {option.name: option for option in OPTIONS}


def checked(option: Option, value: Any) -> Any:
    """The normal form of a keyword's value; TypeError or ValueError naming option, value and what is accepted."""
    try:
        return option.kind.check(value)
    except (TypeError, ValueError) as error:
        shown = value.name if isinstance(value, DataType) else repr(value)
        text = f"{option.name}={shown}: accepted are {option.kind.accepted}"
        raise (ValueError if isinstance(error, ValueError) else TypeError)(text) from None


def from_environment(option: Option) -> Any:
    """The value of QD_<NAME>, or None when it is unset or empty; ValueError naming variable, text and what is accepted."""
    name = "QD_" + option.name.upper()
    text = os.environ.get(name, "")
    if not text:
        return None
    try:
        return option.kind.parse(text)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={text!r}: accepted are {option.kind.accepted}") from None


def switched_on(variable: str) -> bool:
    """Whether a debug switch of the environment is on: "" and "0" are off."""
    return os.environ.get(variable, "") not in ("", "0")


def unknown_options(names: list[str]) -> KeyError:
    """The error for keywords that no row has, with the nearest names."""
    from difflib import get_close_matches

    hints = [f"{name} (did you mean {' or '.join(near)}?)" if (near := get_close_matches(name, ROWS, 2)) else name for name in names]
    return KeyError("Unrecognized keyword argument(s) for qd.init: " + ", ".join(hints))


def resolve(keywords: dict[str, Any], warn: Callable[[str], None]) -> dict[str, Any]:
    """Values of all options from keywords, environment and defaults, in that order.

    A keyword that overrides a variable is reported through `warn`. Raises KeyError, TypeError or ValueError.
    """
    unknown = [name for name in keywords if name not in ROWS]
    if "default_up" in unknown:
        raise KeyError("'default_up' is always the unsigned type of 'default_ip'. Please set 'default_ip' instead.")
    if unknown:
        raise unknown_options(unknown)
    values = {}
    for option in OPTIONS:
        value = from_environment(option) if option.name not in keywords else None
        if option.name in keywords:
            value = checked(option, keywords[option.name])
            variable = "QD_" + option.name.upper()
            if os.environ.get(variable):
                warn(f'Environment variable {variable}={os.environ[variable]} overridden by qd.init argument "{option.name}"')
        values[option.name] = option.start() if value is None else value
    return values


def defaults() -> dict[str, Any]:
    """Every option at its default: what holds before the first `init`."""
    return {option.name: option.start() for option in OPTIONS}


def context_config(values: dict[str, Any], archs: list[str], plugin_dir: str) -> dict[str, Any]:
    """The native ContextConfig (fields of core/api/core.hpp) for resolved options."""
    config: dict[str, Any] = {"archs": archs, "plugin_dir": plugin_dir, "plugin_path": "", "options": {}}
    for option in OPTIONS:
        reach, _, target = option.reach.partition(":")
        if reach == "code":
            config["options"][target] = str(int(values[option.name]))
        elif reach == "core":
            config[target] = values[option.name]
    config["per_offload"] = -1 if values["per_offload_cache"] == "auto" else int(values["per_offload_cache"])
    config["random_seed"] = values["random_seed"] & 0xFFFFFFFF
    config["options"]["debug"] = str(int(values["debug"]))
    config["dump_ir"] = switched_on("QD_DUMP_IR")
    config["load_ir"] = switched_on("QD_LOAD_IR")
    if values["print_ir"]:
        config["options"]["num_compile_threads"] = "1"
    return config


class CompileConfig:
    """`qd.cfg`: the options of the current runtime as attributes, `arch` and `default_up` too. Writing one changes what
    is compiled from then on; options that the backend took at `init` keep their value there."""

    def __init__(self, values: dict[str, Any], arch: Any) -> None:
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "arch", arch)

    def __getattr__(self, name: str) -> Any:
        if name == "default_up":
            return _native.u64 if self._values["default_ip"] is _native.i64 else _native.u32
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"'CompileConfig' object has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ROWS:
            raise AttributeError(f"'CompileConfig' object has no attribute {name!r}, or it cannot be changed after init")
        self._values[name] = checked(ROWS[name], value)

    def __dir__(self) -> list[str]:
        return sorted([*ROWS, "arch", "default_up"])

"""The one table of options: name, default, what is accepted, where it goes, what it does.

Keywords of `qd.init`, `QD_<NAME>` in the environment, `qd.cfg`, `dump_compile_config`, the native `ContextConfig` and
the reference page are all read from these rows. `reach` says who obeys an option:

    code:<row>     a row of plugins-api/include/qd/options.def, handed to the plugin
    core:<field>   a field of ContextConfig (core/api/core.hpp)
    front          read by the front end through `get_runtime().options` at each compile
    host           read by this package
    none           accepted because programs pass it, without effect; the doc says why
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


def _integer(low: int | None = None, high: int | None = None) -> Kind:
    def check(value: Any) -> int:
        number = operator.index(value)
        if (low is not None and number < low) or (high is not None and number > high):
            raise ValueError
        return number

    accepted = ("integers" if low is None else f"integers from {low}") + ("" if high is None else f" to {high}")
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


def _scalar_type(*types: DataType) -> Kind:
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


FLAG = Kind("True False (integers in the environment: 0 is False)", _as_flag, lambda text: bool(int(text)))
INT, COUNT = _integer(), _integer(0)
THREADS, MOST_THREADS = _integer(1, 1024), _integer(0, 1024)
TEXT = Kind("strings", _text, str)
FRACTION, AMOUNT = _real(0.0, 1.0), _real(0.0, None)
FP = _scalar_type(_native.f32, _native.f64)
IP = _scalar_type(_native.i32, _native.i64)
PER_OFFLOAD = Kind("'auto' True False", _as_per_offload, _as_per_offload)


def _as_paths(value: Any) -> list[str]:
    parts = value.split(os.pathsep) if isinstance(value, str) else list(value)
    return [os.fspath(part) for part in parts if part]


PATHS = Kind(f"lists of paths, or one text with {os.pathsep!r} between them", _as_paths, _as_paths)


def _as_level(value: Any) -> str:
    return check_level(value, "log_level")


LOG_LEVEL = Kind("trace debug info warn error critical off", _as_level, _as_level)
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


def _ignored(doc: str, **defaults: Any) -> "list[Option]":
    """Rows that are accepted and have no effect, for the reason given."""
    kinds = {bool: FLAG, int: COUNT, float: AMOUNT, str: TEXT}
    return [Option(name, default, kinds[type(default)], "none", doc) for name, default in defaults.items()]


_O = Option
OPTIONS: tuple[Option, ...] = (
    # meaning of programs
    _O("default_fp", _native.f32, FP, "front", "Type of float literals and of `float` annotations."),
    _O("default_ip", _native.i32, IP, "front", "Type of int literals and of `int` annotations."),
    _O("fast_math", True, FLAG, "code:fast_math", "Reassociation, contraction, approximations; NaN and infinity stay."),
    _O("debug", False, FLAG, "front", "Assertions, bounds checks and overflow reports in kernels."),
    _O("check_out_of_bound", False, FLAG, "front", "Bounds checks, by itself."),
    _O("short_circuit_operators", True, FLAG, "front", "`and`, `or` skip their right side; False evaluates both."),
    _O("raise_on_templated_floats", False, FLAG, "front", "ValueError for a captured or template float."),
    _O("unrolling_limit", 32, COUNT, "front", "Unrolled iterations from which a SyntaxWarning is given; 0: never."),
    _O("print_full_traceback", False, FLAG, "front", "Lets front end errors through with their Python traceback."),
    _O("print_non_pure", False, FLAG, "front", "Prints the kernels without fastcache=True as they are compiled."),
    _O("random_seed", 0, INT, "core:random_seed", "Seed of `qd.random`, modulo 2^32. In no cache key."),
    # compiling
    _O("opt_level", 1, COUNT, "code:opt_level", "0 quick compile, 1 the usual passes, 2 and above everything."),
    _O("num_compile_threads", _compile_threads, COUNT, "code:num_compile_threads", "Tasks compiled at once; 0: cores."),
    _O("cpu_max_num_threads", _cores, COUNT, "code:cpu_max_num_threads", "Workers of a CPU launch; 0: the cores."),
    # caches: offline_cache is one switch for all of them
    _O("offline_cache", True, FLAG, "core:offline_cache", "Compiled code outlives the process. False: no disk at all."),
    _O("offline_cache_file_path", default_cache_path, TEXT, "core:cache_root", "The one root of all caches."),
    _O("offline_cache_read_only_paths", list, PATHS, "core:read_only_roots", "Caches behind it that are only read."),
    _O("offline_cache_cleaning_policy", "lru", POLICY, "core:cleaning_policy", "What goes when the bound is passed."),
    _O("offline_cache_max_size_of_files", 100 << 20, COUNT, "core:cache_max_bytes", "Bytes in all; 0: no bound."),
    _O("offline_cache_cleaning_factor", 0.25, FRACTION, "core:cleaning_factor", "Share freed past the bound."),
    _O(
        "per_offload_cache",
        "auto",
        PER_OFFLOAD,
        "core:per_offload",
        "An entry per task, per kernel, or the backend's way.",
    ),
    _O("src_ll_cache", True, FLAG, "host", "The source-level cache; no disk when offline_cache is False."),
    _O("debug_cache_verify", False, FLAG, "core:debug_cache_verify", "Recompiles on each hit and compares."),
    # dumps and messages
    _O("print_ir", False, FLAG, "core:print_ir", "Prints the IR of each kernel that is compiled, one at a time."),
    _O("print_kernel_asm", False, FLAG, "core:keep_asm", "Writes assembly of each task to debug_dump_path."),
    _O("trace", "", TEXT, "host", "File for a Chrome trace of phases, tiers and launches, written at reset or exit."),
    _O("debug_dump_path", "/tmp/ir/", TEXT, "core:dump_path", "Where QD_DUMP_IR writes and QD_LOAD_IR reads."),
    _O("log_level", "info", LOG_LEVEL, "host", "Least severe log lines that are written."),
    _O("default_gpu_block_dim", 128, THREADS, "front", "Threads of a block on a GPU; 128: the backend decides."),
    _O(
        "max_block_dim", 0, MOST_THREADS, "front", "The most for loops that ask for none; 0: no limit but the device's."
    ),
    # accepted, decided elsewhere
    *_ignored("Nothing here stops for a debugger by itself.", gdb_trigger=False),
    *_ignored("The pass list is fixed.", advanced_optimization=True, cfg_optimization=True, flatten_if=False),
    *_ignored("The pass list is fixed.", move_loop_invariant_outside_if=False, cache_loop_invariant_global_vars=True),
    *_ignored("There are no such stages.", simplify_before_lower_access=True, simplify_after_lower_access=True),
    *_ignored("There are no such stages.", lower_access=True),
    *_ignored("Loops over dense fields are range loops always.", demote_dense_struct_fors=True),
    *_ignored("Always done where it pays.", make_thread_local=True, detect_read_only=True, half2_vectorization=False),
    *_ignored("`block_local` is not supported yet.", make_block_local=True),
    *_ignored("Small matrices are scalars always.", real_matrix_scalarize=True, force_scalarize_matrix=False),
    *_ignored("The thread pool decides.", make_cpu_multithreading_loop=True, cpu_block_dim_adaptive=True),
    *_ignored("The thread pool decides.", default_cpu_block_dim=32),
    *_ignored("For GPUs, later.", gpu_max_reg=0, saturating_grid_dim=0),
    *_ignored("For GPUs, later.", cuda_stack_limit=0, vk_api_version="", external_metal_command_queue=0),
    *_ignored("For GPUs, later.", external_metal_command_queue_is_torch_queue=False, print_kernel_amdgcn=False),
    _O("device_memory_GB", 1.0, AMOUNT, "host", "Above 1: taken by `init` on a GPU, and kept. Else as needed."),
    _O(
        "device_memory_fraction", 0.0, FRACTION, "host", "The same as a share of the device's memory; the larger holds."
    ),
    *_ignored("Autodiff is not supported yet.", ad_stack_experimental_enabled=False, ad_stack_size=0),
    *_ignored("Autodiff is not supported yet.", ad_stack_sparse_threshold_bytes=100 << 20),
    *_ignored("See print_ir.", print_preprocessed_ir=False, print_ir_dbg_info=False, print_accessor_ir=False),
    *_ignored("See QD_DUMP_IR.", print_kernel_llvm_ir=False, print_kernel_llvm_ir_optimized=False),
    *_ignored("Field trees have no code of their own.", print_struct_llvm_ir=False),
    _O("kernel_profiler", False, FLAG, "core:kernel_profiler", "Times every task of every launch; see qd.profiler."),
    *_ignored("See kernel_profiler.", timeline=False),
    *_ignored("See log_level.", verbose=True, verbose_kernel_launches=False),
    *_ignored("The arch decides.", use_llvm=True),
    *_ignored("Not supported yet.", quant_opt_store_fusion=True, quant_opt_atomic_demotion=True),
    *_ignored("Meshes are not supported yet.", make_mesh_block_local=True, optimize_mesh_reordered_mapping=True),
    *_ignored("Meshes are not supported yet.", mesh_localize_to_end_mapping=True, demote_no_access_mesh_fors=True),
    *_ignored(
        "Meshes are not supported yet.", mesh_localize_from_end_mapping=False, experimental_auto_mesh_local=False
    ),
    *_ignored("Meshes are not supported yet.", mesh_localize_all_attr_mappings=False),
    *_ignored("Meshes are not supported yet.", auto_mesh_local_default_occupacy=4),
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
    """The value of QD_<NAME>, None when it is unset or empty; ValueError naming variable, text and what is accepted."""
    name = "QD_" + option.name.upper()
    text = os.environ.get(name, "")
    if not text:
        return None
    try:
        return option.kind.parse(text)
    except (TypeError, ValueError):
        if option.kind in (FP, IP):
            raise ValueError(f"Invalid {name}={text}, should be 32 or 64") from None
        raise ValueError(f"{name}={text!r}: accepted are {option.kind.accepted}") from None


def switched_on(variable: str) -> bool:
    """Whether a debug switch of the environment is on: "" and "0" are off."""
    return os.environ.get(variable, "") not in ("", "0")


def unknown_options(names: list[str]) -> KeyError:
    """The error for keywords that no row has, with the nearest names."""
    from difflib import get_close_matches

    def hint(name: str) -> str:
        near = get_close_matches(name, ROWS, 2)
        return f"{name} (did you mean {' or '.join(near)}?)" if near else name

    return KeyError("Unrecognized keyword argument(s) for qd.init: " + ", ".join(map(hint, names)))


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
            if text := os.environ.get(variable):
                warn(f'Environment variable {variable}={text} overridden by qd.init argument "{option.name}"')
        values[option.name] = option.start() if value is None else value
    return values


def defaults() -> dict[str, Any]:
    """Every option at its default: what holds before the first `init`."""
    return {option.name: option.start() for option in OPTIONS}


def plugin_entry_points(archs: list[str], plugin_dir: str) -> list[tuple[str, str]]:
    """(arch, path of the plugin) of installed packages that name a backend in the entry point group
    `quadrants.backends`; asked only when an arch isn't beside the core. The value names a package, which is not
    imported: the plugin is its file `libqd_<arch>.so`.
    """
    if all(os.path.exists(os.path.join(plugin_dir, f"libqd_{arch}.so")) for arch in archs):
        return []
    from importlib.metadata import entry_points

    found = []
    for point in entry_points(group="quadrants.backends"):
        if point.dist is not None:
            folder = point.dist.locate_file(point.value.replace(".", "/"))
            found.append((point.name, os.path.join(os.path.abspath(str(folder)), f"libqd_{point.name}.so")))
    return found


def context_config(values: dict[str, Any], archs: list[str], plugin_dir: str) -> dict[str, Any]:
    """The native ContextConfig (fields of core/api/core.hpp) for resolved options."""
    config: dict[str, Any] = {"archs": archs, "plugin_dir": plugin_dir, "plugin_path": "", "options": {}}
    config["entry_points"] = plugin_entry_points(archs, plugin_dir)
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
    config["load_ptx"] = switched_on("QUADRANTS_LOAD_PTX")
    config["options"]["graphs"] = str(int(os.environ.get("QD_GRAPH", "") != "0"))
    gib = values["device_memory_GB"]
    config["options"]["device_memory_mib"] = str(round(gib * 1024) if gib > 1.0 else 0)
    config["options"]["device_memory_permille"] = str(round(values["device_memory_fraction"] * 1000))
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
            raise AttributeError(f"'CompileConfig' has no attribute {name!r}, or it cannot be changed after init")
        self._values[name] = checked(ROWS[name], value)

    def __dir__(self) -> list[str]:
        return sorted([*ROWS, "arch", "default_up"])

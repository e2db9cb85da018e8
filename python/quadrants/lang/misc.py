"""`qd.init` and what goes with it: choice of the arch, start-up output, checks of switches that exclude each other."""

import os
import warnings
from collections.abc import Iterable
from typing import Any

from quadrants import _logging, _native
from quadrants._lib.core import (
    CPU_ARCHS,
    GPU_ARCHS,
    Arch,
    Extension,
    PluginArch,
    arch_from_name,
    backend_name,
    host_arch,
)
from quadrants._version import LANGUAGE_VERSION, __version__, __version_str__
from quadrants.lang import config, impl
from quadrants.lang.static import loop_unique as loop_unique

cpu = host_arch()
gpu = list(GPU_ARCHS)
x64 = x86_64 = Arch.x64
arm64, cuda, amdgpu, metal, vulkan, python = Arch.arm64, Arch.cuda, Arch.amdgpu, Arch.metal, Arch.vulkan, Arch.python
reference, null, checked = Arch.reference, Arch.null, Arch.checked
extension = Extension
_AnyArch = Arch | PluginArch

_EXTENSIONS = frozenset({Extension.data64, Extension.assertion})
_WITHOUT_EXTENSIONS = (Arch.metal, Arch.vulkan)
_DUMP_WARNING = (
    "Even with print_ir/QD_DUMP_IR enabled, kernels that come from the cache show nothing. "
    "You might want to disable caching with offline_cache=False. [warning_code=DUMP_IR_CACHE_MISMATCH]"
)


class _SpecialConfig:
    """What `init(_test_mode=True)` gives: the options that only the Python side knows."""

    def __init__(self, values: dict[str, Any]) -> None:
        for name in ("log_level", "gdb_trigger", "short_circuit_operators", "print_full_traceback", "unrolling_limit"):
            setattr(self, name, values[name])


def plugin_dir() -> str:
    """The folder of the plugins that ship beside the core."""
    return os.environ.get("QD_LIB_DIR") or os.path.join(os.path.dirname(os.path.abspath(_native.__file__)), "plugins")


def check_require_version(require_version: str) -> None:
    """Exception unless the required version is of the same major number and not newer than this one, or than the
    released system whose language this one has: programs require the version that they were written for."""
    required = require_version
    parts = str(required).split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isdigit() for part in parts):
        raise Exception(f"require_version={required!r}: expected major.minor or major.minor.patch, numbers all of them")
    wanted = tuple(int(part) for part in parts) + (0,) * (3 - len(parts))
    if not any(wanted[0] == have[0] and wanted <= have for have in (__version__, LANGUAGE_VERSION)):
        shown, language = (".".join(map(str, one)) for one in (wanted, LANGUAGE_VERSION))
        raise Exception(
            f"Quadrants version mismatch. Required version >= {shown}, installed version = {__version_str__}, which has "
            f"the language of {language}."
        )


def _as_arch(value: Any, origin: str) -> "_AnyArch":
    if isinstance(value, (Arch, PluginArch)):
        return value
    if isinstance(value, str) and value:
        return arch_from_name(value)
    raise TypeError(f"{origin}={value!r}: expected an arch such as qd.cpu, the name of one, or a list of them")


def _wanted_archs(argument: Any) -> "list[_AnyArch]":
    """The archs to try in order; QD_ARCH overrides the argument."""
    variable = os.environ.get("QD_ARCH", "")
    if variable:
        if argument is not None:
            _logging.warn(f"qd.init argument arch overridden by environment variable QD_ARCH={variable}")
        return list(gpu) if variable == "gpu" else [_as_arch(variable, "QD_ARCH")]
    if argument is None:
        return [cpu]
    if isinstance(argument, str) and argument == "gpu":
        return list(gpu)
    many = argument if isinstance(argument, Iterable) and not isinstance(argument, str) else [argument]
    return [_as_arch(one, "arch") for one in many] or [cpu]


def _enabled(archs: "list[_AnyArch]") -> "list[_AnyArch]":
    """Without other machines' CPUs and those that QD_ENABLE_<ARCH>=0 forbids, each backend once."""
    here = [arch for arch in archs if arch is cpu or arch not in CPU_ARCHS]
    allowed = [arch for arch in here if os.environ.get(f"QD_ENABLE_{arch.name.upper()}", "") != "0"]
    return [arch for k, arch in enumerate(allowed) if backend_name(arch) not in map(backend_name, allowed[:k])]


def _open(archs: "list[_AnyArch]", values: dict[str, Any]) -> "tuple[Any, _AnyArch]":
    names = [backend_name(arch) for arch in archs]
    context = _native.Context(config.context_config(values, names, plugin_dir()))
    return context, archs[names.index(context.arch)] if context.arch in names else arch_from_name(context.arch)


def _open_first(wanted: "list[_AnyArch]", values: dict[str, Any], enable_fallback: bool) -> "tuple[Any, _AnyArch]":
    """Opens the first usable arch, else the CPU with a warning; RuntimeError when that is not allowed or fails too."""
    archs = _enabled(wanted)
    refusal: Exception | str = f"the CPU of this machine is {cpu.name}, or QD_ENABLE_<ARCH>=0 forbids it"
    if archs:
        try:
            return _open(archs, values)
        except RuntimeError as error:
            refusal = error
    if not enable_fallback:
        raise RuntimeError(f"Arch={wanted} is not supported: {refusal}")
    if any(arch in CPU_ARCHS for arch in archs):
        raise RuntimeError(f"No backend could be opened for Arch={wanted}: {refusal}")
    _logging.warn(f"Arch={wanted} is not supported, falling back to CPU ({refusal})")
    return _open([cpu], values)


def _check_switches(values: dict[str, Any]) -> None:
    """ValueError for switches that a cache would silently defeat; a warning for those that it would mute."""
    loads = [name for name in ("QD_LOAD_IR", "QUADRANTS_LOAD_PTX") if config.switched_on(name)]
    if loads and (values["offline_cache"] or values["src_ll_cache"]):
        raise ValueError(
            f"Caching must be disabled when using {' and '.join(loads)}: replacements in debug_dump_path are read "
            "for a kernel that is compiled, and a cached kernel is not. Pass offline_cache=False, src_ll_cache=False."
        )
    if values["offline_cache"] and (values["print_ir"] or config.switched_on("QD_DUMP_IR")):
        warnings.warn(_DUMP_WARNING, UserWarning, stacklevel=3)
    path = values["offline_cache_file_path"]
    if values["offline_cache"] and not path:
        _logging.warn(
            "There is no home directory, so compiled code is kept in memory only. "
            "Set XDG_CACHE_HOME or offline_cache_file_path to keep it."
        )
    values["offline_cache_file_path"] = os.path.abspath(os.path.expanduser(path)) if path else ""


def init(
    arch: Any = None,
    default_fp: Any = None,
    default_ip: Any = None,
    _test_mode: bool = False,
    enable_fallback: bool = True,
    require_version: str | None = None,
    print_non_pure: Any = None,
    src_ll_cache: Any = None,
    **kwargs: Any,
) -> "_SpecialConfig | None":
    """Starts a runtime, ending the previous one with all its fields, ndarrays and compiled code.

    `arch` is one such as `qd.cpu` or `qd.cuda`, the name of one, or a list of which the first usable is taken; when
    none is, the CPU is used with a warning, or RuntimeError is raised when `enable_fallback` is False. Every other
    keyword is a row of `quadrants.lang.config.OPTIONS`, which `QD_<NAME>` in the environment sets as well. Raises
    KeyError for an
    unknown keyword, TypeError or ValueError for a bad value.
    """
    if require_version is not None:
        check_require_version(require_version)
    given = {
        "default_fp": default_fp,
        "default_ip": default_ip,
        "print_non_pure": print_non_pure,
        "src_ll_cache": src_ll_cache,
    }
    kwargs.update({name: value for name, value in given.items() if value is not None})
    values = config.resolve(kwargs, _logging.warn)
    wanted = _wanted_archs(arch)
    _check_switches(values)
    _logging.set_logging_level(values["log_level"])
    impl.reset()
    if _test_mode:
        return _SpecialConfig(values)
    if values["trace"]:
        _native.trace_start(os.path.abspath(values["trace"]))
    context, opened = _open_first(wanted, values, enable_fallback)
    impl.get_runtime().start(context, opened, values)
    print(f"[Quadrants] Starting on arch={opened.name}", flush=True)
    return None


reset = impl.reset
sync = impl.sync


def dump_compile_config() -> None:
    """Prints `name=value` for every option of the current runtime, sorted. Needs `init`."""
    cfg = impl.current_cfg()
    for name in dir(cfg):
        value = getattr(cfg, name)
        print(f"{name}={value.name if isinstance(value, config.DataType) else value}")


def is_extension_supported(arch: "_AnyArch", ext: Any) -> bool:
    """Whether programs for `arch` may use an extension."""
    return Extension(ext) in _EXTENSIONS and arch not in _WITHOUT_EXTENSIONS


def is_extension_enabled(ext: Any) -> bool:
    """Whether the current arch supports an extension. Needs `init`."""
    impl.get_runtime().require_context()
    return is_extension_supported(impl.get_runtime().arch, ext)


def is_arch_supported(arch: Any) -> bool:
    """Whether a plugin for the arch is there and can run on this machine; opens no device."""
    wanted = _as_arch(arch, "arch")
    if wanted in CPU_ARCHS and wanted is not cpu:
        return False
    name = backend_name(wanted)
    survey = _native.survey_plugins(config.context_config(config.defaults(), [name], plugin_dir()))
    return any(row["usable"] and row["arch"] == name for row in survey)


def timeline_clear() -> None:
    """Forgets the launches that `timeline_save` would write."""
    from quadrants.lang import kernel_profiler

    kernel_profiler.clear()


def timeline_save(fn: str) -> None:
    """Writes the launches that `qd.init(kernel_profiler=True)` has timed to a file, as a Chrome trace in JSON."""
    from quadrants.lang import kernel_profiler

    kernel_profiler.timeline_save(fn)


def prepare_sandbox() -> str:
    """Path of a new folder that is removed when the process ends."""
    import tempfile
    from atexit import register
    from shutil import rmtree

    folder = tempfile.mkdtemp(prefix="quadrants-")
    register(rmtree, folder, ignore_errors=True)
    return folder


def get_host_arch_list() -> list[Arch]:
    """The archs that are this machine's CPU."""
    return [cpu]


def adaptive_arch_select(arch: Any, enable_fallback: bool = True) -> "_AnyArch":
    """The first supported arch of a list, else the CPU; RuntimeError when `enable_fallback` is False."""
    wanted = _wanted_archs(arch)
    for one in _enabled(wanted):
        if is_arch_supported(one):
            return one
    if not enable_fallback:
        raise RuntimeError(f"Arch={wanted} is not supported")
    return cpu

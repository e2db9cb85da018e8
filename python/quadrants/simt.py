"""`qd.simt`: operations of the threads of a GPU, and of the reference backend. Elsewhere each is a ValueError that names
the arch, in kernels (where it comes as a QuadrantsCompilationError with the line) and outside. What they mean in kernels
stands in `lang/frontend/threads.py` and `thread_blocks.py`."""

import sys as _sys
from collections.abc import Callable as _Callable
from types import SimpleNamespace as _Namespace
from typing import Any as _Any

from quadrants.lang.exception import QuadrantsSyntaxError as _SyntaxError
from quadrants.lang.later import fill_module as _fill_module

_SIZES = {"group_size": 32, "log2_group_size": 5}
_BLOCK = """sync sync_all_nonzero sync_any_nonzero sync_count_nonzero mem_fence mem_sync thread_idx global_thread_idx
    SharedArray reduce reduce_all reduce_add reduce_min reduce_max reduce_all_add reduce_all_min reduce_all_max
    inclusive_scan exclusive_scan inclusive_add inclusive_min inclusive_max exclusive_add exclusive_min exclusive_max
    radix_rank_match_atomic_or"""
_SUBGROUP = """sync mem_fence elect invocation_id group_size log2_group_size shuffle shuffle_xor shuffle_up shuffle_down
    broadcast broadcast_first ballot ballot_first_n all_true any_true all_equal lanemask_lt lanemask_le lanemask_eq
    lanemask_gt lanemask_ge bitonic_sort_kv barrier memory_barrier ballot_full_subgroup"""
for _kind in ("reduce", "reduce_all", "segmented_reduce"):
    _SUBGROUP += "".join(f" {_kind}_{op}" for op in ("add", "min", "max"))
for _kind in ("inclusive", "exclusive"):
    _SUBGROUP += "".join(f" {_kind}_{op}" for op in ("add", "mul", "min", "max", "and", "or", "xor"))
_SUBGROUP += "".join(
    f" {name}_tiled" for name in _SUBGROUP.split() if name.startswith(("shuffle", "broadcast", "reduce", "segmented",
        "inclusive", "exclusive", "all_", "any_", "ballot_first_n", "bitonic"))
)  # fmt: skip
_WARP = """all_nonzero any_nonzero unique ballot shfl_sync_i32 shfl_sync_f32 shfl_up_i32 shfl_up_f32 shfl_down_i32
    shfl_down_f32 shfl_xor_i32 match_any match_all active_mask sync"""


def refusal(what: str) -> Exception | None:
    """Why `qd.simt.<what>` cannot be used on this arch, or nothing."""
    from quadrants._lib.core import CPU_ARCHS, Arch
    from quadrants.lang.impl import get_runtime

    arch = get_runtime().arch
    if arch in CPU_ARCHS or arch in (None, Arch.null):
        return ValueError(f"qd.{what} is not supported for arch {arch}")
    return None


def _operation(path: str, name: str) -> _Callable[..., _Any]:
    def function(*args: _Any, **kwargs: _Any) -> _Any:
        wrong = refusal(f"{path}.{name}")
        if wrong is None and name in _SIZES:
            return _SIZES[name]
        raise wrong or _SyntaxError(f"qd.simt.{path}.{name} can be called inside kernels only")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`qd.simt.{path}.{name}`, for GPUs: a ValueError on a CPU."
    return function


def _group(path: str, names: str) -> _Namespace:
    return _Namespace(**{name: _operation(path, name) for name in names.split()})


block = _group("block", _BLOCK)
subgroup = _group("subgroup", _SUBGROUP)
warp = _group("warp", _WARP)
grid = _group("grid", "mem_fence memfence")
_fill_module(_sys.modules[__name__], "class Tile16x16(): SIZE eye zeros\nclass Tile32x32(): SIZE eye zeros")


import quadrants.lang.frontend.thread_blocks as _blocks  # noqa: E402,F401 - gives the names their meaning in kernels


def __dir__() -> list[str]:
    return "Tile16x16 Tile32x32 block grid subgroup warp".split()

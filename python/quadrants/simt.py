"""`qd.simt`: operations of the threads of a GPU. Not supported yet; each name says so when it is used."""

import sys as _sys
from types import SimpleNamespace as _Namespace

from quadrants.lang.later import fill_module as _fill_module
from quadrants.lang.later import later_function as _later_function

_BLOCK = """sync sync_all_nonzero sync_any_nonzero sync_count_nonzero mem_fence mem_sync thread_idx global_thread_idx
    SharedArray reduce reduce_all reduce_add reduce_min reduce_max reduce_all_add reduce_all_min reduce_all_max
    inclusive_scan exclusive_scan inclusive_add inclusive_min inclusive_max exclusive_add exclusive_min exclusive_max
    radix_rank_match_atomic_or"""
_SUBGROUP = """sync mem_fence elect invocation_id group_size log2_group_size shuffle shuffle_xor shuffle_up shuffle_down
    broadcast broadcast_first ballot ballot_first_n all_true any_true all_equal reduce_add reduce_min reduce_max
    bitonic_sort_kv"""
_WARP = """all_nonzero any_nonzero unique ballot shfl_sync_i32 shfl_sync_f32 shfl_up_i32 shfl_up_f32 shfl_down_i32
    shfl_down_f32 shfl_xor_i32 match_any match_all active_mask sync"""


def _group(path: str, names: str) -> _Namespace:
    return _Namespace(**{name: _later_function(f"simt.{path}.{name}") for name in names.split()})


block = _group("block", _BLOCK)
subgroup = _group("subgroup", _SUBGROUP)
warp = _group("warp", _WARP)
grid = _group("grid", "mem_fence memfence")
_fill_module(_sys.modules[__name__], "", "Tile16x16 Tile32x32")


def __dir__() -> list[str]:
    return "Tile16x16 Tile32x32 block grid subgroup warp".split()

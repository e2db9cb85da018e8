"""`qd.algorithms`: device-wide algorithms. Not supported yet; each name says so when it is used."""

import sys as _sys

from quadrants.lang.later import fill_module as _fill_module

_NAMES = """PrefixSumExecutor exclusive_scan_add exclusive_scan_max exclusive_scan_min
    exclusive_scan_scratch_slots parallel_sort reduce_add reduce_by_key_add
    reduce_by_key_scratch_slots reduce_max reduce_min reduce_scratch_slots select
    select_scratch_slots sort sort_scratch_slots"""
_fill_module(_sys.modules[__name__], _NAMES)


def __dir__() -> list[str]:
    return _NAMES.split()

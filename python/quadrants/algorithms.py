"""`qd.algorithms`: device-wide algorithms. Not supported yet; each name says so when it is used."""

import sys as _sys

from quadrants.lang.later import fill_module as _fill_module

_NAMES = _fill_module(
    _sys.modules[__name__],
    """
    class PrefixSumExecutor(length): run
    exclusive_scan_add(arr, out, scratch, n, dtype, log256_max_n)
    exclusive_scan_max(arr, out, scratch, n, dtype, log256_max_n)
    exclusive_scan_min(arr, out, scratch, n, dtype, log256_max_n)
    exclusive_scan_scratch_slots(n, log256_max_n=None)
    parallel_sort(keys, values=None)
    reduce_add(arr, out, scratch, n, dtype, log256_max_n)
    reduce_by_key_add(keys_in, values_in, keys_out, values_out, num_runs, scratch, n, value_dtype, log256_max_n)
    reduce_by_key_scratch_slots(n)
    reduce_max(arr, out, scratch, n, dtype, log256_max_n)
    reduce_min(arr, out, scratch, n, dtype, log256_max_n)
    reduce_scratch_slots(n, log256_max_n=None)
    select(arr, flags, out, num_out, scratch, n, log256_max_n)
    select_scratch_slots(n)
    sort(keys, tmp_keys, values, tmp_values, scratch, n, key_dtype, has_values, end_bit, log256_max_n)
    sort_scratch_slots(n, log256_max_n=None)
    """,
)


def __dir__() -> list[str]:
    return _NAMES

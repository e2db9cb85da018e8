"""`qd.profiler`: times of kernels and metrics of devices. Not supported yet; each name says so when it is used."""

import sys as _sys

from quadrants.lang.later import fill_module as _fill_module

_NAMES = """CuptiMetric clear_kernel_profiler_info clear_scoped_profiler_info collect_kernel_profiler_metrics
    get_kernel_profiler_total_time get_predefined_cupti_metrics print_kernel_profiler_info
    print_memory_profiler_info print_scoped_profiler_info query_kernel_profiler_info
    set_kernel_profiler_metrics set_kernel_profiler_toolkit"""
_fill_module(_sys.modules[__name__], _NAMES)


def __dir__() -> list[str]:
    return _NAMES.split()

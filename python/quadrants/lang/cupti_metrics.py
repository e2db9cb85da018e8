"""Groups of hardware counters of NVIDIA GPUs by the names that CUPTI has for them, as `qd.profiler` hands them out. They
describe what a program asks for: no counter is collected yet."""

# How a value is shown: format, and what it is multiplied with.
_MB, _GB_PER_S = ("{:9.3f} MB", 1.0 / (1 << 20)), ("{:9.3f} GB/s", 1.0 / (1 << 30))
_COUNT, _PERCENT = ("{:12.0f}", 1.0), ("{:7.2f} %", 1.0)
_PEAK = ".avg.pct_of_peak_sustained_elapsed"

GROUPS = {  # name of a group: (counter, heading, how it is shown)
    "global_access": [
        ("dram__bytes.sum", "memory", _MB),
        ("dram__bytes.sum.per_second", "memory/s", _GB_PER_S),
        ("dram__bytes_read.sum", "read", _MB),
        ("dram__bytes_read.sum.per_second", "read/s", _GB_PER_S),
        ("dram__bytes_write.sum", "written", _MB),
        ("dram__bytes_write.sum.per_second", "written/s", _GB_PER_S),
    ],
    "shared_access": [
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "shared loads", _COUNT),
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "shared stores", _COUNT),
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "load conflicts", _COUNT),
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "store conflicts", _COUNT),
    ],
    "atomic_access": [
        ("l1tex__t_set_accesses_pipe_lsu_mem_global_op_atom.sum", "atomics", _COUNT),
        ("l1tex__t_set_accesses_pipe_lsu_mem_global_op_red.sum", "reductions", _COUNT),
    ],
    "cache_hit_rate": [
        ("l1tex__t_sector_hit_rate.pct", "L1 hits", _PERCENT),
        ("lts__t_sector_hit_rate.pct", "L2 hits", _PERCENT),
    ],
    "device_utilization": [
        ("smsp__cycles_active" + _PEAK, "cores", _PERCENT),
        ("gpu__dram_throughput" + _PEAK, "memory", _PERCENT),
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared" + _PEAK, "shared memory", _PERCENT),
        ("l1tex__throughput" + _PEAK, "L1", _PERCENT),
        ("lts__throughput" + _PEAK, "L2", _PERCENT),
    ],
}

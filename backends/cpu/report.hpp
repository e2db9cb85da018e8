// report.hpp: the one function of ours that generated code calls: appends a record to the report buffer (wire.h).
#pragma once
#include <cstdint>

namespace qd::cpu {

// `args` is the task's argument block. A record that does not fit is counted and dropped; `failure` marks the launch
// failed.
void report(const uint64_t *args, uint32_t site, uint32_t failure, int64_t iteration, uint32_t n_values,
            const uint64_t *values);

}  // namespace qd::cpu

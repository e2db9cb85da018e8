// report.cpp: see report.hpp. Space is reserved by an atomic add, so any number of workers may append at once.
#include "backends/cpu/report.hpp"

#include <atomic>
#include <cstring>

#include "qd/wire.h"

namespace qd::cpu {

void report(const uint64_t *args, uint32_t site, uint32_t failure, int64_t iteration, uint32_t n_values,
            const uint64_t *values) {
  auto *head = reinterpret_cast<QdReportHeader *>(args[QD_ARG_REPORT]);
  if (!head) return;
  if (failure) std::atomic_ref(head->failed).store(1, std::memory_order_relaxed);
  const uint64_t bytes = sizeof(QdReportRecord) + 8ull * n_values;
  const uint64_t at = std::atomic_ref(head->used).fetch_add(bytes, std::memory_order_relaxed);
  if (at > head->capacity || bytes > head->capacity - at) {
    std::atomic_ref(head->dropped).fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const QdReportRecord record{uint32_t(args[QD_ARG_ORDINAL]), site, iteration, n_values, 0};
  char *to = reinterpret_cast<char *>(head + 1) + at;
  std::memcpy(to, &record, sizeof record);
  if (n_values) std::memcpy(to + sizeof record, values, 8ull * n_values);  // none: values may be null
}

}  // namespace qd::cpu

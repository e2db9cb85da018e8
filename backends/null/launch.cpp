// launch.cpp: launches are checked and then dropped. A real backend hands `args` and the range to its device.
#include "backends/null/null.hpp"

namespace qd::null {

std::unique_ptr<Stream> Device::stream(const Call &) { return std::make_unique<Stream>(); }

void Stream::launch(const Call &, const QdbLaunch *launches, uint32_t stride, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    const QdbLaunch &l = plugin::at(launches, stride, i);
    const Entry *entry = plugin::object<Entry>(l.entry);
    if (!entry || !l.args || l.arg_bytes < uint64_t(entry->arg_words) * 8)
      throw Failure(QDB_E_INVALID, "launch " + std::to_string(i) + ": no entry, or fewer argument bytes than the task reads");
  }
}

}  // namespace qd::null

// memory.cpp: device memory is host memory.
#include "backends/reference/reference.hpp"

namespace qd::reference {

std::unique_ptr<Mem> Device::alloc(const Call &, uint64_t size) { return std::make_unique<Mem>(size); }

void Stream::copy(const Call &, const QdbCopy &c) { host_memory::copy(c); }
void Stream::fill(const Call &, const QdbFill &f) { host_memory::fill(f); }

}  // namespace qd::reference

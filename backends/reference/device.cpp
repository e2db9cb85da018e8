// device.cpp: the one device of the reference backend is the calling thread.
#include <unistd.h>

#include "backends/reference/reference.hpp"

namespace qd::reference {

void Instance::device_info(const Call &, uint32_t, QdbDeviceInfo &out) {
  out.kind = QDB_KIND_CPU;
  plugin::copy_text(out.name, "IR interpreter");
  plugin::copy_text(out.isa, "ir");
  out.total_memory = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE));
  out.subgroup_size = 1;
  out.max_block_threads = 1;
  out.max_block_shared = 227 << 10;  // that of compute capability 9.0
}

std::unique_ptr<Device> Instance::open(const Call &, uint32_t) { return std::make_unique<Device>(); }

// The artifact is the unit: nothing about the machine enters it.
Blob Device::target(const Call &call, uint32_t) { return call.host.blob("ir"); }

}  // namespace qd::reference

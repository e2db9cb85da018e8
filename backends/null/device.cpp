// device.cpp: the one device of the null backend. A real one asks its driver here.
#include "backends/null/null.hpp"

namespace qd::null {

void Instance::device_info(const Call &, uint32_t, QdbDeviceInfo &out) {
  out.kind = QDB_KIND_OTHER;
  plugin::copy_text(out.name, "null device");
  plugin::copy_text(out.isa, "null");
  out.subgroup_size = 1;
  out.max_block_threads = 1;
}

std::unique_ptr<Device> Instance::open(const Call &, uint32_t) { return std::make_unique<Device>(); }

// All that can change the code, and nothing else: no ordinal, pointer, path or time.
Blob Device::target(const Call &call, uint32_t) { return call.host.blob("null"); }

}  // namespace qd::null

// device.cpp: the instance and its one device: this process's processor.
#include <unistd.h>

#include <cstdio>

#include "backends/cpu/cpu.hpp"
#include "backends/cpu/target.hpp"
#include "qd/wire.h"

namespace qd::cpu {
namespace {

uint32_t workers(const plugin::Options &options) {
  const int64_t n = options.integer("cpu_max_num_threads", 0);
  return n > 0 ? uint32_t(std::min<int64_t>(n, 4096)) : usable_cores();
}

// The processor's own name for itself, from the extended cpuid leaves.
void brand(char (&name)[128]) {
  uint32_t words[12] = {};
  for (uint32_t leaf = 0; leaf < 3; leaf++)
    __asm__("cpuid"
            : "=a"(words[4 * leaf]), "=b"(words[4 * leaf + 1]), "=c"(words[4 * leaf + 2]), "=d"(words[4 * leaf + 3])
            : "a"(0x80000002u + leaf), "c"(0));
  const char *text = reinterpret_cast<const char *>(words);
  plugin::copy_text(name, std::string_view(text, strnlen(text, sizeof words)));
}

}  // namespace

Instance::Instance(const plugin::Host &, const plugin::Options &options) : pool_(workers(options)) {}

void Instance::caps(QdbCaps &c) const {
  c.units = QDB_UNIT_TASK | QDB_UNIT_KERNEL;
  c.caps = QDB_CAP_COMPILE_MT | QDB_CAP_OFFLINE | QDB_CAP_HOST_SHARED | QDB_CAP_RECURSION | QDB_CAP_KERNEL_DEFAULT;
  c.ir_major = QD_WIRE_MAJOR, c.ir_minor = QD_WIRE_MINOR;
}

void Instance::device_info(const Call &, uint32_t, QdbDeviceInfo &d) const {
  d.kind = QDB_KIND_CPU;
  brand(d.name);
  plugin::copy_text(d.isa, isa_level(host_target()));
  d.total_memory = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  d.subgroup_size = 1;
  d.max_block_threads = 1;
}

void Instance::quiesce(uint32_t why) {
  if (why == 1) pool_.abandon();
  else pool_.stop();
}

plugin::Blob Device::target(const Call &call, uint32_t) {
  const QdxCpuTarget t = host_target();
  return call.host.blob(std::string_view(reinterpret_cast<const char *>(&t), sizeof t));
}

}  // namespace qd::cpu

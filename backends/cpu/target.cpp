// target.cpp: see target.hpp. The compiler's own cpuid reader is used, because it also asks the system whether it saves
// the wide registers. The model name only selects scheduling; what may be emitted is decided by the feature bits.
#include "backends/cpu/target.hpp"

#include <sched.h>

#include <cstring>
#include <thread>

#include "backends/cpu/loader.hpp"

namespace qd::cpu {
namespace {

uint64_t feature_bits() {
  __builtin_cpu_init();
  uint64_t bits = 0;
  int row = 0;
#define FEATURE(name, llvm) bits |= uint64_t(__builtin_cpu_supports(name) != 0) << row++;
#include "backends/cpu/features.def"
  return bits;
}

const char *model_name() {
#define MODEL(name) \
  if (__builtin_cpu_is(name)) return name;
  MODEL("sapphirerapids")
  MODEL("icelake-server") MODEL("icelake-client") MODEL("cascadelake") MODEL("cooperlake") MODEL("skylake-avx512")
      MODEL("tigerlake") MODEL("rocketlake") MODEL("alderlake") MODEL("skylake") MODEL("broadwell") MODEL("haswell")
          MODEL("znver3") MODEL("znver2") MODEL("znver1")
#undef MODEL
              return "x86-64";
}

}  // namespace

QdxCpuTarget host_target() {
  QdxCpuTarget t{};
  t.magic = QDX_CPU_TARGET_MAGIC;
  t.version = QDX_CPU_CODEGEN_VERSION;
  t.vector_math = vector_math_level();
  t.features = feature_bits();
  std::strncpy(t.cpu, model_name(), sizeof t.cpu - 1);
  return t;
}

const char *isa_level(const QdxCpuTarget &t) {
  const auto all = [&](std::initializer_list<const char *> names) {
    for (const char *n : names) {
      int row = 0;
      bool found = false;
#define FEATURE(name, llvm) found |= !std::strcmp(n, name) && (t.features >> row & 1), row++;
#include "backends/cpu/features.def"
      if (!found) return false;
    }
    return true;
  };
  if (!all({"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cmpxchg16b"})) return "x86-64-v1";
  if (!all({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"})) return "x86-64-v2";
  return all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? "x86-64-v4" : "x86-64-v3";
}

uint32_t usable_cores() {
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 0) return uint32_t(CPU_COUNT(&set));
  const unsigned n = std::thread::hardware_concurrency();  // more than 1024 processors: the set did not fit
  return n ? n : 1;
}

}  // namespace qd::cpu

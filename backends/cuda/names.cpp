// names.cpp: extension "qd.names" (ext_names.h). A tool is attached when one of the variables is set by which the
// driver and NVTX load it. Kernels become NVTX ranges around their launches, where the build found NVTX; tasks get
// their names in the code that is loaded.
#include "backends/cuda/names.hpp"

#include <cstdlib>

#include "backends/cuda/cuda.hpp"
#include "qd/ext_names.h"
#if QD_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace qd::cuda {
namespace {

bool set(const char *variable) {
  const char *value = std::getenv(variable);
  return value && *value;
}

QdbStatus QDB_CALL task(QdbDevice *h, const QdbStr *symbol, const QdbStr *name, QdbErr *slot) {
  return plugin::on<Device>(h, slot, [&](Device &self, plugin::Shared &, const Call &) {
    plugin::require(symbol, "symbol");
    plugin::require(name, "name");
    self.name(plugin::text(*symbol), plugin::text(*name));
  });
}

void QDB_CALL kernel_begin(const char *name) {
#if QD_NVTX
  nvtxRangePushA(name);
#else
  (void)name;
#endif
}
void QDB_CALL kernel_end() {
#if QD_NVTX
  nvtxRangePop();
#endif
}

constexpr QdExtNames table = {sizeof(QdExtNames), 0, task, kernel_begin, kernel_end};

}  // namespace

const void *names_extension() {
  return set("NVTX_INJECTION64_PATH") || set("CUDA_INJECTION64_PATH") ? &table : nullptr;
}

}  // namespace qd::cuda

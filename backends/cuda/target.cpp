// target.cpp: see target.hpp.
#include "backends/cuda/target.hpp"

namespace qd::cuda {

uint32_t code_target(uint32_t device) {
  uint32_t found = 0;
#define TARGET(sm, ptx) \
  if (sm <= device) found = sm;
#include "backends/cuda/targets.def"
  return found;
}

QdxCudaTarget target_of(uint32_t device, uint32_t driver_version, uint32_t level) {
  QdxCudaTarget t{};
  t.magic = QDX_CUDA_TARGET_MAGIC;
  t.version = QDX_CUDA_CODEGEN_VERSION;
  t.sm = code_target(device);
  if (level >= 2) t.device = device, t.driver = driver_version;
  return t;
}

}  // namespace qd::cuda

// target.hpp: target bytes of a device.
#pragma once
#include <cstdint>

#include "backends/cuda/codegen_abi.h"

namespace qd::cuda {

// The newest row of targets.def that a device of compute capability `device` (90 for 9.0) runs; 0: it is too old.
uint32_t code_target(uint32_t device);
QdxCudaTarget target_of(uint32_t device, uint32_t driver_version, uint32_t level);

}  // namespace qd::cuda

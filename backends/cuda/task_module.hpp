// task_module.hpp: one task as an LLVM module for NVPTX, before device math is linked and anything is optimised.
#pragma once
#include <memory>
#include <string>

#include "backends/common/llvm_emitter/emitter.hpp"
#include "backends/cuda/codegen_abi.h"

namespace qd::cuda {

struct BuiltTask {
  QdxCudaMeta meta;
  uint32_t ptx;  // version that its operations need, as in targets.def; 0: that of the GPU's row
};
BuiltTask build_module(llvm::Module &, const view::View &, llvm::StringRef symbol, uint32_t sm, bool fast_math);

// Calls between functions of the module: inlined but for large bodies called from many places. A call on a GPU passes
// through local memory, and so would everything whose address it takes.
void inline_calls(llvm::Module &);

}  // namespace qd::cuda

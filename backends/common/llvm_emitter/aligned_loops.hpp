// aligned_loops.hpp: a pass for GPUs, ahead of unrolling: an inner loop that walks arrays from their beginning exists
// twice, once for arrays that begin at a multiple of 16 bytes. There several rounds' elements become wide loads: each
// load is a place in a short queue, however much it fetches.
#pragma once
#include <llvm/IR/PassManager.h>

namespace qd::llvm_emitter {

struct AlignedLoops : llvm::PassInfoMixin<AlignedLoops> {
  static llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

}  // namespace qd::llvm_emitter

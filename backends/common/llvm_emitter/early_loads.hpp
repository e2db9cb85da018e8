// early_loads.hpp: a pass for GPUs: loads stand as early in their block as their addresses and the writes before them
// allow. The assembler keeps that order, and a thread waits once for all of them instead of once for each.
#pragma once
#include <llvm/IR/PassManager.h>

namespace qd::llvm_emitter {

struct EarlyLoads : llvm::PassInfoMixin<EarlyLoads> {
  static llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

}  // namespace qd::llvm_emitter

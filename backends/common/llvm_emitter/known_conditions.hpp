// known_conditions.hpp: where a truth value decides the way, its value on that way is a constant. LLVM 22's vectoriser
// needs it: it inverts a comparison in place and exchanges the sides of each choice made by it, and is wrong when one
// of those sides is the comparison itself.
#pragma once
#include <llvm/IR/PassManager.h>

namespace qd::llvm_emitter {

struct KnownConditions : llvm::PassInfoMixin<KnownConditions> {
  llvm::PreservedAnalyses run(llvm::Function &f, llvm::FunctionAnalysisManager &fam);
};

}  // namespace qd::llvm_emitter

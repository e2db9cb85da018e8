// early_loads.cpp: see early_loads.hpp.
#include "backends/common/llvm_emitter/early_loads.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>

#include <algorithm>

namespace qd::llvm_emitter {
namespace {

using llvm::Instruction;

// What the address of a load is made of, as far as it stands between `front` and the load; false when that is too much
// or has to stay where it is.
bool address_of(Instruction *i, Instruction *front, llvm::SmallVectorImpl<Instruction *> &out, int depth = 0) {
  constexpr size_t most = 24;
  if (depth > 8 || out.size() > most) return false;
  for (llvm::Use &u : i->operands()) {
    auto *made = llvm::dyn_cast<Instruction>(u.get());
    if (!made || made->getParent() != i->getParent() || llvm::isa<llvm::PHINode>(made)) continue;
    if (made != front && made->comesBefore(front)) continue;
    if (std::find(out.begin(), out.end(), made) != out.end()) continue;
    if (made->mayReadOrWriteMemory() || llvm::isa<llvm::CallBase>(made) || !llvm::isSafeToSpeculativelyExecute(made) ||
        !address_of(made, front, out, depth + 1))
      return false;
    out.push_back(made);
  }
  return true;
}

bool can_move(const llvm::LoadInst &load) {
  return load.isSimple() && !load.getPointerOperand()->getType()->isVectorTy() && load.getPointerAddressSpace() == 1;
}

bool in_block(llvm::BasicBlock &block) {
  constexpr int most_loads = 32;  // each holds a register
  bool changed = false;
  int loads = 0;
  Instruction *front = &*block.getFirstInsertionPt();  // what moves is put in front of it
  for (Instruction *i = front, *next; i && !i->isTerminator(); i = next) {
    next = i->getNextNode();
    if (i->mayWriteToMemory()) {
      front = next, loads = 0;
      continue;
    }
    auto *load = llvm::dyn_cast<llvm::LoadInst>(i);
    if (!load || !can_move(*load) || ++loads > most_loads) continue;
    llvm::SmallVector<Instruction *> parts;
    if (!address_of(load, front, parts)) continue;
    parts.push_back(load);
    for (Instruction *part : parts) {
      if (part == front) front = front->getNextNode();
      else part->moveBefore(front->getIterator()), changed = true;
    }
  }
  return changed;
}

}  // namespace

llvm::PreservedAnalyses EarlyLoads::run(llvm::Function &f, llvm::FunctionAnalysisManager &) {
  bool changed = false;
  for (auto &block : f) changed |= in_block(block);
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace qd::llvm_emitter

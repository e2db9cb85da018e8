// aligned_loops.cpp: see aligned_loops.hpp. Only loops that are to be unrolled, with one way in and one way out.
// Whether an array is aligned is asked once, in front of the loop.
#include "backends/common/llvm_emitter/aligned_loops.hpp"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

namespace qd::llvm_emitter {
namespace {

constexpr uint64_t widest = 16;  // bytes of a load

// Made of constants and of what counts the rounds from a constant on.
bool counts_rounds(const llvm::Value *v, const llvm::Loop &loop, int depth = 0) {
  if (llvm::isa<llvm::ConstantInt>(v)) return true;
  const auto *i = llvm::dyn_cast<llvm::Instruction>(v);
  if (!i || depth > 8 || !loop.contains(i)) return false;
  if (const auto *phi = llvm::dyn_cast<llvm::PHINode>(i))
    return phi->getParent() == loop.getHeader() &&
           llvm::isa<llvm::ConstantInt>(phi->getIncomingValueForBlock(loop.getLoopPreheader()));
  if (!llvm::isa<llvm::BinaryOperator>(i) && !llvm::isa<llvm::CastInst>(i)) return false;
  return llvm::all_of(i->operands(), [&](const llvm::Use &u) { return counts_rounds(u.get(), loop, depth + 1); });
}

// The arrays that it walks, as far as nothing is known of where they begin.
llvm::SmallSetVector<llvm::Value *, 4> arrays_of(const llvm::Loop &loop, const llvm::DataLayout &layout) {
  llvm::SmallSetVector<llvm::Value *, 4> found;
  for (const llvm::BasicBlock *block : loop.blocks())
    for (const llvm::Instruction &i : *block) {
      const auto *load = llvm::dyn_cast<llvm::LoadInst>(&i);
      if (!load || !load->isSimple()) continue;
      const auto *at = llvm::dyn_cast<llvm::GetElementPtrInst>(load->getPointerOperand());
      if (!at || at->getNumIndices() != 1 || !counts_rounds(at->getOperand(1), loop)) continue;
      auto *array = const_cast<llvm::Value *>(at->getPointerOperand());
      if (loop.isLoopInvariant(array) && array->getPointerAlignment(layout) < widest) found.insert(array);
    }
  return found;
}

void divide(llvm::Loop &loop, llvm::ArrayRef<llvm::Value *> arrays, llvm::LoopInfo &loops, llvm::DominatorTree &dom,
            llvm::AssumptionCache &assumptions) {
  llvm::BasicBlock *ask = loop.getLoopPreheader(), *exit = loop.getExitBlock(), *last = loop.getExitingBlock();
  llvm::BasicBlock *aligned = llvm::SplitBlock(ask, ask->getTerminator(), &dom, &loops, nullptr, "aligned");
  llvm::ValueToValueMapTy copies;
  llvm::SmallVector<llvm::BasicBlock *> blocks;
  llvm::Loop *other = llvm::cloneLoopWithPreheader(aligned, ask, &loop, copies, ".any", &loops, &dom, blocks);
  llvm::remapInstructionsInBlocks(blocks, copies);
  llvm::IRBuilder<> b(ask->getTerminator());
  llvm::Value *bits = nullptr;
  for (llvm::Value *array : arrays) {
    llvm::Value *one = b.CreatePtrToInt(array, b.getInt64Ty());
    bits = bits ? b.CreateOr(bits, one) : one;
  }
  llvm::Value *fits = b.CreateICmpEQ(b.CreateAnd(bits, b.getInt64(widest - 1)), b.getInt64(0));
  b.CreateCondBr(fits, aligned, other->getLoopPreheader());
  ask->getTerminator()->eraseFromParent();
  for (llvm::PHINode &phi : exit->phis()) {
    llvm::Value *v = phi.getIncomingValueForBlock(last), *copy = copies.lookup(v);
    phi.addIncoming(copy ? copy : v, llvm::cast<llvm::BasicBlock>(copies[last]));
  }
  dom.changeImmediateDominator(exit, ask);
  b.SetInsertPoint(aligned->getTerminator());
  for (llvm::Value *array : arrays)
    assumptions.registerAssumption(
        llvm::cast<llvm::AssumeInst>(b.CreateAlignmentAssumption(ask->getDataLayout(), array, widest)));
}

}  // namespace

llvm::PreservedAnalyses AlignedLoops::run(llvm::Function &f, llvm::FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<llvm::LoopAnalysis>(f);
  auto &dom = analyses.getResult<llvm::DominatorTreeAnalysis>(f);
  auto &assumptions = analyses.getResult<llvm::AssumptionAnalysis>(f);
  bool changed = false;
  for (llvm::Loop *loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || !llvm::getOptionalIntLoopAttribute(loop, "llvm.loop.unroll.count")) continue;
    changed |= llvm::simplifyLoop(loop, &dom, &loops, nullptr, &assumptions, nullptr, /*PreserveLCSSA=*/false);
    if (!loop->isLoopSimplifyForm() || !loop->getExitBlock() || !loop->getExitingBlock()) continue;
    const auto arrays = arrays_of(*loop, f.getDataLayout());
    if (arrays.empty()) continue;
    llvm::formLCSSA(*loop, dom, &loops, nullptr);
    divide(*loop, arrays.getArrayRef(), loops, dom, assumptions);
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace qd::llvm_emitter

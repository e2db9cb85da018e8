// polls.cpp: see polls.hpp. A loop asks when nothing bounds its rounds, or when it holds other loops. A counted loop
// without others inside ends by itself, and is where programs spend their time: it stays as it is. One counter in a
// register serves all loops of a function, a subtraction and a jump a round.
#include "backends/common/llvm_emitter/polls.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

namespace qd::llvm_emitter {
namespace {

constexpr uint32_t first_rounds = 8;  // until the first question; its answer says when the next one is due

bool asks(const llvm::Loop &l, llvm::ScalarEvolution &se) {
  return !l.isInnermost() || llvm::isa<llvm::SCEVCouldNotCompute>(se.getSymbolicMaxBackedgeTakenCount(&l));
}

}  // namespace

bool add_polls(llvm::Function &f, llvm::FunctionAnalysisManager &fam, const Polls &polls) {
  auto &se = fam.getResult<llvm::ScalarEvolutionAnalysis>(f);
  llvm::SmallVector<std::pair<llvm::BasicBlock *, llvm::BasicBlock *>> back;  // edges to the head of a loop
  for (llvm::Loop *l : fam.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder()) {
    if (l->getLoopDepth() <= (f.getName() == polls.task ? polls.grid_loops : 0) || !asks(*l, se)) continue;
    llvm::SmallVector<llvm::BasicBlock *> latches;
    l->getLoopLatches(latches);
    for (llvm::BasicBlock *latch : latches) back.emplace_back(latch, l->getHeader());
  }
  if (back.empty()) return false;
  llvm::IRBuilder<> b(&*f.getEntryBlock().getFirstInsertionPt());
  llvm::Type *const i32 = b.getInt32Ty();
  const llvm::FunctionCallee poll = f.getParent()->getOrInsertFunction(polls.symbol, i32);
  llvm::AllocaInst *const left = b.CreateAlloca(i32);
  b.CreateStore(b.getInt32(first_rounds), left);
  llvm::MDNode *const rarely = llvm::MDBuilder(f.getContext()).createUnlikelyBranchWeights();
  for (const auto &[latch, head] : back) {
    llvm::Instruction *const end = llvm::SplitEdge(latch, head)->getTerminator();
    b.SetInsertPoint(end);
    llvm::Value *const now = b.CreateSub(b.CreateLoad(i32, left), b.getInt32(1));
    b.CreateStore(now, left);
    b.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(b.CreateIsNull(now), end, false, rarely));
    llvm::CallInst *const call = b.CreateCall(poll);
    call->addFnAttr(llvm::Attribute::NoUnwind), call->addFnAttr(llvm::Attribute::Cold);
    b.CreateStore(call, left);
  }
  llvm::DominatorTree tree(f);
  llvm::PromoteMemToReg(left, tree);
  fam.invalidate(f, llvm::PreservedAnalyses::none());
  return true;
}

}  // namespace qd::llvm_emitter

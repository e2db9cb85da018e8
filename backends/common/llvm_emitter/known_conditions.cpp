// known_conditions.cpp: see known_conditions.hpp.
#include "backends/common/llvm_emitter/known_conditions.hpp"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

namespace qd::llvm_emitter {

using namespace llvm::PatternMatch;

namespace {

// What `v` is where `condition` holds or does not; null when that says nothing.
llvm::Constant *known(llvm::Value *v, llvm::Value *condition, bool holds) {
  if (llvm::isa<llvm::Constant>(v)) return nullptr;
  auto *yes = llvm::ConstantInt::getBool(v->getType(), holds), *no = llvm::ConstantInt::getBool(v->getType(), !holds);
  if (v == condition) return yes;
  return match(v, m_Not(m_Specific(condition))) || match(condition, m_Not(m_Specific(v))) ? no : nullptr;
}

bool ways_of(llvm::PHINode &phi) {
  if (!phi.getType()->isIntegerTy(1)) return false;
  bool changed = false;
  for (unsigned k = 0; k < phi.getNumIncomingValues(); k++) {
    auto *way = llvm::dyn_cast<llvm::BranchInst>(phi.getIncomingBlock(k)->getTerminator());
    if (!way || !way->isConditional() || way->getSuccessor(0) == way->getSuccessor(1)) continue;
    if (auto *c = known(phi.getIncomingValue(k), way->getCondition(), way->getSuccessor(0) == phi.getParent()))
      phi.setIncomingValue(k, c), changed = true;
  }
  return changed;
}

bool sides_of(llvm::SelectInst &choice) {
  if (!choice.getType()->isIntegerTy(1)) return false;
  bool changed = false;
  for (const unsigned side : {1u, 2u})
    if (auto *c = known(choice.getOperand(side), choice.getCondition(), side == 1))
      choice.setOperand(side, c), changed = true;
  return changed;
}

}  // namespace

llvm::PreservedAnalyses KnownConditions::run(llvm::Function &f, llvm::FunctionAnalysisManager &) {
  bool changed = false;
  for (auto &block : f) {
    llvm::Value *x = nullptr;
    auto *way = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (way && way->isConditional() && match(way->getCondition(), m_Not(m_Value(x)))) {
      way->setCondition(x);  // EarlyCSE knows the rest of both ways then
      way->swapSuccessors();
      changed = true;
    }
    for (auto &i : block) {
      if (auto *phi = llvm::dyn_cast<llvm::PHINode>(&i)) changed |= ways_of(*phi);
      if (auto *choice = llvm::dyn_cast<llvm::SelectInst>(&i)) changed |= sides_of(*choice);
    }
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace qd::llvm_emitter

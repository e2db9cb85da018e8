// point_loop.hpp: the loops that both mappings of a parallel end in.
#pragma once
#include "backends/common/llvm_emitter/emit.hpp"

namespace qd::llvm_emitter {

// From lo to hi in steps; `body` gets the index and the block in front of the loop, for values of its own that are
// carried around it.
template <class F>
void Emit::stride_loop(llvm::Value *lo, llvm::Value *hi, llvm::Value *step, F body) {
  auto *before = b.GetInsertBlock();
  auto *head = llvm::BasicBlock::Create(context, "points", f), *exit = llvm::BasicBlock::Create(context, "done", f);
  b.CreateCondBr(b.CreateICmpSLT(lo, hi), head, exit);
  b.SetInsertPoint(head);
  auto *index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(lo, before);
  body(index, before);
  llvm::Value *next = b.CreateNSWAdd(index, step);
  index->addIncoming(next, b.GetInsertBlock());
  loop_metadata(b.CreateCondBr(b.CreateICmpSLT(next, hi), head, exit), true);
  b.SetInsertPoint(exit);
}

// One counted loop over [lo, hi) whose body is the parallel's; `position` gives an index its place in the task's range.
template <class F>
void Emit::point_loop(const view::Parallel &p, llvm::Value *lo, llvm::Value *hi, llvm::Value *step, F position) {
  stride_loop(lo, hi, step, [&](llvm::Value *index, llvm::BasicBlock *) { one_position(p, position(index)); });
}

}  // namespace qd::llvm_emitter

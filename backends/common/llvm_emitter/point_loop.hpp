// point_loop.hpp: the loop that both mappings of a parallel end in.
#pragma once
#include "backends/common/llvm_emitter/emit.hpp"

namespace qd::llvm_emitter {

// One counted loop over [lo, hi) whose body is the parallel's; `position` gives an index its place in the task's range.
// `advance` is written where an iteration ends.
template <class F, class G>
void Emit::point_loop(const view::Parallel &p, llvm::Value *lo, llvm::Value *hi, llvm::Value *step, F position,
                      G advance) {
  auto *before = b.GetInsertBlock();
  auto *head = llvm::BasicBlock::Create(context, "points", f), *exit = llvm::BasicBlock::Create(context, "done", f);
  b.CreateCondBr(b.CreateICmpSLT(lo, hi), head, exit);
  b.SetInsertPoint(head);
  auto *index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(lo, before);
  iteration = position(index);
  if (draws) b.CreateStore(b.getInt32(0), draws);
  const size_t mark = wide_written.size();
  records(p.record + 1, p.end);
  for (; wide_written.size() > mark; wide_written.pop_back()) wide_of[wide_written.back()] = nullptr;
  advance();
  llvm::Value *next = b.CreateNSWAdd(index, step);
  index->addIncoming(next, b.GetInsertBlock());
  loop_metadata(b.CreateCondBr(b.CreateICmpSLT(next, hi), head, exit), true);
  b.SetInsertPoint(exit);
  iteration = nullptr;
}

}  // namespace qd::llvm_emitter

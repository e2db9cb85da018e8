// parallel.cpp: how the points of a grid reach code. On a host: rows. [begin, end) counts positions over all axes, the
// last the fastest; it is taken apart once, by division, and then walked row by row with a unit-stride inner loop that
// can be vectorised. On a GPU (grid.cpp): a grid-stride loop, one thread a position.
#include <llvm/IR/Intrinsics.h>

#include "backends/common/llvm_emitter/point_loop.hpp"

namespace qd::llvm_emitter {

using view::Op;
using view::type_of;
namespace in = llvm::Intrinsic;

void Emit::task(llvm::StringRef) {
  in_entry = true;
  make_alias_scopes();
  begin_function(functions[0], unit.entry());
  if (on_grid()) find_unchanged(), skip_after_failure();
  draws = nullptr;
  if (unit.uses(Op::random)) {
    draws = alloca_of(b.getInt32Ty());
    b.CreateStore(b.getInt32(0), draws);
  }
  records(0, fn->count);
  if (on_grid()) {
    end_grid_partials();
    b.CreateRetVoid();
  } else {
    if (unit.parallel()) end_partials();
    b.CreateRet(i64(0));
  }
}

void Emit::parallel(uint32_t i) {
  const view::Parallel &p = *unit.parallel();
  auto *i64t = b.getInt64Ty();
  llvm::SmallVector<llvm::Value *> low, extent;  // i64, by axis
  for (uint32_t k = 0; k < p.axes; k++) {
    llvm::Value *lo = b.CreateSExt(value[p.bounds[2 * k]], i64t), *hi = b.CreateSExt(value[p.bounds[2 * k + 1]], i64t);
    low.push_back(lo);
    extent.push_back(b.CreateBinaryIntrinsic(in::smax, b.CreateSub(hi, lo), i64(0)));
  }
  axis64.assign(p.axes, nullptr);
  llvm::Value *begin = f->getArg(1), *end = f->getArg(2), *last = extent.back();
  regions.push_back({Op::parallel, i});
  if (hooks.mapping == Mapping::grid) {
    grid_loop(p, low, extent, begin, end);
  } else {
    answer_questions(extent, begin, end);
    begin_partials();
    if (p.axes == 1) {
      point_loop(p, b.CreateNSWAdd(begin, low[0]), b.CreateNSWAdd(end, low[0]), i64(1), [&](llvm::Value *index) {
        axis64[0] = index;
        return b.CreateNSWSub(index, low[0]);
      });
    } else {
      rows(p, low, extent, begin, end, last);
    }
  }
  regions.pop_back();
  for (uint32_t k = p.record + 1; k <= p.end; k++)  // written by the loop above; `end` included
    if (!value[k]) value[k] = llvm::PoisonValue::get(b.getInt1Ty());
}

void Emit::one_position(const view::Parallel &p, llvm::Value *position) {
  iteration = position;
  if (draws) b.CreateStore(b.getInt32(0), draws);
  const size_t mark = wide_written.size();
  records(p.record + 1, p.end);
  for (; wide_written.size() > mark; wide_written.pop_back()) wide_of[wide_written.back()] = nullptr;
  iteration = nullptr;
}

// With end == INT64_MIN the task tells its number of positions, or those of a row (codegen_abi.h).
void Emit::answer_questions(llvm::ArrayRef<llvm::Value *> extent, llvm::Value *begin, llvm::Value *end) {
  auto *ask = llvm::BasicBlock::Create(context, "ask", f), *run = llvm::BasicBlock::Create(context, "run", f);
  b.CreateCondBr(b.CreateICmpEQ(end, i64(INT64_MIN)), ask, run);
  b.SetInsertPoint(ask);
  llvm::Value *total = extent[0];
  for (size_t k = 1; k < extent.size(); k++) total = b.CreateMul(total, extent[k]);
  b.CreateRet(b.CreateSelect(b.CreateICmpEQ(begin, i64(0)), total, extent.back()));
  b.SetInsertPoint(run);
}

void Emit::rows(const view::Parallel &p, llvm::ArrayRef<llvm::Value *> low, llvm::ArrayRef<llvm::Value *> extent,
                llvm::Value *begin, llvm::Value *end, llvm::Value *last) {
  auto *i64t = b.getInt64Ty();
  const uint32_t n = p.axes;
  auto *split = llvm::BasicBlock::Create(context, "split", f), *row = llvm::BasicBlock::Create(context, "row", f);
  auto *exit = llvm::BasicBlock::Create(context, "rows_done", f);
  b.CreateCondBr(b.CreateICmpSLT(begin, end), split, exit);
  b.SetInsertPoint(split);  // begin < end, so no extent should be 0; a launch that says otherwise must not trap
  llvm::SmallVector<llvm::Value *> first(n);
  llvm::Value *rest = begin;
  for (uint32_t k = n; k-- > 1;) {
    llvm::Value *q = b.CreateUDiv(rest, b.CreateBinaryIntrinsic(in::umax, extent[k], i64(1)));
    first[k] = b.CreateSub(rest, b.CreateMul(q, extent[k]));
    rest = q;
  }
  first[0] = rest;
  b.CreateBr(row);
  b.SetInsertPoint(row);
  llvm::SmallVector<llvm::PHINode *> at(n);
  auto *position = b.CreatePHI(i64t, 2);
  position->addIncoming(begin, split);
  for (uint32_t k = 0; k < n; k++) at[k] = b.CreatePHI(i64t, 2), at[k]->addIncoming(first[k], split);
  for (uint32_t k = 0; k + 1 < n; k++) axis64[k] = b.CreateNSWAdd(at[k], low[k]);
  llvm::Value *length =
      b.CreateBinaryIntrinsic(in::smin, b.CreateNSWSub(last, at[n - 1]), b.CreateNSWSub(end, position));
  llvm::Value *from = b.CreateNSWAdd(at[n - 1], low[n - 1]);
  point_loop(p, from, b.CreateNSWAdd(from, length), i64(1), [&](llvm::Value *index) {
    axis64[n - 1] = index;
    return b.CreateNSWAdd(position, b.CreateNSWSub(index, from));
  });
  llvm::Value *next = b.CreateNSWAdd(position, length), *carry = nullptr;
  auto *latch = b.GetInsertBlock();
  position->addIncoming(next, latch);
  at[n - 1]->addIncoming(i64(0), latch);
  for (uint32_t k = n - 1; k-- > 0;) {
    llvm::Value *up = carry ? b.CreateNSWAdd(at[k], b.CreateZExt(carry, i64t)) : b.CreateNSWAdd(at[k], i64(1));
    carry = k ? b.CreateICmpSGE(up, extent[k]) : nullptr;
    at[k]->addIncoming(carry ? b.CreateSelect(carry, i64(0), up) : up, latch);
  }
  loop_metadata(b.CreateCondBr(b.CreateICmpSLT(next, end), row, exit), false);
  b.SetInsertPoint(exit);
}

}  // namespace qd::llvm_emitter

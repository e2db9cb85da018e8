// grid.cpp: a parallel on a GPU. Every thread walks the grid from its own position in steps of the number of threads,
// so any launch geometry gives the same result.
#include <llvm/IR/Intrinsics.h>

#include <bit>

#include "backends/common/llvm_emitter/point_loop.hpp"

namespace qd::llvm_emitter {

using view::Op;
using view::op_of;
namespace in = llvm::Intrinsic;

// A failed assertion of an earlier task: `check` says that there may be one.
void Emit::skip_after_failure() {
  auto *asked = llvm::BasicBlock::Create(context, "asked", f), *skip = llvm::BasicBlock::Create(context, "skip", f),
       *run = llvm::BasicBlock::Create(context, "run", f), *before = b.GetInsertBlock();
  b.CreateCondBr(b.CreateICmpNE(f->getArg(3), i64(0)), asked, run);
  b.SetInsertPoint(asked);
  llvm::Value *report = arg_word(QD_ARG_REPORT, b.getPtrTy(hooks.global_space));
  llvm::Value *failed = b.CreateAlignedLoad(b.getInt32Ty(), report, llvm::Align(4), true);
  llvm::Value *fails = b.CreateICmpNE(failed, b.getInt32(0));
  if (analysis.has_ordered_slots()) {  // no block may be missing where blocks are counted
    b.CreateBr(run);
    b.SetInsertPoint(run);
    auto *either = b.CreatePHI(b.getInt1Ty(), 2);
    either->addIncoming(b.getFalse(), before), either->addIncoming(fails, asked);
    skipped = either;
    skip->eraseFromParent();
    return;
  }
  b.CreateCondBr(fails, skip, run);
  b.SetInsertPoint(skip);
  b.CreateRetVoid();
  b.SetInsertPoint(run);
}

// The parts of a position or step, last axis fastest; the first part takes what is left.
void Emit::take_apart(llvm::Value *position, llvm::ArrayRef<llvm::Value *> extent,
                      llvm::MutableArrayRef<llvm::Value *> at) {
  for (size_t k = extent.size(); k-- > 1;) {
    llvm::Value *size = b.CreateBinaryIntrinsic(in::umax, extent[k], i64(1));
    llvm::Value *q = b.CreateUDiv(position, size);
    at[k] = b.CreateSub(position, b.CreateMul(q, size));
    position = q;
  }
  at[0] = position;
}

// Several positions side by side, record by record: what all of them load is under way before anything waits for it. A
// region is written once for each of them, whole.
void Emit::batch(const view::Parallel &p, llvm::MutableArrayRef<Lane> lanes) {
  const auto in = [&](Lane &lane, auto body) {
    const auto swap = [&] {
      value.swap(lane.value), wide_of.swap(lane.wide_of), wide_written.swap(lane.wide_written);
      axis64.swap(lane.axis64), std::swap(preloaded, lane.preloaded);
    };
    swap();
    body();
    swap();
  };
  iteration = i64(0);  // a batch asks for none: it only says that this is the body of the parallel
  for (uint32_t i = p.record + 1, next; i < p.end; i = next) {
    next = i + 1;
    if (view::has(op_of(at(i)), view::Opens)) {
      for (next = fn->match[i]; op_of(at(next)) == Op::other;) next = fn->match[next];
      next++;
    }
    if (analysis.exclusive(i))
      for (Lane &lane : lanes) in(lane, [&] { preloaded = load(at(i).a, at(i).b, address(at(i).a, at(i).b), false); });
    for (Lane &lane : lanes) in(lane, [&] { records(i, next), preloaded = nullptr; });
  }
  iteration = nullptr;
}

Lane Emit::lane_at(llvm::ArrayRef<llvm::Value *> axes) const {
  return {value, wide_of, {}, {axes.begin(), axes.end()}, nullptr};
}

// One axis. A block takes whole chunks of `batch` times its size while there are more positions than threads; thread t
// has positions t, t + size, ... of it. The rest is for one position a turn.
void Emit::grid_line(const view::Parallel &p, llvm::Value *low, llvm::Value *begin, llvm::Value *end, const Walk &w) {
  llvm::Value *start = b.CreateNSWAdd(begin, w.mine), *step = w.threads;
  if (const uint32_t n = analysis.batch(); n > 1) {
    auto *i64t = b.getInt64Ty();
    llvm::Value *chunk = b.CreateNUWMul(w.block, i64(n));
    llvm::Value *first = b.CreateNSWAdd(begin, b.CreateNUWMul(b.CreateSub(w.mine, w.thread), i64(n)));
    llvm::Value *stride = b.CreateNUWMul(w.threads, i64(n));
    llvm::Value *many = b.CreateICmpSGT(b.CreateNSWSub(end, begin), w.threads);
    auto *before = b.GetInsertBlock();
    auto *head = llvm::BasicBlock::Create(context, "batches", f), *rest = llvm::BasicBlock::Create(context, "rest", f);
    const auto fits = [&](llvm::Value *c) { return b.CreateICmpSLE(b.CreateNSWAdd(c, chunk), end); };
    b.CreateCondBr(b.CreateAnd(many, fits(first)), head, rest);
    b.SetInsertPoint(head);
    auto *at = b.CreatePHI(i64t, 2);
    at->addIncoming(first, before);
    llvm::SmallVector<Lane> lanes;
    llvm::Value *index = b.CreateNSWAdd(b.CreateNSWAdd(at, w.thread), low);
    for (uint32_t k = 0; k < n; k++) {
      lanes.push_back(lane_at({index}));
      if (k + 1 < n) index = b.CreateNSWAdd(index, w.block);
    }
    batch(p, lanes);
    llvm::Value *next = b.CreateNSWAdd(at, stride);
    auto *latch = b.GetInsertBlock();
    at->addIncoming(next, latch);
    loop_metadata(b.CreateCondBr(fits(next), head, rest), true);
    b.SetInsertPoint(rest);
    auto *left = b.CreatePHI(i64t, 2);
    left->addIncoming(first, before), left->addIncoming(next, latch);
    start = b.CreateSelect(many, b.CreateNSWAdd(left, w.thread), start);
    step = b.CreateSelect(many, w.block, step);
  }
  point_loop(p, start, end, step, [&](llvm::Value *position) {
    axis64[0] = b.CreateNSWAdd(position, low);
    return position;
  });
}

// The parts of a step, for threads that take more than one.
void Emit::stride_parts(llvm::Value *needed, llvm::Value *step, llvm::ArrayRef<llvm::Value *> extent,
                        llvm::MutableArrayRef<llvm::Value *> parts) {
  auto *before = b.GetInsertBlock();
  auto *divide = llvm::BasicBlock::Create(context, "stride", f), *on = llvm::BasicBlock::Create(context, "walk", f);
  b.CreateCondBr(needed, divide, on);
  b.SetInsertPoint(divide);
  take_apart(step, extent, parts);
  auto *after = b.GetInsertBlock();
  b.CreateBr(on);
  b.SetInsertPoint(on);
  for (llvm::Value *&part : parts) {
    auto *either = b.CreatePHI(b.getInt64Ty(), 2);
    either->addIncoming(i64(0), before), either->addIncoming(part, after);
    part = either;
  }
}

// Several axes. Divisions only at the start: from one position to the next a thread adds the step's parts and carries.
// While there are more positions than threads, a position stands for `batch` rows of the last axis but one: neighbours
// along a column come from registers.
void Emit::grid_rows(const view::Parallel &p, llvm::ArrayRef<llvm::Value *> low, llvm::ArrayRef<llvm::Value *> extent,
                     llvm::Value *begin, llvm::Value *end, llvm::Value *total, const Walk &w) {
  auto *i64t = b.getInt64Ty();
  const uint32_t n = p.axes, row = n - 2, rows = analysis.batch();
  llvm::SmallVector<llvm::Value *> reduced(extent.begin(), extent.end());
  llvm::Value *many = nullptr, *height = i64(1);
  if (rows > 1) {
    many = b.CreateAnd(b.CreateICmpEQ(begin, i64(0)), b.CreateICmpEQ(end, total));
    many = b.CreateAnd(many, b.CreateICmpSGT(total, w.threads));
    height = b.CreateSelect(many, i64(rows), height);
    llvm::Value *groups = b.CreateLShr(b.CreateNSWAdd(extent[row], i64(rows - 1)), i64(std::countr_zero(rows)));
    reduced[row] = b.CreateSelect(many, groups, extent[row]);
    llvm::Value *all = reduced[0];
    for (uint32_t k = 1; k < n; k++) all = b.CreateMul(all, reduced[k]);
    end = b.CreateSelect(many, all, end);
  }
  llvm::Value *start = b.CreateNSWAdd(begin, w.mine);
  llvm::SmallVector<llvm::Value *> first(n), stride(n), axes(n);
  take_apart(start, reduced, first);
  stride_parts(b.CreateICmpSLT(b.CreateNSWAdd(start, w.threads), end), w.threads, reduced, stride);
  llvm::SmallVector<llvm::PHINode *> at(n);
  stride_loop(start, end, w.threads, [&](llvm::Value *position, llvm::BasicBlock *before) {
    for (uint32_t k = 0; k < n; k++) at[k] = b.CreatePHI(i64t, 2), at[k]->addIncoming(first[k], before);
    for (uint32_t k = 0; k < n; k++) axes[k] = k == row && many ? nullptr : b.CreateNSWAdd(at[k], low[k]);
    if (many) {
      rows_of_position(p, axes, b.CreateNSWMul(at[row], height), height, extent[row], low[row]);
    } else {
      axis64.assign(axes.begin(), axes.end());
      one_position(p, position);
    }
    llvm::Value *carry = i64(0);
    for (uint32_t k = n; k-- > 1;) {
      llvm::Value *next = b.CreateNSWAdd(b.CreateNSWAdd(at[k], stride[k]), carry);
      llvm::Value *over = b.CreateICmpSGE(next, reduced[k]);
      at[k]->addIncoming(b.CreateSelect(over, b.CreateNSWSub(next, reduced[k]), next), b.GetInsertBlock());
      carry = b.CreateZExt(over, i64t);
    }
    at[0]->addIncoming(b.CreateNSWAdd(b.CreateNSWAdd(at[0], stride[0]), carry), b.GetInsertBlock());
  });
}

// Rows [first, first + height) as far as there are that many; a full batch side by side.
void Emit::rows_of_position(const view::Parallel &p, llvm::ArrayRef<llvm::Value *> axes, llvm::Value *first,
                            llvm::Value *height, llvm::Value *extent, llvm::Value *low) {
  const uint32_t rows = analysis.batch(), row = p.axes - 2;
  llvm::Value *last = b.CreateNSWAdd(first, height);
  auto *full = llvm::BasicBlock::Create(context, "full", f), *part = llvm::BasicBlock::Create(context, "part", f),
       *done = llvm::BasicBlock::Create(context, "rowed", f);
  llvm::Value *whole = b.CreateAnd(b.CreateICmpEQ(height, i64(rows)), b.CreateICmpSLE(last, extent));
  b.CreateCondBr(whole, full, part);
  b.SetInsertPoint(full);
  llvm::SmallVector<Lane> lanes;
  llvm::Value *index = b.CreateNSWAdd(first, low);
  for (uint32_t k = 0; k < rows; k++) {
    lanes.push_back(lane_at(axes));
    lanes.back().axis64[row] = b.CreateNSWAdd(index, i64(k));
  }
  batch(p, lanes);
  b.CreateBr(done);
  b.SetInsertPoint(part);
  stride_loop(first, b.CreateBinaryIntrinsic(in::smin, last, extent), i64(1), [&](llvm::Value *at, llvm::BasicBlock *) {
    axis64.assign(axes.begin(), axes.end());
    axis64[row] = b.CreateNSWAdd(at, low);
    one_position(p, at);
  });
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void Emit::grid_loop(const view::Parallel &p, llvm::ArrayRef<llvm::Value *> low, llvm::ArrayRef<llvm::Value *> extent,
                     llvm::Value *begin, llvm::Value *end) {
  const GridHooks &g = hooks.grid;
  auto *i64t = b.getInt64Ty();
  begin_partials();
  llvm::Value *total = extent[0];
  for (size_t k = 1; k < extent.size(); k++) total = b.CreateMul(total, extent[k]);
  llvm::Value *unknown = b.CreateICmpEQ(end, i64(INT64_MIN));
  begin = b.CreateSelect(unknown, i64(0), begin), end = b.CreateSelect(unknown, total, end);
  if (skipped) end = b.CreateSelect(skipped, begin, end);
  if (unit.threads()) return block_loop(p, low, extent, begin, end);
  Walk w;
  w.block = b.CreateZExt(g.block_size(b), i64t), w.thread = b.CreateZExt(g.thread_index(b), i64t);
  w.mine = b.CreateNUWAdd(b.CreateNUWMul(b.CreateZExt(g.block_index(b), i64t), w.block), w.thread);
  w.threads = b.CreateNUWMul(b.CreateZExt(g.block_count(b), i64t), w.block);
  if (p.axes == 1) grid_line(p, low[0], begin, end, w);
  else grid_rows(p, low, extent, begin, end, total, w);
}

}  // namespace qd::llvm_emitter

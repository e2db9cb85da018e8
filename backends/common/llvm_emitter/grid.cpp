// grid.cpp: a parallel on a GPU. Every thread walks the grid from its own position in steps of the number of threads,
// so any launch geometry gives the same result. Reductions are gathered by thread, then by warp, then by block; a block
// leaves one atomic update.
#include <llvm/IR/Intrinsics.h>

#include "backends/common/llvm_emitter/point_loop.hpp"

namespace qd::llvm_emitter {

using view::Op;
using VType = view::Type;
namespace in = llvm::Intrinsic;

// A failed assertion of an earlier task: `check` says that there may be one.
void Emit::skip_after_failure() {
  auto *asked = llvm::BasicBlock::Create(context, "asked", f), *skip = llvm::BasicBlock::Create(context, "skip", f),
       *run = llvm::BasicBlock::Create(context, "run", f);
  b.CreateCondBr(b.CreateICmpNE(f->getArg(3), i64(0)), asked, run);
  b.SetInsertPoint(asked);
  llvm::Value *report = arg_word(QD_ARG_REPORT, b.getPtrTy(hooks.global_space));
  llvm::Value *failed = b.CreateAlignedLoad(b.getInt32Ty(), report, llvm::Align(4), true);
  b.CreateCondBr(b.CreateICmpEQ(failed, b.getInt32(0)), run, skip);
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

void Emit::grid_loop(const view::Parallel &p, llvm::ArrayRef<llvm::Value *> low, llvm::ArrayRef<llvm::Value *> extent,
                     llvm::Value *begin, llvm::Value *end) {
  const GridHooks &g = hooks.grid;
  auto *i64t = b.getInt64Ty();
  begin_partials();
  llvm::Value *total = extent[0];
  for (size_t k = 1; k < extent.size(); k++) total = b.CreateMul(total, extent[k]);
  llvm::Value *unknown = b.CreateICmpEQ(end, i64(INT64_MIN));
  begin = b.CreateSelect(unknown, i64(0), begin), end = b.CreateSelect(unknown, total, end);
  llvm::Value *block = b.CreateZExt(g.block_size(b), i64t);
  llvm::Value *mine = b.CreateNUWAdd(b.CreateNUWMul(b.CreateZExt(g.block_index(b), i64t), block),
                                     b.CreateZExt(g.thread_index(b), i64t));
  llvm::Value *step = b.CreateNUWMul(b.CreateZExt(g.block_count(b), i64t), block);
  llvm::Value *start = b.CreateNSWAdd(begin, mine);
  if (p.axes == 1) {
    point_loop(
        p, start, end, step,
        [&](llvm::Value *position) {
          axis64[0] = b.CreateNSWAdd(position, low[0]);
          return position;
        },
        [] {});
    return;
  }
  // Divisions only here: from one position to the next a thread adds the step's parts and carries.
  llvm::SmallVector<llvm::Value *> first(p.axes), stride(p.axes);
  take_apart(start, extent, first);
  take_apart(step, extent, stride);
  llvm::SmallVector<llvm::PHINode *> at(p.axes);
  auto *before = b.GetInsertBlock();
  point_loop(
      p, start, end, step,
      [&](llvm::Value *position) {
        for (uint32_t k = 0; k < p.axes; k++) at[k] = b.CreatePHI(i64t, 2), at[k]->addIncoming(first[k], before);
        for (uint32_t k = 0; k < p.axes; k++) axis64[k] = b.CreateNSWAdd(at[k], low[k]);
        return position;
      },
      [&] {
        llvm::Value *carry = i64(0);
        for (uint32_t k = p.axes; k-- > 1;) {
          llvm::Value *next = b.CreateNSWAdd(b.CreateNSWAdd(at[k], stride[k]), carry);
          llvm::Value *over = b.CreateICmpSGE(next, extent[k]);
          at[k]->addIncoming(b.CreateSelect(over, b.CreateNSWSub(next, extent[k]), next), b.GetInsertBlock());
          carry = b.CreateZExt(over, i64t);
        }
        at[0]->addIncoming(b.CreateNSWAdd(b.CreateNSWAdd(at[0], stride[0]), carry), b.GetInsertBlock());
      });
}

namespace {

// Shuffles move 32 bits; what is wider goes in two halves.
llvm::Value *shuffled(llvm::IRBuilder<> &b, const GridHooks &g, llvm::Value *v, unsigned distance) {
  llvm::Type *t = v->getType();
  auto *i32 = b.getInt32Ty();
  const unsigned width = t->getScalarSizeInBits();
  llvm::Value *bits = t->isIntegerTy() ? v : b.CreateBitCast(v, b.getIntNTy(width));
  if (width < 32) {
    bits = b.CreateTrunc(g.shuffle(b, b.CreateZExt(bits, i32), distance), bits->getType());
  } else if (width == 32) {
    bits = g.shuffle(b, bits, distance);
  } else {
    llvm::Value *low = g.shuffle(b, b.CreateTrunc(bits, i32), distance);
    llvm::Value *high = g.shuffle(b, b.CreateTrunc(b.CreateLShr(bits, 32), i32), distance);
    auto *i64t = b.getInt64Ty();
    bits = b.CreateOr(b.CreateZExt(low, i64t), b.CreateShl(b.CreateZExt(high, i64t), 32));
  }
  return t->isIntegerTy() ? bits : b.CreateBitCast(bits, t);
}

}  // namespace

// `shared` has a place of 8 bytes for each warp.
void Emit::reduce_block(size_t slot, llvm::Value *shared) {
  const GridHooks &g = hooks.grid;
  const Partial &what = analysis.slots()[slot].what;
  const auto gathered = [&](llvm::Value *v) {
    for (unsigned distance = g.warp / 2; distance; distance /= 2) v = gather(int(slot), v, shuffled(b, g, v, distance));
    return v;
  };
  const auto block = [&](const char *name) { return llvm::BasicBlock::Create(context, name, f); };
  auto *thread = g.thread_index(b), *lane = b.CreateAnd(thread, b.getInt32(g.warp - 1));
  auto *warp = b.CreateUDiv(thread, b.getInt32(g.warp)), *warps = b.CreateUDiv(g.block_size(b), b.getInt32(g.warp));
  llvm::Type *t = partial[slot]->getAllocatedType();
  const auto place = [&](llvm::Value *k) { return b.CreateInBoundsGEP(b.getInt64Ty(), shared, k); };

  llvm::Value *v = gathered(b.CreateLoad(t, partial[slot]));
  auto *leave = block("leave"), *left = block("left"), *last = block("last"), *add = block("add"),
       *done = block("done");
  b.CreateCondBr(b.CreateICmpEQ(lane, b.getInt32(0)), leave, left);
  b.SetInsertPoint(leave);
  b.CreateAlignedStore(v, place(warp), llvm::Align(8));
  b.CreateBr(left);
  b.SetInsertPoint(left);
  g.barrier(b);
  b.CreateCondBr(b.CreateICmpEQ(warp, b.getInt32(0)), last, done);
  b.SetInsertPoint(last);
  llvm::Value *mine = b.CreateAlignedLoad(t, place(lane), llvm::Align(8));  // a place that no warp wrote is not used
  mine = b.CreateSelect(b.CreateICmpULT(lane, warps), b.CreateFreeze(mine), identity(what.op, what.type));
  mine = gathered(mine);
  b.CreateCondBr(b.CreateICmpEQ(lane, b.getInt32(0)), add, done);
  b.SetInsertPoint(add);
  if (what.type == VType::f16) mine = b.CreateFPTrunc(mine, b.getHalfTy());
  atomic_update(what.op, what.type, partial_address[slot], mine);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void Emit::end_grid_partials() {
  if (partial.empty()) return;
  auto *places = llvm::ArrayType::get(b.getInt64Ty(), hooks.grid.warp);
  auto *shared = new llvm::GlobalVariable(module, places, false, llvm::GlobalValue::InternalLinkage,
                                          llvm::PoisonValue::get(places), "partials", nullptr,
                                          llvm::GlobalValue::NotThreadLocal, hooks.grid.shared_space);
  shared->setAlignment(llvm::Align(8));
  for (size_t k = 0; k < partial.size(); k++) {
    if (k) hooks.grid.barrier(b);  // the places are used again
    reduce_block(k, shared);
  }
}

}  // namespace qd::llvm_emitter

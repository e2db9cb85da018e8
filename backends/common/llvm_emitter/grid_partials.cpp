// grid_partials.cpp: reductions on a GPU. A thread gathers in a register, a warp by shuffles, a block in shared memory.
// Where the order of updates can't be seen (integers, minima, maxima) a block then leaves one atomic update. Sums and
// products of floats go through scratch memory: each block leaves its part there, and the block that comes last adds
// all parts in the order of the blocks, so the same launch gives the same bits each time.
#include <llvm/IR/Intrinsics.h>

#include "backends/common/llvm_emitter/emit.hpp"

namespace qd::llvm_emitter {

using view::Op;
using VType = view::Type;

namespace {

constexpr auto relaxed = llvm::AtomicOrdering::Monotonic;
const llvm::Align word(8);

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

// Of all threads of the block, in every thread. `shared` has a place of 8 bytes for each warp, and is used by nobody
// until the barrier in here.
llvm::Value *Emit::reduce_block(size_t slot, llvm::Value *v, llvm::Value *shared) {
  const GridHooks &g = hooks.grid;
  const auto gathered = [&](llvm::Value *x) {
    for (unsigned distance = g.warp / 2; distance; distance /= 2) x = gather(int(slot), x, shuffled(b, g, x, distance));
    return x;
  };
  auto *thread = g.thread_index(b), *lane = b.CreateAnd(thread, b.getInt32(g.warp - 1));
  auto *warp = b.CreateUDiv(thread, b.getInt32(g.warp)), *warps = b.CreateUDiv(g.block_size(b), b.getInt32(g.warp));
  const auto place = [&](llvm::Value *k) { return b.CreateInBoundsGEP(b.getInt64Ty(), shared, k); };
  v = gathered(v);
  when(b.CreateICmpEQ(lane, b.getInt32(0)), [&] { b.CreateAlignedStore(v, place(warp), word); });
  g.barrier(b);
  llvm::Value *mine = b.CreateAlignedLoad(v->getType(), place(lane), word);  // a place that no warp wrote is not used
  const Partial &what = analysis.slots()[slot].what;
  mine = b.CreateSelect(b.CreateICmpULT(lane, warps), b.CreateFreeze(mine), identity(what));
  return gathered(mine);
}

void Emit::leave_total(size_t slot, llvm::Value *total) {
  const Partial &what = analysis.slots()[slot].what;
  if (llvm::Type *t = type(what.type); total->getType() != t) total = b.CreateFPTrunc(total, t);
  atomic_update(what.op, what.type, partial_address[slot], total);
}

// Parts of the blocks in the order of the blocks, for thread k of the block parts k, k + size, ...
llvm::Value *Emit::gather_parts(size_t slot, llvm::Value *parts) {
  const GridHooks &g = hooks.grid;
  llvm::Type *t = partial[slot]->getAllocatedType(), *i32 = b.getInt32Ty();
  auto *blocks = g.block_count(b), *size = g.block_size(b), *first = g.thread_index(b);
  auto *before = b.GetInsertBlock();
  auto *head = llvm::BasicBlock::Create(context, "parts", f), *exit = llvm::BasicBlock::Create(context, "summed", f);
  llvm::Value *none = identity(analysis.slots()[slot].what);
  b.CreateCondBr(b.CreateICmpULT(first, blocks), head, exit);
  b.SetInsertPoint(head);
  auto *k = b.CreatePHI(i32, 2);
  auto *sum = b.CreatePHI(t, 2);
  k->addIncoming(first, before), sum->addIncoming(none, before);
  auto *bits = b.CreateAlignedLoad(b.getInt64Ty(),
                                   b.CreateInBoundsGEP(b.getInt64Ty(), parts, b.CreateZExt(k, b.getInt64Ty())), word);
  bits->setAtomic(relaxed, atomic_scope);  // written by other blocks of this launch
  llvm::Value *next = gather(int(slot), sum, from_bits(bits, t)), *up = b.CreateAdd(k, size);
  k->addIncoming(up, head), sum->addIncoming(next, head);
  b.CreateCondBr(b.CreateICmpULT(up, blocks), head, exit);
  b.SetInsertPoint(exit);
  auto *result = b.CreatePHI(t, 2);
  result->addIncoming(none, before), result->addIncoming(next, head);
  return result;
}

// The block that draws the last ticket adds up. The counter is 0 again when it has done so.
void Emit::add_parts_in_order(llvm::ArrayRef<size_t> slots, llvm::Value *shared) {
  const GridHooks &g = hooks.grid;
  auto *i32 = b.getInt32Ty(), *i64t = b.getInt64Ty();
  llvm::Value *scratch = f->getArg(4), *parts = b.CreateConstInBoundsGEP1_64(i64t, scratch, 1);
  llvm::Value *blocks = b.CreateZExt(g.block_count(b), i64t);
  const auto parts_of = [&](size_t k) {
    return b.CreateInBoundsGEP(i64t, parts, b.CreateMul(blocks, i64(int64_t(k))));
  };
  llvm::Value *is_first = b.CreateICmpEQ(g.thread_index(b), b.getInt32(0));
  when(is_first, [&] {
    g.fence(b);
    llvm::Value *last = b.CreateSub(g.block_count(b), b.getInt32(1));
    llvm::Value *ticket =
        b.CreateAtomicRMW(llvm::AtomicRMWInst::UIncWrap, scratch, last, llvm::Align(4), relaxed, atomic_scope);
    b.CreateAlignedStore(b.CreateZExt(b.CreateICmpEQ(ticket, last), i32), shared, word);
    g.fence(b);
  });
  g.barrier(b);
  llvm::Value *is_last = b.CreateICmpNE(b.CreateAlignedLoad(i32, shared, word), b.getInt32(0));
  when(is_last, [&] {
    g.fence(b);
    for (size_t k = 0; k < slots.size(); k++) {
      g.barrier(b);  // `shared` is used again
      llvm::Value *total = reduce_block(slots[k], gather_parts(slots[k], parts_of(k)), shared);
      when(is_first, [&] { leave_total(slots[k], total); });
    }
  });
}

void Emit::end_grid_partials() {
  if (partial.empty()) return;
  auto *places = llvm::ArrayType::get(b.getInt64Ty(), hooks.grid.warp);
  auto *shared = new llvm::GlobalVariable(module, places, false, llvm::GlobalValue::InternalLinkage,
                                          llvm::PoisonValue::get(places), "partials", nullptr,
                                          llvm::GlobalValue::NotThreadLocal, hooks.grid.shared_space);
  shared->setAlignment(word);
  llvm::Value *is_first = b.CreateICmpEQ(hooks.grid.thread_index(b), b.getInt32(0));
  auto *i64t = b.getInt64Ty();
  llvm::SmallVector<size_t> in_order;
  for (size_t k = 0; k < partial.size(); k++) {
    if (k) hooks.grid.barrier(b);  // the places are used again
    llvm::Value *v = reduce_block(k, b.CreateLoad(partial[k]->getAllocatedType(), partial[k]), shared);
    if (!needs_order(analysis.slots()[k].what)) {
      when(is_first, [&] { leave_total(k, v); });
      continue;
    }
    when(is_first, [&] {
      llvm::Value *row = b.CreateMul(b.CreateZExt(hooks.grid.block_count(b), i64t), i64(int64_t(in_order.size())));
      llvm::Value *at = b.CreateAdd(row, b.CreateZExt(hooks.grid.block_index(b), i64t));
      llvm::Value *part = b.CreateConstInBoundsGEP1_64(i64t, f->getArg(4), 1);
      auto *leave = b.CreateAlignedStore(to_bits(v), b.CreateInBoundsGEP(i64t, part, at), word);
      leave->setAtomic(relaxed, atomic_scope);
    });
    in_order.push_back(k);
  }
  if (in_order.empty()) return;
  hooks.grid.barrier(b);
  add_parts_in_order(in_order, shared);
}

}  // namespace qd::llvm_emitter

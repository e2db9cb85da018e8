// threads.cpp: threads of a block that work together (docs/ir.md, "Threads"). Position p of the grid is thread p % size
// of its block, for any launch geometry: a block of the device takes whole blocks of positions one after another.
#include "backends/common/llvm_emitter/point_loop.hpp"

namespace qd::llvm_emitter {

using view::Op;
using view::op_of;
using view::type_of;
using VType = view::Type;

namespace {

// Where each shared buffer begins when they lie one behind the other, and where the last one ends.
std::vector<uint64_t> shared_places(const view::View &unit) {
  std::vector<uint64_t> at;
  uint64_t end = 0;
  for (uint32_t p = 0; p < unit.n_params(); p++) {
    const QdParam &q = unit.param(p);
    end = (end + 15) / 16 * 16;
    at.push_back(end);
    if (q.alias == QD_ALIAS_SHARED) end += uint64_t(q.count) * view::info(VType(q.type)).bytes;
  }
  at.push_back(end);
  return at;
}

llvm::GlobalVariable *block_memory(llvm::Module &m, llvm::Type *t, bool own, unsigned space) {
  auto *v = new llvm::GlobalVariable(
      m, t, false, own ? llvm::GlobalValue::InternalLinkage : llvm::GlobalValue::ExternalLinkage,
      own ? llvm::PoisonValue::get(t) : nullptr, "shared", nullptr, llvm::GlobalValue::NotThreadLocal, space);
  v->setAlignment(llvm::Align(16));
  return v;
}

}  // namespace

uint64_t shared_bytes(const view::View &unit) { return shared_places(unit).back(); }

llvm::Value *Emit::shared_buffer(uint32_t p) {
  shared.resize(unit.n_params(), nullptr);
  if (shared[p]) return shared[p];
  const auto places = shared_places(unit);
  const unsigned space = hooks.grid.shared_space;
  if (places.back() <= hooks.grid.own_shared)
    return shared[p] = block_memory(
               module, llvm::ArrayType::get(memory_type(VType(unit.param(p).type)), unit.param(p).count), true, space);
  auto *byte = b.getInt8Ty();  // what the launch brings has one name and no size
  llvm::Constant *all = module.getNamedGlobal("shared");
  if (!all) all = block_memory(module, llvm::ArrayType::get(byte, 0), false, space);
  return shared[p] = llvm::ConstantExpr::getGetElementPtr(byte, all, b.getInt64(places[p]));
}

llvm::Value *Emit::position(VType t) { return b.CreateTrunc(iteration ? iteration : i64(0), type(t)); }

// Threads past the end of the grid end before the body, so that nothing waits for them. Where blocks share memory, no
// thread begins the next block of positions before all have left the last one.
void Emit::block_loop(const view::Parallel &p, llvm::ArrayRef<llvm::Value *> low, llvm::ArrayRef<llvm::Value *> extent,
                      llvm::Value *begin, llvm::Value *end) {
  const GridHooks &g = hooks.grid;
  auto *i64t = b.getInt64Ty();
  bool shares = false;
  for (uint32_t k = 0; k < unit.n_params(); k++) shares |= unit.param(k).alias == QD_ALIAS_SHARED;
  llvm::Value *size = i64(p.block), *thread = b.CreateZExt(g.thread_index(b), i64t);
  llvm::Value *first = b.CreateNSWAdd(begin, b.CreateNUWMul(b.CreateZExt(g.block_index(b), i64t), size));
  llvm::Value *step = b.CreateNUWMul(b.CreateZExt(g.block_count(b), i64t), size);
  access_group = nullptr;  // iterations do depend on each other: what one wrote, another reads behind a barrier
  stride_loop(first, end, step, [&](llvm::Value *base, llvm::BasicBlock *) {
    llvm::Value *at = b.CreateNSWAdd(base, thread);
    auto *over = llvm::BasicBlock::Create(context, "over", f), *in = llvm::BasicBlock::Create(context, "in", f);
    b.CreateCondBr(b.CreateICmpSLT(at, end), in, over);
    b.SetInsertPoint(over);
    g.exit(b);
    b.CreateUnreachable();
    b.SetInsertPoint(in);
    axis64.resize(p.axes);
    take_apart(at, extent, axis64);
    for (uint32_t k = 0; k < p.axes; k++) axis64[k] = b.CreateNSWAdd(axis64[k], low[k]);
    one_position(p, at);
    if (shares) g.barrier(b);
  });
}

namespace {

// Calls `move` with each 32 bits of a value and puts the answers together.
template <class F>
llvm::Value *in_pieces(llvm::IRBuilder<> &b, llvm::Value *v, F move) {
  llvm::Type *t = v->getType();
  auto *i32 = b.getInt32Ty(), *i64t = b.getInt64Ty();
  const unsigned width = t->getScalarSizeInBits();
  llvm::Value *bits = t->isIntegerTy() ? v : b.CreateBitCast(v, b.getIntNTy(width));
  if (width <= 32) {
    bits = b.CreateTrunc(move(b.CreateZExt(bits, i32)), bits->getType());
  } else {
    llvm::Value *low = move(b.CreateTrunc(bits, i32)), *high = move(b.CreateTrunc(b.CreateLShr(bits, 32), i32));
    bits = b.CreateOr(b.CreateZExt(low, i64t), b.CreateShl(b.CreateZExt(high, i64t), 32));
  }
  return t->isIntegerTy() ? bits : b.CreateBitCast(bits, t);
}

}  // namespace

llvm::Value *Emit::together(uint32_t i) {
  const QdInst &r = at(i);
  const Op op = op_of(r);
  const GridHooks &g = hooks.grid;
  Together t{op, 0, nullptr, nullptr, b.getInt32(~0u)};
  if (view::has(op, view::Takes))
    if (const auto given = unit.operands_before(*fn, i); given.count) t.mask = value[given[0]];
  switch (op) {
    case Op::thread: return g.thread_index(b);
    case Op::barrier:
    case Op::fence: t.kind = r.a; break;
    case Op::shuffle:
      t.kind = r.c, t.y = value[r.b];
      return in_pieces(b, value[r.a], [&](llvm::Value *piece) {
        t.x = piece;
        return g.together(b, t);
      });
    case Op::match: {
      llvm::Value *v = value[r.a];
      const unsigned width = v->getType()->getScalarSizeInBits();
      if (!v->getType()->isIntegerTy()) v = b.CreateBitCast(v, b.getIntNTy(width));
      t.kind = r.b, t.x = b.CreateZExt(v, b.getIntNTy(width > 32 ? 64 : 32));
      break;
    }
    case Op::active: break;
    default: t.kind = r.b, t.x = value[r.a]; break;  // barrier_vote, vote
  }
  return g.together(b, t);
}

}  // namespace qd::llvm_emitter

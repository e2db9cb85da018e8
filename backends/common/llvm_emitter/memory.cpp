// memory.cpp: loads, stores, atomic updates, partial results, random draws, reports. Accesses of a parallel body carry
// an access group: independence of iterations is what the language promises, while two external arrays may well be the
// same memory.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "backends/common/llvm_emitter/emit.hpp"

namespace qd::llvm_emitter {

using llvm::AtomicRMWInst;
using view::info;
using view::Op;
using view::op_of;
using view::type_of;
using VType = view::Type;
namespace in = llvm::Intrinsic;

llvm::Value *Emit::address(uint32_t p, uint32_t index) {
  return b.CreateInBoundsGEP(memory_type(VType(unit.param(p).type)), buffer(p), wide(index));
}

// Memory of fields and scratch overlaps nothing else, which is told as alias scopes, one a parameter.
void Emit::alias(llvm::Instruction *access, uint32_t p) {
  if (scope.empty()) return;
  if (scope[p]) access->setMetadata(llvm::LLVMContext::MD_alias_scope, llvm::MDNode::get(context, {scope[p]}));
  if (others[p]) access->setMetadata(llvm::LLVMContext::MD_noalias, others[p]);
}

void Emit::make_alias_scopes() {
  llvm::SmallVector<uint32_t> buffers;
  bool disjoint = false;
  for (uint32_t p = 0; p < unit.n_params(); p++)
    if (unit.param(p).kind == QD_PARAM_BUFFER)
      buffers.push_back(p), disjoint |= unit.param(p).alias != QD_ALIAS_EXTERNAL;
  if (!disjoint || buffers.size() < 2 || buffers.size() > 32) return;  // the lists are quadratic together
  llvm::MDBuilder md(context);
  auto *domain = md.createAnonymousAliasScopeDomain("buffers");
  scope.assign(unit.n_params(), nullptr), others.assign(unit.n_params(), nullptr);
  for (uint32_t p : buffers)
    if (unit.param(p).alias != QD_ALIAS_EXTERNAL) scope[p] = md.createAnonymousAliasScope(domain);
  for (uint32_t p : buffers) {
    llvm::SmallVector<llvm::Metadata *> rest;
    for (uint32_t q : buffers)
      if (q != p && scope[q]) rest.push_back(scope[q]);
    if (!rest.empty()) others[p] = llvm::MDNode::get(context, rest);
  }
}

// Arrays may overlap each other, so one that is written makes all of them unsure.
void Emit::find_unchanged() {
  unchanged.assign(unit.n_params(), true);
  bool arrays = true;
  for (uint32_t k = 0; k < unit.n_functions(); k++)
    for (uint32_t i = 0; i < unit.function(k).count; i++) {
      const QdInst &r = unit.function(k).code[i];
      if (op_of(r) != Op::store && !view::has(op_of(r), view::Atomic)) continue;
      unchanged[r.a] = false;
      arrays &= unit.param(r.a).alias != QD_ALIAS_EXTERNAL;
    }
  for (uint32_t p = 0; p < unit.n_params(); p++)
    if (unit.param(p).alias == QD_ALIAS_EXTERNAL) unchanged[p] = unchanged[p] && arrays;
}

llvm::Align Emit::alignment(uint32_t p, uint32_t index) const {
  return llvm::Align(in_entry ? analysis.alignment(p, index) : info(VType(unit.param(p).type)).bytes);
}

llvm::Value *Emit::load(uint32_t p, uint32_t index, llvm::Value *address, bool is_volatile) {
  const VType t = VType(unit.param(p).type);
  auto *l = b.CreateAlignedLoad(memory_type(t), address, alignment(p, index), is_volatile);
  alias(l, p);
  if (!unchanged.empty() && unchanged[p] && !is_volatile)
    l->setMetadata(llvm::LLVMContext::MD_invariant_load, invariant_load);
  return from_memory(is_volatile || analysis.ordered(p) ? l : mark(l), t);
}

void Emit::store(uint32_t p, uint32_t index, llvm::Value *address, llvm::Value *v) {
  auto *s = b.CreateAlignedStore(to_memory(v), address, alignment(p, index));
  alias(s, p);
  if (!analysis.ordered(p)) mark(s);
}

llvm::Value *Emit::update(Op op, VType t, llvm::Value *old, llvm::Value *v) {
  const bool real = view::is_float(t);
  switch (op) {
    case Op::atomic_add: return real ? b.CreateFAdd(old, v) : b.CreateAdd(old, v);
    case Op::atomic_mul: return real ? b.CreateFMul(old, v) : b.CreateMul(old, v);
    case Op::atomic_min: return min_max(Op::min, old, v, real);
    case Op::atomic_max: return min_max(Op::max, old, v, real);
    case Op::atomic_umin: return min_max(Op::umin, old, v, false);
    case Op::atomic_umax: return min_max(Op::umax, old, v, false);
    case Op::atomic_and: return b.CreateAnd(old, v);
    case Op::atomic_or: return b.CreateOr(old, v);
    case Op::atomic_xor: return b.CreateXor(old, v);
    default: return v;  // atomic_xchg
  }
}

namespace {

AtomicRMWInst::BinOp rmw(Op op, bool real) {
  switch (op) {
    case Op::atomic_add: return real ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
    case Op::atomic_min: return real ? AtomicRMWInst::FMin : AtomicRMWInst::Min;
    case Op::atomic_max: return real ? AtomicRMWInst::FMax : AtomicRMWInst::Max;
    case Op::atomic_umin: return AtomicRMWInst::UMin;
    case Op::atomic_umax: return AtomicRMWInst::UMax;
    case Op::atomic_and: return AtomicRMWInst::And;
    case Op::atomic_or: return AtomicRMWInst::Or;
    case Op::atomic_xor: return AtomicRMWInst::Xor;
    case Op::atomic_xchg: return AtomicRMWInst::Xchg;
    default: return AtomicRMWInst::BAD_BINOP;  // no instruction for it
  }
}

constexpr auto relaxed = llvm::AtomicOrdering::Monotonic;

}  // namespace

// Replaces what is there by next(what is there), which gives the same bits for the same bits. The old bits.
template <class F>
llvm::Value *Emit::exchange_until(llvm::Value *address, llvm::IntegerType *it, F next) {
  const llvm::Align align(it->getBitWidth() / 8);
  auto *from = b.GetInsertBlock(), *loop = llvm::BasicBlock::Create(context, "try", f),
       *done = llvm::BasicBlock::Create(context, "done", f);
  auto *first = b.CreateAlignedLoad(it, address, align);
  first->setAtomic(relaxed, atomic_scope);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  auto *seen = b.CreatePHI(it, 2);
  seen->addIncoming(first, from);
  auto *swap = b.CreateAtomicCmpXchg(address, seen, next(seen), align, relaxed, relaxed, atomic_scope);
  seen->addIncoming(b.CreateExtractValue(swap, 0), loop);
  b.CreateCondBr(b.CreateExtractValue(swap, 1), done, loop);
  b.SetInsertPoint(done);
  return seen;
}

llvm::Value *Emit::compare_exchange_loop(Op op, VType t, llvm::Value *address, llvm::Value *v) {
  auto *it = b.getIntNTy(info(t).bytes * 8);
  llvm::Value *old = exchange_until(address, it, [&](llvm::Value *seen) {
    return b.CreateBitCast(update(op, t, b.CreateBitCast(seen, type(t)), v), it);
  });
  return b.CreateBitCast(old, type(t));
}

// Neighbouring elements, each of which is updated atomically.
void Emit::add_joined(llvm::ArrayRef<uint32_t> records) {
  llvm::Value *where = address(at(records[0]).a, at(records[0]).b);
  llvm::SmallVector<llvm::Value *> added;
  for (uint32_t r : records) added.push_back(value[at(r).c]);
  if (hooks.add_joined) return hooks.add_joined(b, where, added);
  auto *pair = llvm::FixedVectorType::get(b.getFloatTy(), 2);
  llvm::Value *both = llvm::PoisonValue::get(pair);
  for (uint64_t k = 0; k < 2; k++) both = b.CreateInsertElement(both, added[k], k);
  exchange_until(where, b.getInt64Ty(), [&](llvm::Value *seen) {
    return b.CreateBitCast(b.CreateFAdd(b.CreateBitCast(seen, pair), both), b.getInt64Ty());
  });
}

void Emit::atomic(uint32_t i) {
  const QdInst &r = at(i);
  const Op op = op_of(r);
  const VType t = VType(unit.param(r.a).type);
  if (const int slot = in_entry ? analysis.slot_of(i) : -1; slot >= 0) {
    llvm::Value *v = value[r.c];
    if (llvm::Type *wanted = partial[slot]->getAllocatedType(); v->getType() != wanted) v = b.CreateFPExt(v, wanted);
    b.CreateStore(gather(slot, b.CreateLoad(v->getType(), partial[slot]), v), partial[slot]);
    return;
  }
  if (const auto *group = in_entry ? analysis.joined(i) : nullptr) {
    if (i == group->back()) add_joined(*group);
    return;
  }
  llvm::Value *where = address(r.a, r.b), *v = value[r.c];
  const bool plain = !unit.parallel() || (in_entry && (!analysis.in_parallel(i) || analysis.exclusive(i)));
  if (plain) {
    llvm::Value *old = preloaded ? preloaded : load(r.a, r.b, where, false), *next = nullptr;
    if (op == Op::atomic_cas)
      next = b.CreateSelect(b.CreateICmpEQ(old, value[unit.operands_before(*fn, i)[0]]), v, old);
    else next = update(op, t, old, v);
    store(r.a, r.b, where, next);
    value[i] = old;
    return;
  }
  const llvm::Align align(info(t).bytes);
  if (op == Op::atomic_cas) {
    llvm::Value *expected = to_memory(value[unit.operands_before(*fn, i)[0]]);
    value[i] =
        from_memory(b.CreateExtractValue(
                        b.CreateAtomicCmpXchg(where, expected, to_memory(v), align, relaxed, relaxed, atomic_scope), 0),
                    t);
  } else {
    value[i] = atomic_update(op, t, where, v);
  }
}

// The old value.
llvm::Value *Emit::atomic_update(Op op, VType t, llvm::Value *where, llvm::Value *v) {
  const llvm::Align align(info(t).bytes);
  const bool real = view::is_float(t);
  if (real && op == Op::atomic_xchg) {
    auto *it = b.getIntNTy(info(t).bytes * 8);
    return b.CreateBitCast(
        b.CreateAtomicRMW(AtomicRMWInst::Xchg, where, b.CreateBitCast(v, it), align, relaxed, atomic_scope),
        v->getType());
  }
  if (rmw(op, real) == AtomicRMWInst::BAD_BINOP) return compare_exchange_loop(op, t, where, v);
  return from_memory(b.CreateAtomicRMW(rmw(op, real), where, to_memory(v), align, relaxed, atomic_scope), t);
}

// ---------------------------------------------------------------------------------------------------- partial results

// The order of atomic updates is free, so a sum may be taken in any order even without fast math.
llvm::Value *Emit::gather(int slot, llvm::Value *sum, llvm::Value *v) {
  const Partial &p = analysis.slots()[slot].what;
  llvm::IRBuilder<>::FastMathFlagGuard guard(b);
  llvm::FastMathFlags flags = fast;
  flags.setAllowReassoc();
  b.setFastMathFlags(flags);
  const bool real = view::is_float(p.type);
  if (real && p.op == Op::atomic_min) return b.CreateBinaryIntrinsic(in::minimumnum, sum, v);
  if (real && p.op == Op::atomic_max) return b.CreateBinaryIntrinsic(in::maximumnum, sum, v);
  return update(p.op, p.type, sum, v);
}

// Sums of many numbers are kept in more bits than one of them has, where the target can afford it.
llvm::Type *Emit::partial_type(const Partial &p) const {
  if (p.type == VType::f16) return llvm::Type::getFloatTy(context);
  if (p.type == VType::f32 && hooks.wide_sums && needs_order(p)) return llvm::Type::getDoubleTy(context);
  return type(p.type);
}

// What leaves every element as it is. For float minima NaN, which loses against everything.
llvm::Value *Emit::identity(const Partial &p) {
  llvm::Type *ty = partial_type(p);
  const bool real = view::is_float(p.type);
  const unsigned width = ty->getScalarSizeInBits();
  switch (p.op) {
    case Op::atomic_add: return real ? llvm::ConstantFP::get(ty, -0.0) : llvm::ConstantInt::get(ty, 0);
    case Op::atomic_mul: return real ? llvm::ConstantFP::get(ty, 1.0) : llvm::ConstantInt::get(ty, 1);
    case Op::atomic_min:
      return real ? llvm::ConstantFP::getNaN(ty) : llvm::ConstantInt::get(ty, llvm::APInt::getSignedMaxValue(width));
    case Op::atomic_max:
      return real ? llvm::ConstantFP::getNaN(ty) : llvm::ConstantInt::get(ty, llvm::APInt::getSignedMinValue(width));
    case Op::atomic_umin:
    case Op::atomic_and: return llvm::ConstantInt::getAllOnesValue(ty);
    default: return llvm::ConstantInt::get(ty, 0);
  }
}

void Emit::begin_partials() {
  partial.clear(), partial_address.clear();
  for (const auto &s : analysis.slots()) {
    llvm::Value *start = identity(s.what);
    partial.push_back(alloca_of(start->getType()));
    b.CreateStore(start, partial.back());
    hoisted(s.index);
    partial_address.push_back(
        b.CreateGEP(memory_type(VType(unit.param(s.param).type)), buffer(s.param), wide(s.index)));
  }
}

void Emit::end_partials() {
  for (size_t k = 0; k < partial.size(); k++) {
    llvm::Value *to = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), f->getArg(3), 2 * k);
    b.CreateAlignedStore(b.CreatePtrToInt(partial_address[k], b.getInt64Ty()), to, llvm::Align(8));
    llvm::Value *v = b.CreateLoad(partial[k]->getAllocatedType(), partial[k]);
    b.CreateAlignedStore(to_bits(v), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), to, 1), llvm::Align(8));
  }
}

// ------------------------------------------------------------------------------------------------- random and reports

llvm::Value *Emit::random(VType t) {
  auto *i32 = b.getInt32Ty(), *i64t = b.getInt64Ty();
  llvm::Value *key = arg_word(QD_ARG_RANDOM, i64t), *it = iteration ? iteration : i64(0);
  llvm::Value *draw = b.CreateLoad(i32, draws);
  b.CreateStore(b.CreateAdd(draw, b.getInt32(1)), draws);
  llvm::Value *k0 = b.CreateTrunc(key, i32), *k1 = b.CreateTrunc(b.CreateLShr(key, 32), i32);
  llvm::Value *c[4] = {b.CreateTrunc(arg_word(QD_ARG_ORDINAL, i64t), i32), b.CreateTrunc(it, i32),
                       b.CreateTrunc(b.CreateLShr(it, 32), i32), draw};
  for (int round = 0; round < 10; round++) {  // Philox4x32-10, as qd/philox.hpp
    llvm::Value *p = b.CreateMul(b.CreateZExt(c[0], i64t), i64(0xD2511F53)),
                *q = b.CreateMul(b.CreateZExt(c[2], i64t), i64(0xCD9E8D57));
    llvm::Value *ph = b.CreateTrunc(b.CreateLShr(p, 32), i32), *qh = b.CreateTrunc(b.CreateLShr(q, 32), i32);
    c[0] = b.CreateXor(b.CreateXor(qh, c[1]), k0), c[2] = b.CreateXor(b.CreateXor(ph, c[3]), k1);
    c[1] = b.CreateTrunc(q, i32), c[3] = b.CreateTrunc(p, i32);
    k0 = b.CreateAdd(k0, b.getInt32(0x9E3779B9)), k1 = b.CreateAdd(k1, b.getInt32(0xBB67AE85));
  }
  llvm::Value *w = c[0], *both = b.CreateOr(b.CreateZExt(c[0], i64t), b.CreateShl(b.CreateZExt(c[1], i64t), 32));
  const auto real = [&](llvm::Value *bits, llvm::Type *ty, double scale) {
    return b.CreateFMul(b.CreateUIToFP(bits, ty), llvm::ConstantFP::get(ty, scale));
  };
  switch (t) {
    case VType::b1: return b.CreateTrunc(w, b.getInt1Ty());
    case VType::i8:
    case VType::i16: return b.CreateTrunc(w, type(t));
    case VType::i32: return w;
    case VType::i64: return both;
    case VType::f16: return b.CreateFPTrunc(real(b.CreateLShr(w, 21), b.getFloatTy(), 0x1p-11), b.getHalfTy());
    case VType::f32: return real(b.CreateLShr(w, 8), b.getFloatTy(), 0x1p-24);
    default: return real(b.CreateLShr(both, 11), b.getDoubleTy(), 0x1p-53);
  }
}

void Emit::report(uint32_t i) {
  const auto given = unit.operands_before(*fn, i);
  auto *i64t = b.getInt64Ty();
  llvm::Value *values = llvm::ConstantPointerNull::get(b.getPtrTy());
  if (given.count) values = alloca_of(llvm::ArrayType::get(i64t, given.count));
  for (uint32_t k = 0; k < given.count; k++)
    b.CreateStore(to_bits(value[given[k]]), b.CreateConstInBoundsGEP1_64(i64t, values, k));
  // On a grid the argument block may be a parameter, whose address had better not be taken.
  llvm::SmallVector<llvm::Value *> passed{args};
  if (on_grid()) passed = {arg_word(QD_ARG_REPORT, b.getPtrTy(hooks.global_space)), arg_word(QD_ARG_ORDINAL, i64t)};
  passed.append(
      {b.getInt32(at(i).a), b.getInt32(at(i).b), iteration ? iteration : i64(0), b.getInt32(given.count), values});
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *v : passed) types.push_back(v->getType());
  auto callee = module.getOrInsertFunction(hooks.report_symbol, llvm::FunctionType::get(b.getVoidTy(), types, false));
  auto *c = b.CreateCall(callee, passed);
  c->addFnAttr(llvm::Attribute::NoUnwind);
  c->addFnAttr(llvm::Attribute::Cold);
}

}  // namespace qd::llvm_emitter

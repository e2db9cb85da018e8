// emit.cpp: the walk over records, and what every part of the emitter needs: types, parameters, wide indices.
#include "backends/common/llvm_emitter/emit.hpp"

#include <llvm/IR/Intrinsics.h>

namespace qd::llvm_emitter {

using view::field;
using view::info;
using view::Op;
using view::op_of;
using view::type_of;
using VType = view::Type;

Emit::Emit(llvm::Module &m, const view::View &u, const TargetHooks &h, const EmitOptions &o, const Analysis &a)
    : module(m), context(m.getContext()), b(context), unit(u), hooks(h), options(o), analysis(a) {
  if (o.fast_math) {  // everything but "no NaN" and "no infinity"
    fast.setAllowReassoc(), fast.setAllowContract(), fast.setAllowReciprocal(), fast.setApproxFunc(),
        fast.setNoSignedZeros();
  }
  b.setFastMathFlags(fast);
  access_group = llvm::MDNode::getDistinct(context, {});
  invariant_load = llvm::MDNode::get(context, {});
  if (*h.atomic_scope) atomic_scope = context.getOrInsertSyncScopeID(h.atomic_scope);
}

llvm::Type *Emit::type(VType t) const {
  switch (t) {
    case VType::b1: return llvm::Type::getInt1Ty(context);
    case VType::i8: return llvm::Type::getInt8Ty(context);
    case VType::i16: return llvm::Type::getInt16Ty(context);
    case VType::i32: return llvm::Type::getInt32Ty(context);
    case VType::i64: return llvm::Type::getInt64Ty(context);
    case VType::f16: return llvm::Type::getHalfTy(context);
    case VType::f32: return llvm::Type::getFloatTy(context);
    case VType::f64: return llvm::Type::getDoubleTy(context);
    default: return llvm::Type::getVoidTy(context);
  }
}

llvm::Type *Emit::memory_type(VType t) const { return t == VType::b1 ? llvm::Type::getInt8Ty(context) : type(t); }

llvm::Value *Emit::to_bits(llvm::Value *v) {
  if (!v->getType()->isIntegerTy()) v = b.CreateBitCast(v, b.getIntNTy(v->getType()->getScalarSizeInBits()));
  return b.CreateZExt(v, b.getInt64Ty());
}

llvm::Value *Emit::from_bits(llvm::Value *bits, llvm::Type *t) {
  bits = b.CreateTrunc(bits, b.getIntNTy(t->getScalarSizeInBits()));
  return t->isIntegerTy() ? bits : b.CreateBitCast(bits, t);
}

llvm::AllocaInst *Emit::alloca_of(llvm::Type *t) {
  llvm::IRBuilder<> e(entry_end);
  return e.CreateAlloca(t);
}

// Arguments never change while a task runs.
llvm::Value *Emit::arg_word(uint32_t word, llvm::Type *t) {
  llvm::IRBuilder<> e(entry_end);
  auto *load = e.CreateAlignedLoad(t, e.CreateConstInBoundsGEP1_64(e.getInt64Ty(), args, word), llvm::Align(8));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, invariant_load);
  return load;
}

llvm::Value *Emit::buffer(uint32_t p) {
  if (unit.param(p).alias == QD_ALIAS_SHARED) return shared_buffer(p);
  if (param[p]) return param[p];
  param[p] = arg_word(unit.param_word(p), llvm::PointerType::get(context, hooks.global_space));
  if (unit.param(p).alias == QD_ALIAS_FIELD)
    llvm::cast<llvm::LoadInst>(param[p])->setMetadata(
        llvm::LLVMContext::MD_align,
        llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(b.getInt64(field_bytes))));
  return param[p];
}

// The 64-bit form of an index: sums, differences and products of narrower integers are taken as mathematical integers,
// which docs/ir.md allows for indices, so that the strides of a loop are plain to see. Threads of a grid see no
// strides, and their 64-bit arithmetic takes several instructions: there the sum is taken as it stands and extended
// once.
llvm::Value *Emit::wide(uint32_t r, int depth) {
  if (wide_of[r]) return wide_of[r];
  llvm::Value *v = value[r], *w = nullptr;
  const QdInst &i = at(r);
  if (v->getType()->isIntegerTy(64)) return v;
  const bool arith = !on_grid() && (op_of(i) == Op::add || op_of(i) == Op::sub || op_of(i) == Op::mul);
  if (arith && depth < 16) {
    llvm::Value *x = wide(i.a, depth + 1), *y = wide(i.b, depth + 1);
    w = op_of(i) == Op::add ? b.CreateNSWAdd(x, y) : op_of(i) == Op::sub ? b.CreateNSWSub(x, y) : b.CreateNSWMul(x, y);
  } else {
    w = b.CreateSExt(v, b.getInt64Ty());
  }
  wide_of[r] = w;
  wide_written.push_back(r);
  return w;
}

llvm::Value *Emit::hoisted(uint32_t r) {
  if (value[r]) return value[r];
  const QdInst &i = at(r);
  const auto &row = info(op_of(i));
  llvm::Value *operands[3] = {};
  VType t = type_of(i);
  for (uint32_t k = 0; k < row.sig.size(); k++)
    if (view::names_record(row.sig[k])) {
      operands[k] = hoisted(field(i, k));
      if (row.sig[k] == 'v') t = operand_type(field(i, k));
    }
  return value[r] = pure(i, operands[0], operands[1], operands[2], t);
}

void Emit::records(uint32_t first, uint32_t last) {
  for (uint32_t i = first; i < last; i++) record(i);
}

void Emit::record(uint32_t i) {
  const QdInst &r = at(i);
  const auto &row = info(op_of(r));
  if (value[i]) return;  // written ahead of its place, before the parallel loop
  if (row.effect == view::Effect::Pure) {
    if (op_of(r) == Op::axis) {
      value[i] = b.CreateTrunc(axis64[r.a], type(type_of(r)), "", false, true);
      if (type_of(r) != VType::i64) wide_of[i] = axis64[r.a];
      return;
    }
    if (op_of(r) == Op::farg) return void(value[i] = f->getArg(3 + r.a));
    if (op_of(r) == Op::floormod && (value[i] = wrap_index(r))) return;
    llvm::Value *operands[3] = {};
    VType t = type_of(r);
    for (uint32_t k = 0; k < row.sig.size(); k++)
      if (view::names_record(row.sig[k])) {
        operands[k] = value[field(r, k)];
        if (row.sig[k] == 'v') t = operand_type(field(r, k));
      }
    value[i] = pure(r, operands[0], operands[1], operands[2], t);
    return;
  }
  if (view::has(op_of(r), view::Atomic)) return atomic(i);
  if (view::has(op_of(r), view::Threads)) return void(value[i] = together(i));
  switch (op_of(r)) {
    case Op::operand: return;
    case Op::load:
    case Op::volatile_load: value[i] = load(r.a, r.b, address(r.a, r.b), op_of(r) == Op::volatile_load); return;
    case Op::store: return store(r.a, r.b, address(r.a, r.b), value[r.c]);
    case Op::random: value[i] = random(type_of(r)); return;
    case Op::var:
      value[i] = alloca_of(type(operand_type(r.a)));
      b.CreateStore(value[r.a], value[i]);
      return;
    case Op::get: value[i] = b.CreateLoad(type(type_of(r)), value[r.a]); return;
    case Op::set: b.CreateStore(value[r.b], value[r.a]); return;
    case Op::array: {
      auto *t = llvm::ArrayType::get(memory_type(type_of(r)), r.a);
      auto *a = alloca_of(t);
      b.CreateMemSet(a, b.getInt8(0), uint64_t(r.a) * info(type_of(r)).bytes, a->getAlign());
      value[i] = a;
      return;
    }
    case Op::array_get:
      value[i] = from_memory(
          b.CreateLoad(memory_type(type_of(r)), b.CreateInBoundsGEP(memory_type(type_of(r)), value[r.a], wide(r.b))),
          type_of(r));
      return;
    case Op::array_set:
      b.CreateStore(to_memory(value[r.c]), b.CreateInBoundsGEP(memory_type(operand_type(r.a)), value[r.a], wide(r.b)));
      return;
    case Op::output:
      b.CreateStore(to_bits(value[r.b]),
                    b.CreateConstGEP1_64(b.getInt64Ty(), arg_word(QD_ARG_RESULT, b.getPtrTy(hooks.global_space)), r.a));
      return;
    case Op::report: return report(i);
    case Op::position: value[i] = position(type_of(r)); return;
    case Op::clock: value[i] = hooks.clock(b); return;
    case Op::call: return call(i);
    case Op::result: {
      llvm::Value *tuple = value[r.a];
      value[i] = tuple->getType()->isStructTy() ? b.CreateExtractValue(tuple, r.b) : tuple;
      return;
    }
    case Op::ret: {
      const auto given = unit.operands_before(*fn, i);
      llvm::Value *tuple = llvm::PoisonValue::get(f->getReturnType()->isVoidTy() ? b.getInt1Ty() : f->getReturnType());
      for (uint32_t k = 0; k < given.count; k++) tuple = b.CreateInsertValue(tuple, value[given[k]], k);
      if (given.count) b.CreateRet(tuple);
      else b.CreateRetVoid();
      return;
    }
    case Op::leave: return leave(i);
    default: break;
  }
  if (row.flags & view::Closes) close(i);
  if (row.flags & view::Opens) open(i);
}

// Leaves the insertion point in a block behind the entry block, which ends where allocas and argument loads are put.
llvm::Value *Emit::begin_function(llvm::Function *into, const view::Function &from) {
  f = into, fn = &from;
  value.assign(from.count, nullptr);
  wide_of.assign(from.count, nullptr);
  wide_written.clear(), regions.clear();
  param.assign(unit.n_params(), nullptr);
  iteration = nullptr;
  f->addFnAttr(llvm::Attribute::NoUnwind);
  args = f->getArg(0);
  auto *entry = llvm::BasicBlock::Create(context, "entry", f), *body = llvm::BasicBlock::Create(context, "body", f);
  b.SetInsertPoint(entry);
  entry_end = b.CreateBr(body);
  b.SetInsertPoint(body);
  return args;
}

void Emit::function(uint32_t k) {
  in_entry = false;
  begin_function(functions[k], unit.function(k));
  iteration = f->getArg(1), draws = f->getArg(2);
  records(0, fn->count);
}

TaskInfo emit_task(llvm::Module &module, const view::View &unit, llvm::StringRef symbol, const TargetHooks &hooks,
                   const EmitOptions &options) {
  const Analysis analysis(unit, hooks);
  Emit e(module, unit, hooks, options, analysis);
  auto *ptr = llvm::PointerType::get(e.context, hooks.args_space);
  auto *i64 = e.b.getInt64Ty();
  const bool range = hooks.mapping == Mapping::range;
  uint32_t ordered = 0;
  for (const auto &s : analysis.slots()) ordered += !range && needs_order(s.what);
  llvm::SmallVector<llvm::Type *> task_args{ptr, i64, i64};
  task_args.push_back(range ? static_cast<llvm::Type *>(ptr) : i64);
  if (ordered) task_args.push_back(llvm::PointerType::get(e.context, hooks.global_space));
  auto *task_type = llvm::FunctionType::get(range ? i64 : e.b.getVoidTy(), task_args, false);
  e.functions.push_back(llvm::Function::Create(task_type, llvm::Function::ExternalLinkage, symbol, module));
  for (uint32_t k = 1; k < unit.n_functions(); k++) {
    const auto &fn = unit.function(k);
    llvm::SmallVector<llvm::Type *> types{ptr, i64, e.b.getPtrTy()},
        results;  // argument block, iteration, count of draws
    for (uint32_t j = 0; j < fn.n_args; j++)
      types.push_back(fn.arg_types[j] == VType::none ? e.b.getInt1Ty() : e.type(fn.arg_types[j]));
    for (uint32_t j = 0; j < fn.n_results; j++) results.push_back(e.type(fn.result_types[j]));
    auto *t = llvm::FunctionType::get(results.empty() ? e.b.getVoidTy() : llvm::StructType::get(e.context, results),
                                      types, false);
    e.functions.push_back(llvm::Function::Create(t, llvm::Function::InternalLinkage, "f" + std::to_string(k), module));
  }
  if (unit.threads())
    for (llvm::Function *fn : e.functions) fn->addFnAttr(llvm::Attribute::Convergent);
  e.task(symbol);
  for (uint32_t k = 1; k < unit.n_functions(); k++) e.function(k);
  TaskInfo out;
  out.serial = unit.parallel() == nullptr;
  out.cost = analysis.cost();
  out.ordered = ordered;
  out.batch = analysis.batch();
  out.unrolled = e.unrolled;
  out.joined_adds = analysis.any_joined();
  for (const auto &s : analysis.slots()) out.partials.push_back(s.what);
  return out;
}

}  // namespace qd::llvm_emitter

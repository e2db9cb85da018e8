// assembler_faults.cpp: see assembler_faults.hpp.
#include "backends/cuda/assembler_faults.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

namespace qd::cuda {
namespace {

using llvm::Value;

Value *assembly(llvm::Instruction &at, llvm::Type *to, Value *from, const char *text, const char *constraints) {
  llvm::IRBuilder<> b(&at);
  auto *type = llvm::FunctionType::get(to, {from->getType()}, false);
  auto *call = b.CreateCall(llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/false), {from});
  call->setDoesNotThrow();
  return call;
}

Value *negative(llvm::Instruction &i) {
  using namespace llvm::PatternMatch;
  Value *x = nullptr;
  const char *text = nullptr;
  if (match(&i, m_Neg(m_Value(x)))) text = "{ .reg .b32 t; cvt.s32.s16 t, $1; neg.s32 t, t; cvt.u16.u32 $0, t; }";
  else if (match(&i, m_Intrinsic<llvm::Intrinsic::abs>(m_Value(x))))
    text = "{ .reg .b32 t; cvt.s32.s16 t, $1; abs.s32 t, t; cvt.u16.u32 $0, t; }";
  return text && i.getType()->isIntegerTy(16) ? assembly(i, i.getType(), x, text, "=h,h") : nullptr;
}

Value *bits(llvm::Instruction &i) {
  auto *cast = llvm::dyn_cast<llvm::BitCastInst>(&i);
  if (!cast || !cast->getType()->isIntegerTy()) return nullptr;
  Value *x = cast->getOperand(0);
  const bool cut = llvm::any_of(cast->users(), [](llvm::User *u) { return llvm::isa<llvm::TruncInst>(u); });
  if (!cut) return nullptr;
  if (x->getType()->isDoubleTy()) return assembly(i, i.getType(), x, "mov.b64 $0, $1;", "=l,d");
  if (x->getType()->isFloatTy()) return assembly(i, i.getType(), x, "mov.b32 $0, $1;", "=r,f");
  return nullptr;
}

}  // namespace

void avoid_assembler_faults(llvm::Module &m) {
  for (auto &f : m)
    for (auto &block : f)
      for (auto &i : llvm::make_early_inc_range(block)) {
        Value *other = negative(i);
        if (!other) other = bits(i);
        if (!other) continue;
        i.replaceAllUsesWith(other);
        i.eraseFromParent();
      }
}

}  // namespace qd::cuda

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

bool is_extreme(const llvm::Value *v) {
  auto *i = llvm::dyn_cast<llvm::IntrinsicInst>(v);
  if (!i) return false;
  const auto id = i->getIntrinsicID();
  return id == llvm::Intrinsic::smax || id == llvm::Intrinsic::smin || id == llvm::Intrinsic::umax ||
         id == llvm::Intrinsic::umin;
}

// Texts by width; 0: of a negative, 1: of an absolute value.
struct Written {
  unsigned bits;
  const char *constraints, *text[2];
};
constexpr Written written[] = {
    {16,
     "=h,h",
     {"{ .reg .b32 t; cvt.s32.s16 t, $1; neg.s32 t, t; cvt.u16.u32 $0, t; }",
      "{ .reg .b32 t; cvt.s32.s16 t, $1; abs.s32 t, t; cvt.u16.u32 $0, t; }"}},
    {32,
     "=r,r",
     {"{ .reg .b32 t; not.b32 t, $1; add.s32 $0, t, 1; }",
      "{ .reg .b32 s, t; shr.s32 s, $1, 31; xor.b32 t, $1, s; sub.s32 $0, t, s; }"}},
    {64, "=l,l", {nullptr, "{ .reg .b64 s, t; shr.s64 s, $1, 63; xor.b64 t, $1, s; sub.s64 $0, t, s; }"}},
};

Value *negative(llvm::Instruction &i) {
  using namespace llvm::PatternMatch;
  Value *x = nullptr;
  const bool absolute = match(&i, m_Intrinsic<llvm::Intrinsic::abs>(m_Value(x)));
  if (!absolute && !match(&i, m_Neg(m_Value(x)))) return nullptr;
  if (!absolute && i.getType()->isIntegerTy(32) && llvm::none_of(i.users(), is_extreme)) return nullptr;
  for (const Written &w : written)
    if (i.getType()->isIntegerTy(w.bits) && w.text[absolute])
      return assembly(i, i.getType(), x, w.text[absolute], w.constraints);
  return nullptr;
}

Value *narrow_extreme(llvm::Instruction &i) {
  if (!is_extreme(&i) || !i.getType()->isIntegerTy() || i.getType()->getIntegerBitWidth() > 16) return nullptr;
  llvm::IRBuilder<> b(&i);
  const auto id = llvm::cast<llvm::IntrinsicInst>(i).getIntrinsicID();
  const bool sign = id == llvm::Intrinsic::smax || id == llvm::Intrinsic::smin;
  const auto wide = [&](unsigned k) {
    return sign ? b.CreateSExt(i.getOperand(k), b.getInt32Ty()) : b.CreateZExt(i.getOperand(k), b.getInt32Ty());
  };
  return b.CreateTrunc(b.CreateBinaryIntrinsic(id, wide(0), wide(1)), i.getType());
}

Value *truth(llvm::Instruction &i) {
  if (!llvm::isa<llvm::UIToFPInst>(i) && !llvm::isa<llvm::SIToFPInst>(i)) return nullptr;
  Value *p = i.getOperand(0);
  double one = llvm::isa<llvm::UIToFPInst>(i) ? 1.0 : -1.0;  // of an i1
  if (auto *z = llvm::dyn_cast<llvm::ZExtInst>(p)) p = z->getOperand(0), one = 1.0;
  if (!p->getType()->isIntegerTy(1)) return nullptr;
  llvm::IRBuilder<> b(&i);
  return b.CreateSelect(p, llvm::ConstantFP::get(i.getType(), one), llvm::ConstantFP::get(i.getType(), 0.0));
}

Value *choice(llvm::Instruction &i) {
  auto *select = llvm::dyn_cast<llvm::SelectInst>(&i);
  if (!select || !(i.getType()->isFloatTy() || i.getType()->isDoubleTy() || i.getType()->isHalfTy())) return nullptr;
  const auto negative_zero = [](Value *v) {
    auto *c = llvm::dyn_cast<llvm::ConstantFP>(v);
    return c && c->isZero() && c->isNegative();
  };
  if (!negative_zero(select->getTrueValue()) && !negative_zero(select->getFalseValue())) return nullptr;
  llvm::IRBuilder<> b(&i);
  auto *bits = b.getIntNTy(i.getType()->getPrimitiveSizeInBits());
  return b.CreateBitCast(b.CreateSelect(select->getCondition(), b.CreateBitCast(select->getTrueValue(), bits),
                                        b.CreateBitCast(select->getFalseValue(), bits)),
                         i.getType());
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
        Value *other = nullptr;
        for (const auto rewrite : {negative, narrow_extreme, truth, choice, bits})
          if ((other = rewrite(i))) break;
        if (!other) continue;
        i.replaceAllUsesWith(other);
        i.eraseFromParent();
      }
}

}  // namespace qd::cuda

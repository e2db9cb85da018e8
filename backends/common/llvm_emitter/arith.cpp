// arith.cpp: pure operations, one case a row of ops.def, with the total meaning that the row states.
#include <llvm/IR/Intrinsics.h>

#include <bit>
#include <cmath>

#include "backends/common/llvm_emitter/emit.hpp"

namespace qd::llvm_emitter {

using llvm::Intrinsic::ID;
using view::Op;
using view::op_of;
using view::type_of;
using VType = view::Type;
namespace in = llvm::Intrinsic;

namespace {

llvm::Constant *constant_of(llvm::Type *t, uint64_t bits) {
  const unsigned width = t->getScalarSizeInBits();
  const llvm::APInt v(width, width == 64 ? bits : bits & ((uint64_t(1) << width) - 1));
  if (t->isIntegerTy()) return llvm::ConstantInt::get(t, v);
  return llvm::ConstantFP::get(t, llvm::APFloat(t->getFltSemantics(), v));
}

}  // namespace

// LLVM's minnum is fmin: the other operand when one is NaN.
llvm::Value *Emit::min_max(Op op, llvm::Value *x, llvm::Value *y, bool is_float) {
  if (is_float) return b.CreateBinaryIntrinsic(op == Op::min ? in::minnum : in::maxnum, x, y);
  switch (op) {
    case Op::min: return b.CreateBinaryIntrinsic(in::smin, x, y);
    case Op::max: return b.CreateBinaryIntrinsic(in::smax, x, y);
    case Op::umin: return b.CreateBinaryIntrinsic(in::umin, x, y);
    default: return b.CreateBinaryIntrinsic(in::umax, x, y);
  }
}

llvm::Value *Emit::convert(llvm::Value *x, VType from, VType to, bool is_unsigned) {
  llvm::Type *t = type(to);
  const bool to_float = view::is_float(to);
  if (from == to) return x;
  if (view::is_float(from)) {
    if (to == VType::b1) return b.CreateFCmpUNE(x, llvm::ConstantFP::getZero(x->getType()));
    if (to_float) {
      if (from == VType::f64 && to == VType::f16)
        x = b.CreateFPTrunc(x, b.getFloatTy());  // rounds twice: ops.def says so
      return view::info(to).bytes > view::info(from).bytes ? b.CreateFPExt(x, t) : b.CreateFPTrunc(x, t);
    }
    if (from == VType::f16) x = b.CreateFPExt(x, b.getFloatTy());
    return b.CreateIntrinsic(is_unsigned ? in::fptoui_sat : in::fptosi_sat, {t, x->getType()}, {x});
  }
  if (to == VType::b1) return b.CreateICmpNE(x, llvm::ConstantInt::get(x->getType(), 0));
  const bool as_unsigned = is_unsigned || from == VType::b1;
  if (!to_float) return b.CreateIntCast(x, t, !as_unsigned);
  llvm::Type *direct = t;
  if (to == VType::f16) direct = view::info(from).bytes <= 2 ? b.getFloatTy() : b.getDoubleTy();
  x = as_unsigned ? b.CreateUIToFP(x, direct) : b.CreateSIToFP(x, direct);
  if (direct->isDoubleTy() && to == VType::f16) x = b.CreateFPTrunc(x, b.getFloatTy());
  return x->getType() == t ? x : b.CreateFPTrunc(x, t);
}

// x to the power y by squaring, one round a bit: 1 for y <= 0.
llvm::Value *Emit::int_pow(llvm::Value *x, llvm::Value *y) {
  auto *t = x->getType();
  llvm::Constant *one = llvm::ConstantInt::get(t, 1), *zero = llvm::ConstantInt::get(t, 0);
  auto *from = b.GetInsertBlock(), *loop = llvm::BasicBlock::Create(context, "pow", f),
       *done = llvm::BasicBlock::Create(context, "powed", f);
  b.CreateCondBr(b.CreateICmpSGT(y, zero), loop, done);
  b.SetInsertPoint(loop);
  auto *r = b.CreatePHI(t, 2), *base = b.CreatePHI(t, 2), *e = b.CreatePHI(t, 2);
  r->addIncoming(one, from), base->addIncoming(x, from), e->addIncoming(y, from);
  llvm::Value *odd = b.CreateICmpNE(b.CreateAnd(e, one), zero);
  llvm::Value *next = b.CreateSelect(odd, b.CreateMul(r, base), r);
  llvm::Value *rest = b.CreateLShr(e, one);
  r->addIncoming(next, loop), base->addIncoming(b.CreateMul(base, base), loop), e->addIncoming(rest, loop);
  b.CreateCondBr(b.CreateICmpNE(rest, zero), loop, done);
  b.SetInsertPoint(done);
  auto *result = b.CreatePHI(t, 2);
  result->addIncoming(one, from), result->addIncoming(next, loop);
  return result;
}

// By bits, without a call: subnormal numbers are scaled up first.
llvm::Value *Emit::frexp(llvm::Value *x, bool fraction) {
  if (x->getType()->isHalfTy()) {
    llvm::Value *r = frexp(b.CreateFPExt(x, b.getFloatTy()), fraction);
    return fraction ? b.CreateFPTrunc(r, b.getHalfTy()) : r;
  }
  llvm::IRBuilder<>::FastMathFlagGuard guard(b);
  b.setFastMathFlags({});
  const bool dbl = x->getType()->isDoubleTy();
  const int mantissa = dbl ? 52 : 23, bias = dbl ? 1022 : 126, ones = dbl ? 2047 : 255;
  auto *it = b.getIntNTy(dbl ? 64 : 32);
  const auto k = [&](uint64_t v) { return llvm::ConstantInt::get(it, v); };
  const auto exponent = [&](llvm::Value *bits) { return b.CreateAnd(b.CreateLShr(bits, k(mantissa)), k(ones)); };
  llvm::Value *scaled = b.CreateFMul(x, llvm::ConstantFP::get(x->getType(), dbl ? 0x1p54 : 0x1p25));
  llvm::Value *small = b.CreateICmpEQ(exponent(b.CreateBitCast(x, it)), k(0));
  llvm::Value *bits = b.CreateBitCast(b.CreateSelect(small, scaled, x), it);
  llvm::Value *e = exponent(bits);
  llvm::Value *plain = b.CreateOr(b.CreateICmpEQ(e, k(0)), b.CreateICmpEQ(e, k(ones)));  // 0, infinity, NaN
  if (fraction) {
    llvm::Value *frac = b.CreateOr(b.CreateAnd(bits, k(~(uint64_t(ones) << mantissa))), k(uint64_t(bias) << mantissa));
    return b.CreateSelect(plain, x, b.CreateBitCast(frac, x->getType()));
  }
  llvm::Value *power = b.CreateSub(e, b.CreateSelect(small, k(bias + (dbl ? 54 : 25)), k(bias)));
  return b.CreateIntCast(b.CreateSelect(plain, k(0), power), b.getInt32Ty(), true);
}

// `t` is the type of the `v` operands.
llvm::Value *Emit::pure(const QdInst &r, llvm::Value *x, llvm::Value *y, llvm::Value *z, VType t) {
  const Op op = op_of(r);
  const bool real = view::is_float(t);
  const auto masked = [&] { return b.CreateAnd(y, llvm::ConstantInt::get(y->getType(), view::info(t).bytes * 8 - 1)); };
  switch (op) {
    case Op::const_: return constant_of(type(type_of(r)), view::const_bits(r));
    case Op::arg: {
      if (!param[r.a]) {
        const VType pt = VType(unit.param(r.a).type);
        llvm::Value *v = arg_word(unit.param_word(r.a), memory_type(pt));
        if (pt == VType::b1) {
          llvm::IRBuilder<> e(entry_end);
          v = e.CreateICmpNE(v, e.getInt8(0));
        }
        param[r.a] = v;
      }
      return param[r.a];
    }
    case Op::shape: {
      llvm::Value *v = arg_word(unit.param_word(r.a) + 1 + r.b, b.getInt64Ty());
      return b.CreateIntCast(v, type(type_of(r)), true);
    }
    case Op::add: return real ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case Op::sub: return real ? b.CreateFSub(x, y) : b.CreateSub(x, y);
    case Op::mul: return real ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    case Op::fdiv:
      if (options.fast_math && t == VType::f32 && op_of(at(r.b)) == Op::sqrt) {
        llvm::Value *root = reciprocal_root(value[at(r.b).a]);
        auto *one = llvm::dyn_cast<llvm::ConstantFP>(x);
        return one && one->isExactlyValue(1.0) ? root : b.CreateFMul(x, root);
      }
      return quotient(x, y);
    case Op::idiv:
    case Op::udiv:
    case Op::irem:
    case Op::urem:
    case Op::floordiv:
    case Op::floormod: return divide(op, x, y, in_entry && unit.parallel() && analysis.invariant(r.b));
    case Op::neg: return real ? b.CreateFNeg(x) : b.CreateNeg(x);
    case Op::abs: return real ? b.CreateUnaryIntrinsic(in::fabs, x) : b.CreateBinaryIntrinsic(in::abs, x, b.getFalse());
    case Op::min:
    case Op::max:
    case Op::umin:
    case Op::umax: return min_max(op, x, y, real);
    case Op::and_: return b.CreateAnd(x, y);
    case Op::or_: return b.CreateOr(x, y);
    case Op::xor_: return b.CreateXor(x, y);
    case Op::not_: return b.CreateNot(x);
    case Op::shl: return b.CreateShl(x, masked());
    case Op::shr: return b.CreateLShr(x, masked());
    case Op::sar: return b.CreateAShr(x, masked());
    case Op::popcnt: return b.CreateUnaryIntrinsic(in::ctpop, x);
    case Op::clz: return b.CreateBinaryIntrinsic(in::ctlz, x, b.getFalse());
    case Op::ctz: return b.CreateBinaryIntrinsic(in::cttz, x, b.getFalse());
    case Op::eq: return real ? b.CreateFCmpOEQ(x, y) : b.CreateICmpEQ(x, y);
    case Op::ne: return real ? b.CreateFCmpUNE(x, y) : b.CreateICmpNE(x, y);
    case Op::lt: return real ? b.CreateFCmpOLT(x, y) : b.CreateICmpSLT(x, y);
    case Op::le: return real ? b.CreateFCmpOLE(x, y) : b.CreateICmpSLE(x, y);
    case Op::ult: return b.CreateICmpULT(x, y);
    case Op::ule: return b.CreateICmpULE(x, y);
    case Op::select: return b.CreateSelect(x, y, z);
    case Op::cast: return convert(x, t, type_of(r), false);
    case Op::ucast: return convert(x, t, type_of(r), true);
    case Op::bitcast:
      if (type_of(r) == VType::b1) return t == VType::b1 ? x : b.CreateTrunc(x, b.getInt1Ty());
      return t == VType::b1 ? b.CreateZExt(x, type(type_of(r))) : b.CreateBitCast(x, type(type_of(r)));
    case Op::floor: return b.CreateUnaryIntrinsic(in::floor, x);
    case Op::ceil: return b.CreateUnaryIntrinsic(in::ceil, x);
    case Op::trunc: return b.CreateUnaryIntrinsic(in::trunc, x);
    case Op::roundeven: return b.CreateUnaryIntrinsic(in::roundeven, x);
    case Op::sqrt:
    case Op::rsqrt:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan2:
    case Op::tanh:
    case Op::exp:
    case Op::log:
    case Op::pow: return math(op, x, y);
    case Op::ipow: return int_pow(x, y);
    case Op::frexp_frac: return frexp(x, true);
    case Op::frexp_exp: return b.CreateIntCast(frexp(x, false), type(type_of(r)), true);
    default: return nullptr;  // axis and farg are written where they stand
  }
}

// With fast math LLVM makes an estimate and a Newton step of 1 / sqrt(x), which turns the infinity at 0 and the 0 at
// infinity into NaN; fast math of ours keeps both.
llvm::Value *Emit::reciprocal_root(llvm::Value *x) {
  auto *t = x->getType();
  if (hooks.math)
    if (llvm::Value *v = hooks.math(b, Op::rsqrt, x, nullptr, options.fast_math)) return v;
  llvm::Value *r = b.CreateFDiv(llvm::ConstantFP::get(t, 1.0), b.CreateUnaryIntrinsic(in::sqrt, x));
  if (!options.fast_math || !t->isFloatTy()) return r;
  llvm::Constant *zero = llvm::ConstantFP::get(t, 0.0), *infinity = llvm::ConstantFP::getInfinity(t);
  r = b.CreateSelect(b.CreateFCmpOEQ(x, zero), infinity, r);
  return b.CreateSelect(b.CreateFCmpOEQ(x, infinity), zero, r);
}

// The reciprocal of a small half is beyond its range, so a half is divided and never multiplied by one.
llvm::Value *Emit::quotient(llvm::Value *x, llvm::Value *y) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(b);
  llvm::FastMathFlags flags = fast;
  if (x->getType()->isHalfTy()) flags.setAllowReciprocal(false);
  b.setFastMathFlags(flags);
  if (hooks.math && !x->getType()->isHalfTy())
    if (llvm::Value *v = hooks.math(b, Op::fdiv, x, y, options.fast_math)) return v;
  return b.CreateFDiv(x, y);
}

// With fast math LLVM makes products of a constant exponent that is whole. Large ones stay calls, for each product adds
// to the error; and so do halves like -1.5, which LLVM takes apart into x^-2 * sqrt(x): not a number at 0. No
// reciprocals, for the estimate of one is not a number where it should be infinite. Of an exponent that was an integer it
// would make a call of the compiler's run-time library, which is not there.
llvm::Value *Emit::power(llvm::Value *x, llvm::Value *y) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(b);
  llvm::FastMathFlags flags = fast;
  flags.setAllowReciprocal(false);
  if (const auto *constant = llvm::dyn_cast<llvm::ConstantFP>(y)) {
    const double e = std::fabs(constant->getValue().convertToDouble());
    if (e > 16 || (e != 0.5 && e != std::floor(e))) flags = {};
  } else {
    flags.setApproxFunc(false);
  }
  b.setFastMathFlags(flags);
  return b.CreateBinaryIntrinsic(in::pow, x, y);
}

// In f32 or f64; halves are widened, as ops.def computes them.
llvm::Value *Emit::math(Op op, llvm::Value *x, llvm::Value *y) {
  if (x->getType()->isHalfTy()) {
    auto *f32 = b.getFloatTy();
    llvm::Value *r = math(op, b.CreateFPExt(x, f32), y ? b.CreateFPExt(y, f32) : nullptr);
    return b.CreateFPTrunc(r, b.getHalfTy());
  }
  if (hooks.math)
    if (llvm::Value *v = hooks.math(b, op, x, y, options.fast_math)) return v;
  if (op == Op::sqrt) return b.CreateUnaryIntrinsic(in::sqrt, x);
  if (op == Op::rsqrt) return reciprocal_root(x);
  const auto one = [&](ID id) -> llvm::Value * { return b.CreateUnaryIntrinsic(id, x); };
  switch (op) {
    case Op::sin: return one(in::sin);
    case Op::cos: return one(in::cos);
    case Op::tan: return one(in::tan);
    case Op::asin: return one(in::asin);
    case Op::acos: return one(in::acos);
    case Op::tanh: return one(in::tanh);
    case Op::exp: return one(in::exp);
    case Op::log: return one(in::log);
    case Op::pow: return power(x, y);
    default: return b.CreateBinaryIntrinsic(in::atan2, x, y);
  }
}

}  // namespace qd::llvm_emitter

// divide.cpp: integer division. x/0 and x%0 are 0 and MIN/-1 wraps, so a divisor that is not a constant is first made
// harmless. Up to 32 bits a quotient may be computed in f64, where it is exact: the distance of a true quotient from
// the next integer is at least 1/y, and a double near 2^32/y is finer than that. Vector units divide doubles and no
// integers.
#include <llvm/IR/Intrinsics.h>

#include "backends/common/llvm_emitter/emit.hpp"

namespace qd::llvm_emitter {

using view::Op;

namespace {

bool is_unsigned_op(Op op) { return op == Op::udiv || op == Op::urem; }

}  // namespace

// `(i + k) % n` with a constant n and i + k known to lie in [-n, 2n): a comparison and an addition instead of a
// division.
llvm::Value *Emit::wrap_index(const QdInst &r) {
  if (!in_entry) return nullptr;
  const auto x = analysis.interval(r.a), y = analysis.interval(r.b);
  if (!x || !y || y->low != y->high || y->low <= 0) return nullptr;
  const int64_t n = y->low;
  if (x->low >= 0 && x->high < n) return value[r.a];
  if (x->low < -n || x->high >= 2 * n || n > INT32_MAX) return nullptr;
  llvm::Value *v = value[r.a], *step = value[r.b];
  auto *zero = llvm::ConstantInt::get(v->getType(), 0);
  if (x->high >= n) v = b.CreateSelect(b.CreateICmpSGE(value[r.a], step), b.CreateSub(value[r.a], step), v);
  if (x->low < 0) v = b.CreateSelect(b.CreateICmpSLT(value[r.a], zero), b.CreateAdd(value[r.a], step), v);
  return v;
}

llvm::Value *Emit::divide(Op op, llvm::Value *x, llvm::Value *y, bool invariant_divisor) {
  auto *t = x->getType();
  auto *zero = llvm::ConstantInt::get(t, 0), *one = llvm::ConstantInt::get(t, 1);
  const unsigned width = t->getIntegerBitWidth();
  const bool no_sign = is_unsigned_op(op), rest = op == Op::irem || op == Op::urem || op == Op::floormod;
  const bool floors = op == Op::floordiv || op == Op::floormod;
  auto *k = llvm::dyn_cast<llvm::ConstantInt>(y);
  llvm::Value *is_zero = nullptr, *is_minus_one = nullptr, *safe = y;
  if (k) {
    if (k->isZero()) return zero;
    if (!no_sign && k->isMinusOne()) return rest ? zero : b.CreateNeg(x);
    if (floors && k->getValue().isStrictlyPositive() && k->getValue().isPowerOf2())  // MIN is one without its sign
      return rest ? b.CreateAnd(x, llvm::ConstantInt::get(t, k->getValue() - 1))
                  : b.CreateAShr(x, llvm::ConstantInt::get(t, k->getValue().logBase2()));
  } else {
    is_zero = b.CreateICmpEQ(y, zero);
    if (!no_sign) is_minus_one = b.CreateICmpEQ(y, llvm::ConstantInt::getSigned(t, -1));
    safe = b.CreateSelect(no_sign ? is_zero : b.CreateOr(is_zero, is_minus_one), one, y);
  }
  llvm::Value *q = nullptr;
  if (!k && width <= 32 && hooks.divide_in_float) {
    llvm::IRBuilder<>::FastMathFlagGuard guard(b);
    b.setFastMathFlags({});
    auto *f64 = b.getDoubleTy();
    llvm::Value *dx = no_sign ? b.CreateUIToFP(x, f64) : b.CreateSIToFP(x, f64),
                *dy = no_sign ? b.CreateUIToFP(safe, f64) : b.CreateSIToFP(safe, f64);
    // The reciprocal leaves the loop. It is a little too large, so that the product never falls short of a whole
    // quotient, and by less than what would reach the next: x * 2^-50 < 1.
    llvm::Value *d = invariant_divisor ? b.CreateFMul(dx, b.CreateFDiv(llvm::ConstantFP::get(f64, 1 + 0x1p-50), dy))
                                       : b.CreateFDiv(dx, dy);
    q = no_sign ? b.CreateFPToUI(d, t) : b.CreateFPToSI(d, t);
  } else if (!rest) {
    q = no_sign ? b.CreateUDiv(x, safe) : b.CreateSDiv(x, safe);
  }
  llvm::Value *r = nullptr;
  if (rest || floors)
    r = q ? b.CreateSub(x, b.CreateMul(q, safe)) : no_sign ? b.CreateURem(x, safe) : b.CreateSRem(x, safe);
  if (floors) {  // toward minus infinity: the remainder takes the sign of the divisor
    llvm::Value *wrong = b.CreateAnd(b.CreateICmpNE(r, zero), b.CreateICmpSLT(b.CreateXor(r, safe), zero));
    if (rest) r = b.CreateSelect(wrong, b.CreateAdd(r, safe), r);
    else q = b.CreateSelect(wrong, b.CreateSub(q, one), q);
  }
  if (rest) return r;  // the harmless divisor 1 leaves 0, which is the answer for 0 and -1
  if (is_minus_one) q = b.CreateSelect(is_minus_one, b.CreateNeg(x), q);
  return is_zero ? b.CreateSelect(is_zero, zero, q) : q;
}

}  // namespace qd::llvm_emitter

// device_math.cpp: see device_math.hpp. Without fast math an f32 function is the f64 one, rounded: the library's f32
// ones are off by up to four units in the last place, docs/accuracy.md promises one.
#include "backends/cuda/device_math.hpp"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cmath>

#include "backends/cuda/device_math_blobs.hpp"

namespace qd::cuda {
namespace {

using view::Op;
namespace in = llvm::Intrinsic;

struct Row {
  Op op;
  const char *f32, *f64;
};
constexpr Row rows[] = {
#define MATH(name, operands, nv, clc) {Op::name, "qd_" #name "_f32", "qd_" #name "_f64"},
#include "backends/cuda/math.def"
};

const char *name_of(Op op, bool f64) {
  for (const Row &r : rows)
    if (r.op == op) return f64 ? r.f64 : r.f32;
  return nullptr;
}

llvm::Value *library_call(llvm::IRBuilder<> &b, Op op, llvm::Value *x, llvm::Value *y) {
  auto *t = x->getType();
  const char *name = name_of(op, t->isDoubleTy());
  if (!name) return nullptr;
  llvm::SmallVector<llvm::Type *> types{t};
  llvm::SmallVector<llvm::Value *> operands{x};
  if (y) types.push_back(t), operands.push_back(y);
  auto callee = b.GetInsertBlock()->getModule()->getOrInsertFunction(name, llvm::FunctionType::get(t, types, false));
  auto *call = b.CreateCall(callee, operands);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

// x to a small whole constant: products. A square is exact but for one rounding; more products need fast math.
llvm::Value *small_power(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y, bool fast) {
  const auto *k = llvm::dyn_cast<llvm::ConstantFP>(y);
  if (!k) return nullptr;
  llvm::APFloat v = k->getValueAPF();
  bool lossy = false;
  v.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
  const double e = v.convertToDouble();
  if (e != std::floor(e) || e < 1 || e > (fast ? 16 : 2)) return nullptr;
  llvm::Value *result = nullptr, *base = x;
  for (int n = int(e); n; n >>= 1) {
    if (n & 1) result = result ? b.CreateFMul(result, base) : base;
    if (n > 1) base = b.CreateFMul(base, base);
  }
  return result;
}

llvm::Value *exact_root(llvm::IRBuilder<> &b, llvm::Value *x) { return b.CreateUnaryIntrinsic(in::sqrt, x); }

}  // namespace

llvm::Value *device_math(llvm::IRBuilder<> &b, Op op, llvm::Value *x, llvm::Value *y, bool fast) {
  const bool quick = fast && x->getType()->isFloatTy();
  if (op == Op::fdiv) {
    if (!quick || llvm::isa<llvm::Constant>(y)) return nullptr;
    return b.CreateIntrinsic(in::nvvm_div_full_ftz, {}, {x, y});
  }
  if (op == Op::pow)
    if (llvm::Value *v = small_power(b, x, y, fast)) return v;
  llvm::IRBuilder<>::FastMathFlagGuard guard(b);
  b.setFastMathFlags({});  // LLVM's own estimates lose infinities
  if (op == Op::sqrt) return quick ? b.CreateIntrinsic(in::nvvm_sqrt_approx_ftz_f, {}, {x}) : exact_root(b, x);
  if (op == Op::rsqrt)
    return quick ? b.CreateIntrinsic(in::nvvm_rsqrt_approx_ftz_f, {}, {x})
                 : b.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1.0), exact_root(b, x));
  if (quick || x->getType()->isDoubleTy()) return library_call(b, op, x, y);
  auto *f64 = b.getDoubleTy();
  llvm::Value *r = library_call(b, op, b.CreateFPExt(x, f64), y ? b.CreateFPExt(y, f64) : nullptr);
  return r ? b.CreateFPTrunc(r, x->getType()) : nullptr;
}

bool link_device_math(llvm::Module &m, std::string &why) {
  for (size_t k = 0; k < n_device_functions; k++) {
    const DeviceFunction &blob = device_functions[k];
    const llvm::Function *declared = m.getFunction(blob.name);
    if (!declared || !declared->isDeclaration()) continue;
    const llvm::StringRef bytes(reinterpret_cast<const char *>(blob.bitcode), blob.size);
    auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, blob.name), m.getContext());
    if (!parsed) {
      why = llvm::toString(parsed.takeError());
      return false;
    }
    (*parsed)->setTargetTriple(m.getTargetTriple());
    (*parsed)->setDataLayout(m.getDataLayout());
    if (llvm::Linker::linkModules(m, std::move(*parsed))) {
      why = std::string("cannot link ") + blob.name;
      return false;
    }
    m.getFunction(blob.name)->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  return true;
}

}  // namespace qd::cuda

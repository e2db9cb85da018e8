// device_math.hpp: real functions of generated code. The hardware's own where they are good enough (division, square
// roots), otherwise functions of a bitcode library that was taken apart at build time (make_device_math.cpp).
#pragma once
#include "backends/common/llvm_emitter/emitter.hpp"

namespace qd::cuda {

// The hook of the emitter: null for what LLVM does well. Functions are declared only.
llvm::Value *device_math(llvm::IRBuilder<> &, view::Op, llvm::Value *x, llvm::Value *y, bool fast);

// Adds the bodies of the functions that the module declares. False with a reason when the library is faulty.
bool link_device_math(llvm::Module &, std::string &why);

}  // namespace qd::cuda

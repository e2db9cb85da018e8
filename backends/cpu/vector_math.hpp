// vector_math.hpp: real functions on the CPU. With fast math, loops use vector forms: polynomials of our own written in
// IR where that is both accurate over the whole range and quicker, glibc's libmvec for the rest. Without, glibc's
// scalar functions.
#pragma once
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/TargetParser/Triple.h>

#include "qd/ir_tables.hpp"

namespace qd::cpu {

// TargetHooks::math.
llvm::Value *vector_math(llvm::IRBuilder<> &, view::Op, llvm::Value *x, llvm::Value *y, bool fast);

// What LLVM may replace calls in loops by; level as in QdxCpuTarget::vector_math, bits: of the widest registers that
// may be used.
llvm::TargetLibraryInfoImpl vector_library(const llvm::Triple &, uint32_t level, unsigned bits);

}  // namespace qd::cpu

// pipeline.hpp: from a module to optimised code. The pass list is short and explicit, made of pass classes and not by
// PassBuilder, so that a linker can drop every pass that is not named (decisions 40; figures in docs/adr).
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "backends/common/llvm_emitter/polls.hpp"

namespace qd::llvm_emitter {

enum class Effort : uint8_t { quick, usual, scalar };  // scalar: the usual list without the vectoriser, for GPUs

// Sets LLVM's switches that have no interface, once per process.
void configure_llvm();

// Whether some loop asks when to stop.
bool optimise(llvm::Module &, llvm::TargetMachine &, const llvm::TargetLibraryInfoImpl &, Effort, const Polls & = {});

// False when the target cannot write files of that type.
bool emit_file(llvm::Module &, llvm::TargetMachine &, const llvm::TargetLibraryInfoImpl &, llvm::CodeGenFileType,
               llvm::SmallVectorImpl<char> &out);

}  // namespace qd::llvm_emitter

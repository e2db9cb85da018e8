// threads.hpp: what threads of a block do together, in NVIDIA's instructions (docs/ir.md, "Threads").
#pragma once
#include "backends/common/llvm_emitter/emitter.hpp"

namespace qd::cuda {

inline constexpr uint64_t own_shared = 48 * 1024;    // bytes of a block's memory that code may have of its own
inline constexpr uint64_t most_shared = 227 * 1024;  // that a launch may bring; devices have less or as much

llvm::Value *together(llvm::IRBuilder<> &, const llvm_emitter::Together &);
void end_thread(llvm::IRBuilder<> &);
// Throws Failure for what a GPU of this kind cannot do.
void check_threads(const view::View &, uint32_t sm);

}  // namespace qd::cuda

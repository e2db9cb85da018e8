// emitter.hpp: from a verified unit (qd/ir_view.hpp) to an LLVM module. Shared by the backends that generate code with
// LLVM; all that differs between them is a TargetHooks. What each operation means stands in ops.def; nothing here traps
// or is undefined for any operand. The module holds one external function (the task) and internal ones for the unit's
// functions.
#pragma once
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <vector>

#include "qd/ir_view.hpp"

namespace qd::llvm_emitter {

enum class Mapping : uint8_t {
  range,  // i64 task(ptr args, i64 begin, i64 end, ptr partials): rows of [begin, end); see backends/cpu/codegen_abi.h
  grid,   // void task(ptr args, i64 begin, i64 end): a grid-stride loop, one thread a position
};

struct TargetHooks {
  Mapping mapping = Mapping::range;
  unsigned global_space = 0;     // address space of buffers and of the argument block
  uint32_t max_partials = 0;     // reductions kept in registers per call; 0: atomics only
  bool divide_in_float = false;  // 32-bit division through f64: vector units have no integer division
  const char *report_symbol = "qd_report";
  // A real function, operands in f32 or f64; null: the target takes LLVM's intrinsic of that name.
  llvm::Value *(*math)(llvm::IRBuilder<> &, view::Op, llvm::Value *x, llvm::Value *y, bool fast) = nullptr;
  // Mapping::grid: first position of this thread and the step, both i64.
  llvm::Value *(*thread_index)(llvm::IRBuilder<> &) = nullptr;
  llvm::Value *(*thread_count)(llvm::IRBuilder<> &) = nullptr;
};

struct EmitOptions {
  bool fast_math = true;
};

struct Partial {
  view::Op op;      // atomic_add ...
  view::Type type;  // of the element
};

struct TaskInfo {
  bool serial = true;
  uint32_t cost = 1;  // of one position, in 1/64 ns on a current CPU core; a guess by counting
  std::vector<Partial> partials;
};

// Adds the task under `symbol`. The view must be of one task. The module needs its triple and data layout set.
TaskInfo emit_task(llvm::Module &module, const view::View &unit, llvm::StringRef symbol, const TargetHooks &hooks,
                   const EmitOptions &options);

}  // namespace qd::llvm_emitter

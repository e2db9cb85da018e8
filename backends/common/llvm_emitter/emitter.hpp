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
  grid,   // void task(ptr args, i64 begin, i64 end, i64 check[, ptr scratch]): threads walk the grid in strides. With
         // end INT64_MIN the task finds its range itself; with check 1 it does nothing after a failure was reported.
         // scratch: of tasks with TaskInfo::ordered > 0, 8 * (1 + ordered * blocks) bytes; the first word is 0 between
         // launches, and launches with the same scratch run one after another.
};

// What threads do together: a row of ops.def with the flag Threads, its literal, its operands. Values that move between threads
// come in pieces of 32 bits (`shuffle`) or as 32 or 64 bits (`match`); `mask` is an i32, all ones where none was given.
struct Together {
  view::Op op;
  uint32_t kind;
  llvm::Value *x, *y, *mask;
};

// Of Mapping::grid: how a thread knows its place and talks to its block. All values are i32.
struct GridHooks {
  unsigned shared_space = 0, warp = 32;  // of a block's memory; threads that shuffle
  uint64_t own_shared = ~0ull;  // bytes of it that code may have of its own; if it needs more, the launch brings all of it
  llvm::Value *(*block_index)(llvm::IRBuilder<> &) = nullptr;
  llvm::Value *(*block_count)(llvm::IRBuilder<> &) = nullptr;
  llvm::Value *(*thread_index)(llvm::IRBuilder<> &) = nullptr;  // in its block
  llvm::Value *(*block_size)(llvm::IRBuilder<> &) = nullptr;    // a multiple of `warp`, at most warp * warp
  llvm::Value *(*shuffle)(llvm::IRBuilder<> &, llvm::Value *i32, unsigned distance) = nullptr;  // of lane ^ distance
  void (*barrier)(llvm::IRBuilder<> &) = nullptr;
  void (*fence)(llvm::IRBuilder<> &) = nullptr;  // between accesses of global memory, as seen by other blocks
  void (*exit)(llvm::IRBuilder<> &) = nullptr;   // ends the thread: barriers no longer wait for it
  llvm::Value *(*together)(llvm::IRBuilder<> &, const Together &) = nullptr;
};

// Bytes of a block's memory that a task needs, each buffer at a multiple of 16.
uint64_t shared_bytes(const view::View &);

struct TargetHooks {
  Mapping mapping = Mapping::range;
  unsigned global_space = 0;  // address space of buffers
  unsigned args_space = 0;    // of the argument block
  uint32_t max_partials = 0;  // reductions kept in registers per call or thread; 0: atomics only
  uint32_t joined_adds = 0;   // neighbouring f32 that one atomic addition may change: 0, 2 or 4
  // That addition; null: a loop of compare and exchange, for two.
  void (*add_joined)(llvm::IRBuilder<> &, llvm::Value *address, llvm::ArrayRef<llvm::Value *> values) = nullptr;
  const char *atomic_scope = "";  // LLVM's name of the scope that atomics are seen in; empty: the system
  bool wide_sums = false;         // reductions of f32 in f64
  llvm::Value *(*clock)(llvm::IRBuilder<> &) = nullptr;  // i64
  bool divide_in_float = false;   // 32-bit division through f64: vector units have no integer division
  // void (ptr args, i32 site, i32 failure, i64 iteration, i32 n, ptr values); on a grid the first one is two:
  // ptr report buffer, i64 task ordinal.
  const char *report_symbol = "qd_report";
  // A real function, operands in f32 or f64; null: the target takes LLVM's intrinsic of that name.
  llvm::Value *(*math)(llvm::IRBuilder<> &, view::Op, llvm::Value *x, llvm::Value *y, bool fast) = nullptr;
  GridHooks grid;
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
  bool unrolled = false;     // on a grid: some inner loop has several rounds under way
  bool joined_adds = false;  // some additions were joined
  uint32_t batch =
      1;  // on a grid: positions that a thread works on side by side when there are more of them than threads
  uint32_t ordered = 0;  // on a grid: partials that are added in the order of the blocks
};

// Adds the task under `symbol`. The view must be of one task. The module needs its triple and data layout set.
TaskInfo emit_task(llvm::Module &module, const view::View &unit, llvm::StringRef symbol, const TargetHooks &hooks,
                   const EmitOptions &options);

}  // namespace qd::llvm_emitter

// emit.hpp: the state of the emitter while it writes one function, and its parts (inner header of llvm_emitter).
//
// A value of the IR is an LLVM value; a variable or local array an alloca in the entry block. Indices have a second,
// 64-bit form: wide(). It is remembered until the region that it was written in is closed, because it does not dominate
// what follows.
#pragma once
#include "backends/common/llvm_emitter/analysis.hpp"
#include "backends/common/llvm_emitter/emitter.hpp"

namespace qd::llvm_emitter {

struct Region {
  view::Op op;
  uint32_t record;
  llvm::BasicBlock *head = nullptr, *exit = nullptr;  // exit: where `leave` goes, for labels
  llvm::PHINode *index = nullptr;                     // of loops: i64, on a grid of the loop's own type
  llvm::Value *limit = nullptr;
  size_t wide_mark = 0;
};

// What the values of one position are, where several are written side by side.
struct Lane {
  std::vector<llvm::Value *> value, wide_of;
  std::vector<uint32_t> wide_written;
  std::vector<llvm::Value *> axis64;
  llvm::Value *preloaded = nullptr;
};

// A thread's place on a grid, i64: of the block's size, in its block, among all threads, number of threads.
struct Walk {
  llvm::Value *block, *thread, *mine, *threads;
};

struct Emit {
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> b;
  const view::View &unit;
  const TargetHooks &hooks;
  const EmitOptions &options;
  const Analysis &analysis;
  llvm::FastMathFlags fast;
  llvm::MDNode *access_group = nullptr, *invariant_load = nullptr;
  llvm::SyncScope::ID atomic_scope = llvm::SyncScope::System;
  std::vector<llvm::Function *> functions;  // of the unit; [0] is the task

  // Of the function being written.
  const view::Function *fn = nullptr;
  bool in_entry = false;  // it is the unit's entry
  bool unrolled = false;  // some loop of the unit
  llvm::Function *f = nullptr;
  llvm::Value *args = nullptr;
  llvm::Value *iteration = nullptr;           // i64; null outside of a parallel body
  llvm::Value *draws = nullptr;               // pointer to the i32 count of random draws
  llvm::Value *preloaded = nullptr;           // the element that the atomic update being written finds
  llvm::Value *skipped = nullptr;             // i1: an earlier task failed, so the range is empty
  std::vector<llvm::Value *> value, wide_of;  // by record
  std::vector<uint32_t> wide_written;
  std::vector<Region> regions;
  std::vector<llvm::Value *> param;         // loaded lazily in the entry block
  std::vector<llvm::Value *> axis64;        // of the parallel being written
  std::vector<llvm::AllocaInst *> partial;  // by slot
  std::vector<llvm::Value *> partial_address;
  std::vector<llvm::MDNode *> scope, others;  // by parameter; empty when nothing is known to be disjoint
  std::vector<llvm::Constant *> shared;  // by parameter: memory of a block
  std::vector<bool> unchanged;                // by parameter: no thread of the task writes this memory
  llvm::Instruction *entry_end = nullptr;     // allocas and argument loads go before it

  Emit(llvm::Module &, const view::View &, const TargetHooks &, const EmitOptions &, const Analysis &);

  // --- types and small things (emit.cpp)
  llvm::Type *type(view::Type) const;
  llvm::Type *memory_type(view::Type) const;  // b1 is a byte
  bool on_grid() const { return hooks.mapping == Mapping::grid; }
  llvm::Value *i64(int64_t v) { return b.getInt64(uint64_t(v)); }
  llvm::Value *to_memory(llvm::Value *v) { return v->getType()->isIntegerTy(1) ? b.CreateZExt(v, b.getInt8Ty()) : v; }
  llvm::Value *from_memory(llvm::Value *v, view::Type t) {
    return t == view::Type::b1 ? b.CreateICmpNE(v, b.getInt8(0)) : v;
  }
  llvm::Value *to_bits(llvm::Value *v);  // zero-extended to i64
  llvm::Value *from_bits(llvm::Value *bits, llvm::Type *);
  llvm::AllocaInst *alloca_of(llvm::Type *t);
  llvm::Value *arg_word(uint32_t word, llvm::Type *t);
  llvm::Value *buffer(uint32_t p);
  const QdInst &at(uint32_t r) const { return fn->code[r]; }
  view::Type operand_type(uint32_t r) const { return view::type_of(at(r)); }
  llvm::Value *wide(uint32_t r, int depth = 0);  // i64 form of an integer value
  llvm::Value *begin_function(llvm::Function *, const view::Function &);
  void records(uint32_t first, uint32_t last);
  void record(uint32_t i);
  void task(llvm::StringRef symbol);
  void function(uint32_t k);

  // --- pure operations (arith.cpp, divide.cpp, math.cpp)
  llvm::Value *pure(const QdInst &r, llvm::Value *x, llvm::Value *y, llvm::Value *z, view::Type t);
  llvm::Value *hoisted(uint32_t r);  // an invariant value at the insertion point
  llvm::Value *convert(llvm::Value *x, view::Type from, view::Type to, bool is_unsigned);
  llvm::Value *min_max(view::Op, llvm::Value *x, llvm::Value *y, bool is_float);
  llvm::Value *divide(view::Op, llvm::Value *x, llvm::Value *y, bool invariant_divisor);
  llvm::Value *wrap_index(const QdInst &r);  // floormod whose operand is near its range, or null
  llvm::Value *int_pow(llvm::Value *x, llvm::Value *y);
  llvm::Value *frexp(llvm::Value *x, bool fraction);
  llvm::Value *math(view::Op, llvm::Value *x, llvm::Value *y);
  llvm::Value *reciprocal_root(llvm::Value *x);
  llvm::Value *quotient(llvm::Value *x, llvm::Value *y);
  llvm::Value *power(llvm::Value *x, llvm::Value *y);

  // --- memory (memory.cpp)
  llvm::Value *address(uint32_t p, uint32_t index);
  llvm::Align alignment(uint32_t p, uint32_t index) const;
  llvm::Value *load(uint32_t p, uint32_t index, llvm::Value *address, bool is_volatile);
  void store(uint32_t p, uint32_t index, llvm::Value *address, llvm::Value *v);
  void atomic(uint32_t i);
  llvm::Value *atomic_update(view::Op, view::Type, llvm::Value *address, llvm::Value *v);
  llvm::Value *update(view::Op, view::Type, llvm::Value *old, llvm::Value *v);
  llvm::Type *partial_type(const Partial &) const;
  llvm::Value *identity(const Partial &);
  llvm::Value *compare_exchange_loop(view::Op, view::Type, llvm::Value *address, llvm::Value *v);
  template <class F>
  llvm::Value *exchange_until(llvm::Value *address, llvm::IntegerType *, F next);
  void add_joined(llvm::ArrayRef<uint32_t> records);
  llvm::Value *random(view::Type);
  void report(uint32_t i);
  llvm::Value *gather(int slot, llvm::Value *sum, llvm::Value *v);
  void alias(llvm::Instruction *access, uint32_t p);
  void make_alias_scopes();
  void find_unchanged();
  void begin_partials();
  void end_partials();
  llvm::Value *reduce_block(size_t slot, llvm::Value *v, llvm::Value *shared);  // grid_partials.cpp
  llvm::Value *gather_parts(size_t slot, llvm::Value *parts);
  void leave_total(size_t slot, llvm::Value *total);
  void add_parts_in_order(llvm::ArrayRef<size_t> slots, llvm::Value *shared);
  void end_grid_partials();
  template <class I>
  I *mark(I *access) {
    if (access_group && iteration && in_entry) access->setMetadata(llvm::LLVMContext::MD_access_group, access_group);
    return access;
  }

  // --- threads of a block (threads.cpp)
  llvm::Value *shared_buffer(uint32_t p);
  llvm::Value *position(view::Type);
  llvm::Value *together(uint32_t i);
  void block_loop(const view::Parallel &, llvm::ArrayRef<llvm::Value *> low, llvm::ArrayRef<llvm::Value *> extent,
                  llvm::Value *begin, llvm::Value *end);

  // --- regions (regions.cpp, parallel.cpp)
  void open(uint32_t i);
  void close(uint32_t i);
  void leave(uint32_t i);
  void branch(llvm::BasicBlock *to);
  Region &region_of(uint32_t record);
  void call(uint32_t i);
  void loop_metadata(llvm::Instruction *latch, bool parallel, uint32_t unroll = 1);
  uint32_t unroll_of(uint32_t first, uint32_t last) const;
  void parallel(uint32_t i);
  template <class F>
  void stride_loop(llvm::Value *lo, llvm::Value *hi, llvm::Value *step, F body);
  template <class F>
  void point_loop(const view::Parallel &, llvm::Value *lo, llvm::Value *hi, llvm::Value *step, F position);
  void one_position(const view::Parallel &, llvm::Value *position);
  void answer_questions(llvm::ArrayRef<llvm::Value *> extent, llvm::Value *begin, llvm::Value *end);
  void rows(const view::Parallel &, llvm::ArrayRef<llvm::Value *> low, llvm::ArrayRef<llvm::Value *> extent,
            llvm::Value *begin, llvm::Value *end, llvm::Value *last);
  void skip_after_failure();
  template <class F>
  void when(llvm::Value *condition, F body) {
    auto *then = llvm::BasicBlock::Create(context, "then", f), *on = llvm::BasicBlock::Create(context, "on", f);
    b.CreateCondBr(condition, then, on);
    b.SetInsertPoint(then);
    body();
    b.CreateBr(on);
    b.SetInsertPoint(on);
  }
  void take_apart(llvm::Value *position, llvm::ArrayRef<llvm::Value *> extent, llvm::MutableArrayRef<llvm::Value *> at);
  void batch(const view::Parallel &, llvm::MutableArrayRef<Lane>);
  Lane lane_at(llvm::ArrayRef<llvm::Value *> axes) const;
  void grid_line(const view::Parallel &, llvm::Value *low, llvm::Value *begin, llvm::Value *end, const Walk &);
  void stride_parts(llvm::Value *needed, llvm::Value *step, llvm::ArrayRef<llvm::Value *> extent,
                    llvm::MutableArrayRef<llvm::Value *> parts);
  void grid_rows(const view::Parallel &, llvm::ArrayRef<llvm::Value *> low, llvm::ArrayRef<llvm::Value *> extent,
                 llvm::Value *begin, llvm::Value *end, llvm::Value *total, const Walk &);
  void rows_of_position(const view::Parallel &, llvm::ArrayRef<llvm::Value *> axes, llvm::Value *first,
                        llvm::Value *height, llvm::Value *extent, llvm::Value *low);
  void grid_loop(const view::Parallel &, llvm::ArrayRef<llvm::Value *> low, llvm::ArrayRef<llvm::Value *> extent,
                 llvm::Value *begin, llvm::Value *end);
};

}  // namespace qd::llvm_emitter

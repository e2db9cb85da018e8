// builder.hpp: the only way to make code. Building folds constants, applies the algebraic rules of simplify.cpp, orders
// commutative operands and shares equal pure values, so every pass that re-emits a function through a Builder gets these free.
#pragma once
#include <memory>
#include <span>

#include "core/ir/func.hpp"

namespace qd::ir {

class Builder {
 public:
  Builder();
  ~Builder();
  Builder(Builder &&) noexcept;
  Builder &operator=(Builder &&) noexcept;

  // Parameters are shared by all functions of the unit. Returns the parameter number.
  uint32_t param(const Param &p, std::string name = {});

  // Appends a record to the current function and returns its value. Types are checked by verify(), not here; `type` of
  // operations with result Same or Bool may be Type::none and is then filled in.
  Val emit(Op op, Type type, std::array<uint32_t, 3> arg = {0, 0, 0});
  // Emits `operand` records for `taken` (three a record, unused fields no_val), then the record.
  Val emit_taking(Op op, Type type, std::span<const Val> taken, std::array<uint32_t, 3> arg = {0, 0, 0});
  Val constant(Type type, uint64_t bits);
  template <class T> Val constant_of(Type type, T v);  // int64_t or double, converted to `type`

  Type type_of(Val v) const;              // of a value; of a var or array: of its element
  const Inst &at(Val v) const;
  bool constant_value(Val v, uint64_t &bits) const;  // true when v is a const record

  // A function of the unit (entry is 0 and open from the start). Functions may be opened while another is unfinished.
  uint32_t open_function(uint32_t n_args, uint32_t n_results);
  void close_function();                  // back to the function that was open before
  // Block size of the `parallel` that is open in the entry, or was last: its threads turn out to work together.
  uint32_t block_size() const;            // 0: any; also without a parallel
  void set_block_size(uint32_t n);
  Loop &loop();                           // what is noted of the same `parallel`, for the plan
  uint32_t depth() const;                 // open regions of the current function
  uint32_t rewrites() const;              // how often emit() answered with a value it had, or a simpler one

  const Unit &unit() const;
  Unit finish(std::string name) &&;       // all regions must be closed

 private:
  struct State;
  std::unique_ptr<State> s_;
};

extern template Val Builder::constant_of<int64_t>(Type, int64_t);
extern template Val Builder::constant_of<double>(Type, double);

}  // namespace qd::ir

// copy.cpp: see copy.hpp. `operand` records are copied as they stand, so grouping is kept.
#include "core/split/copy.hpp"

#include "core/support/error.hpp"

namespace qd::split {

Val copy_record(ir::Builder &b, const Inst &in, const Renaming &to) {
  const auto sig = ir::info(in.op).sig;
  auto arg = in.arg;
  for (size_t i = 0; i < sig.size(); ++i) {
    if (ir::names_record(sig[i]) && arg[i] != no_val) arg[i] = to.value(arg[i]);
    if (sig[i] == 'p' || sig[i] == 's') arg[i] = to.param(arg[i]);
  }
  if (in.op == Op::call) arg[0] = to.function(arg[0]);
  return b.emit(in.op, in.type, arg);
}

Val copy_entry_record(ir::Builder &b, const ir::Unit &from, Val id, const Renaming &to) {
  const Val copy = copy_record(b, from.code()[id], to);
  if (const auto noted = from.debug.loops.find(id); noted != from.debug.loops.end()) b.loop() = noted->second;
  return copy;
}

FunctionCopier::FunctionCopier(ir::Builder &b, const ir::Unit &from, std::function<uint32_t(uint32_t)> param)
    : b_(b), from_(from), param_(std::move(param)), number_(from.funcs.size(), no_val) {}

uint32_t FunctionCopier::number(uint32_t old) {
  QD_ASSERT(old > 0 && old < number_.size());
  if (number_[old] != no_val) return number_[old];
  const ir::Func &f = from_.funcs[old];
  number_[old] = b_.open_function(f.n_args, f.n_results);  // before the body, which may call itself
  std::vector<Val> map(f.code.size());
  const Renaming to{[&](Val v) { return map[v]; }, param_, [this](uint32_t k) { return number(k); }};
  for (Val id = 0; id < f.code.size(); ++id) map[id] = copy_record(b_, f.code[id], to);
  b_.close_function();
  return number_[old];
}

}  // namespace qd::split

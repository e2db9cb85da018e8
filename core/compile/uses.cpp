// uses.cpp: see uses.hpp. Asked by callers whose arrays are not the device's, once a kernel, and not by anybody else.
#include "core/compile/uses.hpp"

#include <algorithm>

#include "qd/ir_view.hpp"

namespace qd::compile {

Use use_of(const QdInst &r) {
  const view::Op op = view::op_of(r);
  const view::OpInfo &row = view::op_table[size_t(op)];
  if (row.sig.empty() || row.sig[0] != 'p' || op == view::Op::arg || op == view::Op::shape) return Use::none;
  return op == view::Op::load || op == view::Op::volatile_load ? Use::reads : Use::writes;
}

std::vector<Use> used_words(const split::Plan &plan) {
  std::vector<Use> uses(plan.n_words, Use::none);
  for (const split::Task &t : plan.tasks) {
    view::View unit;
    view::Fault fault;
    if (!unit.read(t.bytes.data(), t.bytes.size(), fault)) return std::vector<Use>(plan.n_words, Use::writes);
    for (uint32_t f = 0; f < unit.n_functions(); ++f)
      for (uint32_t i = 0; i < unit.function(f).count; ++i) {
        const QdInst &r = unit.function(f).code[i];
        const Use use = use_of(r);
        if (use == Use::none) continue;
        if (view::words(unit.param(r.a)) == 0) continue;  // shared by a block
        const uint32_t word = unit.param_word(r.a);
        for (const split::WordMove &m : t.words)
          if (word >= m.to && word - m.to < m.count) {
            Use &known = uses[m.from + word - m.to];
            known = std::max(known, use);
          }
      }
  }
  return uses;
}

}  // namespace qd::compile

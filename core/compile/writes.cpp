// writes.cpp: see writes.hpp. Asked by callers whose arrays are not the device's, once a kernel, and not by anybody
// else.
#include "core/compile/writes.hpp"

#include "qd/ir_view.hpp"

namespace qd::compile {

std::vector<bool> written_words(const split::Plan &plan) {
  std::vector<bool> written(plan.n_words, false);
  for (const split::Task &t : plan.tasks) {
    view::View unit;
    view::Fault fault;
    if (!unit.read(t.bytes.data(), t.bytes.size(), fault)) return std::vector<bool>(plan.n_words, true);
    for (uint32_t f = 0; f < unit.n_functions(); ++f)
      for (uint32_t i = 0; i < unit.function(f).count; ++i) {
        const QdInst &r = unit.function(f).code[i];
        if (view::op_of(r) != view::Op::store && !view::has(view::op_of(r), view::Atomic)) continue;
        const uint32_t word = unit.param_word(r.a);
        for (const split::WordMove &m : t.words)
          if (word >= m.to && word - m.to < m.count) written[m.from + word - m.to] = true;
      }
  }
  return written;
}

}  // namespace qd::compile

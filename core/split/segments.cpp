// segments.cpp: a scan over the statements of depth 0.
#include "core/split/segments.hpp"

namespace qd::split {

Segments segments_of(std::span<const Inst> code, const Regions &r) {
  const Val n = Val(code.size());
  Segments s{std::vector<uint32_t>(n), {}, {}};
  enum { run, cut, cut_after_reads } state = cut;
  bool failing = false;
  Val current = no_val;
  for (Val id = 0; id < n; ++id) {
    if (r.statement[id] != current) {
      if (current != no_val && !s.parallel.back() && failing) state = cut_after_reads;
      current = r.statement[id];
      failing = false;
      const Inst &in = code[current];
      const bool parallel = in.op == Op::parallel;
      // Reading a variable after the statement that assigned it belongs to that statement.
      const bool stays = state == run || (state == cut_after_reads && (in.op == Op::get || in.op == Op::result));
      if (parallel || !stays) {
        s.parallel.push_back(parallel);
        s.first.push_back(id);
        state = parallel ? cut : run;
      }
    }
    failing |= code[id].op == Op::report && code[id].arg[1] != 0;
    s.of[id] = uint32_t(s.parallel.size()) - 1;
  }
  return s;
}

}  // namespace qd::split

// plan.cpp: how many positions a task's grid has, evaluated by the host from the kernel's words. Constant folding does
// the arithmetic, so the host agrees with every device; where folding declines, the plugin finds the extent.
#include "core/split/plan.hpp"

#include <algorithm>

#include "core/ir/constants.hpp"
#include "core/split/extent.hpp"

namespace qd::split {
namespace {

using ir::Inst;
using ir::no_val;
using ir::Op;
using ir::Type;
using ir::Val;

int64_t signed_of(Type t, uint64_t bits) {
  const unsigned shift = 64 - 8 * ir::info(t).bytes;
  return int64_t(bits << shift) >> shift;
}

int64_t extent_of(int64_t lo, int64_t hi) {  // max(hi - lo, 0), which may need one bit more than int64
  return hi <= lo ? 0 : uint64_t(hi) - uint64_t(lo) > uint64_t(INT64_MAX) ? INT64_MAX : hi - lo;
}

int64_t times(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

int64_t run(const HostProgram &p, Type type, const uint64_t *words) {
  uint64_t v[longest_program];
  for (size_t i = 0; i < p.code.size(); ++i) {
    const Inst &in = p.code[i];
    const auto sig = ir::info(in.op).sig;
    if (in.op == Op::const_) v[i] = ir::const_bits(in);
    else if (in.op == Op::arg || in.op == Op::shape) v[i] = words[in.arg[0]] & ir::width_mask(in.type);
    else if (in.op == Op::select) v[i] = v[in.arg[0]] & 1 ? v[in.arg[1]] : v[in.arg[2]];
    else {
      const auto bits =
          ir::fold(in.op, p.code[in.arg[0]].type, in.type, v[in.arg[0]], v[sig.size() > 1 ? in.arg[1] : in.arg[0]]);
      if (!bits) return -1;
      v[i] = *bits;
    }
  }
  int64_t n = 1;
  for (size_t i = 0; i + 1 < p.bounds.size(); i += 2)
    n = times(n, extent_of(signed_of(type, v[p.bounds[i]]), signed_of(type, v[p.bounds[i + 1]])));
  return n;
}

// Copies the pure records behind `v` into the program; false when one of them reads memory or the program grows too
// long.
bool add_record(const std::vector<Inst> &code, Val v, const std::vector<uint32_t> &word_of_param,
                std::vector<uint32_t> &at, HostProgram &p) {
  std::vector<Val> todo{v};
  while (!todo.empty()) {
    const Val id = todo.back();
    if (at[id] != no_val) {
      todo.pop_back();
      continue;
    }
    Inst in = code[id];
    const auto &row = ir::info(in.op);
    if (row.effect != ir::Effect::Pure || row.flags & ir::Inexact || in.op == Op::axis || in.op == Op::farg)
      return false;
    bool ready = true;
    for (size_t i = 0; i < row.sig.size(); ++i)
      if (ir::names_record(row.sig[i])) {
        if (at[in.arg[i]] == no_val) todo.push_back(in.arg[i]), ready = false;
        else in.arg[i] = at[in.arg[i]];
      }
    if (!ready) continue;
    if (p.code.size() == longest_program) return false;
    if (in.op == Op::arg) in.arg[0] = word_of_param[in.arg[0]];
    if (in.op == Op::shape) in.arg = {word_of_param[in.arg[0]] + 1 + in.arg[1], 0, 0};
    at[id] = uint32_t(p.code.size());
    p.code.push_back(in);
    todo.pop_back();
  }
  return true;
}

}  // namespace

Extent extent_of_task(const std::vector<Inst> &code, const std::vector<uint32_t> &word_of_param) {
  Extent e;
  const auto loop = std::find_if(code.begin(), code.end(), [](const Inst &in) { return in.op == Op::parallel; });
  if (loop == code.end()) return e;
  e.type = loop->type;
  auto first = loop;
  while (first != code.begin() && std::prev(first)->op == Op::operand) --first;
  std::vector<uint32_t> at(code.size(), no_val);
  e.kind = ExtentKind::unknown;
  for (auto o = first; o != loop; ++o)
    for (Val v : o->arg) {
      if (v == no_val) continue;
      if (!add_record(code, v, word_of_param, at, e.program)) return e.program = {}, e;
      e.program.bounds.push_back(at[v]);
    }
  const auto &p = e.program;
  const bool reads =
      std::any_of(p.code.begin(), p.code.end(), [](const Inst &in) { return in.op == Op::arg || in.op == Op::shape; });
  if (!reads) {
    e.positions = run(p, e.type, nullptr);
    e.kind = e.positions < 0 ? ExtentKind::unknown : ExtentKind::fixed;
    return e.program = {}, e;
  }
  e.kind = ExtentKind::program;
  if (p.bounds.size() != 2) return e;
  const Inst &lo = p.code[p.bounds[0]], &hi = p.code[p.bounds[1]];
  if (lo.op == Op::const_ && ir::const_bits(lo) == 0 && (hi.op == Op::arg || hi.op == Op::shape)) {
    e.kind = ExtentKind::one_word;
    e.word = hi.arg[0];
    e.program = {};
  }
  return e;
}

int64_t positions(const Extent &e, const uint64_t *words) {
  switch (e.kind) {
    case ExtentKind::fixed: return e.positions;
    case ExtentKind::one_word: return std::max<int64_t>(signed_of(e.type, words[e.word]), 0);
    case ExtentKind::program: return run(e.program, e.type, words);
    case ExtentKind::unknown: break;
  }
  return -1;
}

}  // namespace qd::split

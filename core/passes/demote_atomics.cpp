// demote_atomics.cpp: atomic operations that need not be. In serial code none need be. In a parallel loop the atomics
// on a buffer are demoted together, when no element is named by two iterations: the index must tell the iterations
// apart like the digits of a number. Plain accesses play no part: between iterations only atomics on one element are
// defined (docs/ir.md).
#include <algorithm>
#include <map>
#include <tuple>

#include "core/passes/linear.hpp"
#include "core/passes/passes.hpp"
#include "core/split/copy.hpp"

namespace qd::passes {
namespace {

using ir::Inst;
using ir::no_val;
using ir::Op;
using ir::Val;

bool is_atomic(const Inst &in) { return ir::info(in.op).flags & ir::Atomic; }

// The plain operation of an atomic; const_ for an exchange, count when there is none.
Op plain_of(Op atomic) {
  if (atomic == Op::atomic_xchg) return Op::const_;
  const auto name = ir::info(atomic).name.substr(7);
  for (uint16_t k = 0; k < uint16_t(Op::count); ++k)
    if (ir::info(Op(k)).name == name && ir::info(Op(k)).sig == "vv" && ir::info(Op(k)).effect == ir::Effect::Pure)
      return Op(k);
  return Op::count;
}

struct Loop {
  Val record = no_val;
  std::vector<Val> bounds;  // lo, hi per axis
};

Loop loop_of(std::span<const Inst> code) {
  Loop l;
  for (Val id = 0; id < code.size() && l.record == no_val; ++id)
    if (code[id].op == Op::parallel) l.record = id;
  if (l.record == no_val) return l;
  Val first = l.record;
  while (first > 0 && code[first - 1].op == Op::operand) --first;
  for (Val o = first; o < l.record; ++o)
    for (Val v : code[o].arg)
      if (v != no_val) l.bounds.push_back(v);
  return l;
}

class Judge {
 public:
  Judge(const ir::Unit &u, const split::Regions &r, const Loop &loop) : code_(u.code()), r_(r), loop_(loop) {}

  // Whether no two iterations name one element with these atomics, all on one buffer.
  bool apart(const std::vector<Val> &atomics) const {
    std::optional<Sum> all;
    for (Val id : atomics) {
      auto s = linear_index(code_, r_, code_[id].arg[1]);
      if (!s) return false;
      std::sort(s->terms.begin(), s->terms.end(), [](const Product &a, const Product &b) {
        return std::tie(a.axis, a.factors, a.coef) < std::tie(b.axis, b.factors, b.coef);
      });
      if (!all) {
        all = std::move(s);
        continue;
      }
      if (!std::equal(all->terms.begin(), all->terms.end(), s->terms.begin(), s->terms.end(),
                      [](const Product &a, const Product &b) { return a.same_unit(b) && a.coef == b.coef; }))
        return false;
      all->low = std::min(all->low, s->low);
      all->high = std::max(all->high, s->high);
    }
    return all && digits(*all);
  }

 private:
  // Axes in ascending order of stride: each stride is at least the one before times that axis's extent, and what is
  // added besides stays below the smallest stride.
  bool digits(const Sum &s) const {
    std::vector<Product> strides(loop_.bounds.size() / 2);
    for (const Product &p : s.terms) {
      if (p.axis == no_val) continue;
      if (p.axis >= strides.size() || strides[p.axis].coef != 0) return false;
      strides[p.axis] = p;
    }
    for (Product &p : strides)
      if (p.coef < 0 && p.coef > -(int64_t(1) << 40)) p.coef = -p.coef;
    if (std::any_of(strides.begin(), strides.end(), [](const Product &p) { return p.coef <= 0; })) return false;
    std::vector<uint32_t> order(strides.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(strides[a].factors.size(), strides[a].coef) <
             std::pair(strides[b].factors.size(), strides[b].coef);
    });
    const Product &least = strides[order[0]];
    if (!least.factors.empty() || s.high - s.low >= least.coef) return false;  // a stride known at launch only may be 0
    for (size_t i = 1; i < order.size(); ++i)
      if (!covers(strides[order[i]], strides[order[i - 1]], order[i - 1])) return false;
    return true;
  }

  // outer >= inner * extent of inner's axis
  bool covers(const Product &outer, const Product &inner, uint32_t axis) const {
    const auto lo = linear_index(code_, r_, loop_.bounds[2 * axis]),
               hi = linear_index(code_, r_, loop_.bounds[2 * axis + 1]);
    if (!lo || !hi || lo->low != lo->high || hi->low != hi->high || !lo->terms.empty()) return false;
    if (hi->terms.empty()) {
      const int64_t n = std::max<int64_t>(hi->low - lo->low, 1);
      int64_t need;
      return outer.factors == inner.factors && !__builtin_mul_overflow(inner.coef, n, &need) && outer.coef >= need;
    }
    if (hi->terms.size() != 1 || hi->low != 0 || lo->low < 0 || hi->terms[0].coef <= 0) return false;
    // Extent c * f with symbolic f: the stride must be a multiple of it, factor by factor. (It is not negative: the
    // loop would be empty.)
    std::vector<Val> need = inner.factors;
    need.insert(need.end(), hi->terms[0].factors.begin(), hi->terms[0].factors.end());
    std::sort(need.begin(), need.end());
    int64_t coef;
    return need == outer.factors && !__builtin_mul_overflow(inner.coef, hi->terms[0].coef, &coef) && outer.coef >= coef;
  }

  std::span<const Inst> code_;
  const split::Regions &r_;
  const Loop &loop_;
};

// Atomic records of the entry that are to become plain, by record.
std::vector<char> choose(const ir::Unit &u, const split::Regions &r) {
  const auto &code = u.code();
  const Loop loop = loop_of(code);
  const Judge judge(u, r, loop);
  std::vector<char> plain(code.size());
  std::map<uint32_t, std::vector<Val>> groups;  // by buffer; atomics inside of the loop
  std::vector<char> refused(u.params.size());
  uint32_t external = 0;
  for (Val id = 0; id < code.size(); ++id) {
    if (!is_atomic(code[id])) continue;
    const bool inside = loop.record != no_val && r.statement[id] == loop.record;
    if (plain_of(code[id].op) == Op::count) refused[code[id].arg[0]] |= inside;
    else if (!inside) plain[id] = 1;
    if (inside) groups[code[id].arg[0]].push_back(id);
  }
  for (size_t f = 1; f < u.funcs.size(); ++f)
    for (const Inst &in : u.funcs[f].code)
      if (is_atomic(in)) refused[in.arg[0]] = 1, external += u.params[in.arg[0]].alias == QD_ALIAS_EXTERNAL;
  for (const auto &[p, list] : groups) external += u.params[p].alias == QD_ALIAS_EXTERNAL;
  for (const auto &[p, list] : groups) {
    // Two external arrays may be one: what is apart in each may meet in the other.
    if (refused[p] || (u.params[p].alias == QD_ALIAS_EXTERNAL && external > 1)) continue;
    if (judge.apart(list))
      for (Val id : list) plain[id] = 1;
  }
  return plain;
}

}  // namespace

ir::Unit demote_atomics(const ir::Unit &u) {
  const auto &code = u.code();
  if (std::none_of(code.begin(), code.end(), is_atomic)) return u;
  const split::Regions r = split::regions_of(code);
  const auto plain = choose(u, r);
  if (std::none_of(plain.begin(), plain.end(), [](char c) { return c; })) return u;
  ir::Builder b;
  for (size_t i = 0; i < u.params.size(); ++i)
    b.param(u.params[i], i < u.debug.params.size() ? u.debug.params[i] : std::string());
  const auto same = [](uint32_t k) { return k; };
  split::FunctionCopier functions(b, u, same);
  std::vector<Val> map(code.size(), no_val);
  const split::Renaming to{[&](Val v) { return map[v]; }, same, [&](uint32_t f) { return functions.number(f); }};
  for (Val id = 0; id < code.size(); ++id) {
    const Inst &in = code[id];
    if (!plain[id]) {
      map[id] = split::copy_record(b, in, to);
      continue;
    }
    const Val index = map[in.arg[1]], x = map[in.arg[2]];
    const Op op = plain_of(in.op);
    map[id] = b.emit(Op::load, in.type, {in.arg[0], index, 0});
    const Val made = op == Op::const_ ? x : b.emit(op, ir::Type::none, {map[id], x, 0});
    b.emit(Op::store, ir::Type::none, {in.arg[0], index, made});
  }
  return std::move(b).finish(u.debug.name);
}

}  // namespace qd::passes

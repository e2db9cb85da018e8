// linear.cpp: see linear.hpp. Numbers that could overflow while they are combined give up.
#include "core/passes/linear.hpp"

#include <algorithm>

namespace qd::passes {
namespace {

using ir::Inst;
using ir::no_val;
using ir::Op;
using ir::Val;

constexpr size_t most_terms = 12;
constexpr int64_t big = int64_t(1) << 40;  // of a coefficient or bound; products of two stay below 2^63 by a check

bool small(int64_t v) { return v > -big && v < big; }

struct Reader {
  std::span<const Inst> code;
  const split::Regions &regions;

  int64_t constant(Val v) const {
    const unsigned shift = 64 - 8 * ir::info(code[v].type).bytes;
    return int64_t(ir::const_bits(code[v]) << shift) >> shift;
  }
  // Computed before the parallel loop, or from such values alone.
  bool uniform(Val v, uint32_t budget = 32) const {
    if (regions.parent[v] == no_val) return true;
    const Inst &in = code[v];
    if (ir::info(in.op).effect != ir::Effect::Pure || in.op == Op::axis || in.op == Op::farg || budget == 0)
      return false;
    bool all = true;
    split::each_use(in, [&](Val x, size_t) { all = all && uniform(x, budget / 2); });
    return all;
  }
  std::optional<Sum> read(Val v, uint32_t depth) const;
};

std::optional<Sum> add(Sum a, const Sum &b, int64_t sign) {
  for (const Product &p : b.terms) {
    auto it = std::find_if(a.terms.begin(), a.terms.end(), [&](const Product &q) { return q.same_unit(p); });
    if (it == a.terms.end()) a.terms.push_back(p), a.terms.back().coef *= sign;
    else it->coef += sign * p.coef;
  }
  std::erase_if(a.terms, [](const Product &p) { return p.coef == 0; });
  a.low += sign > 0 ? b.low : -b.high;
  a.high += sign > 0 ? b.high : -b.low;
  const bool fits = small(a.low) && small(a.high) &&
                    std::all_of(a.terms.begin(), a.terms.end(), [](const Product &p) { return small(p.coef); });
  return fits && a.terms.size() <= most_terms ? std::optional(std::move(a)) : std::nullopt;
}

std::optional<Sum> scale(Sum a, int64_t by) {
  const auto times = [by](int64_t &v) { return !__builtin_mul_overflow(v, by, &v) && small(v); };
  bool fits = times(a.low) && times(a.high);
  for (Product &p : a.terms) fits = fits && times(p.coef);
  if (by < 0) std::swap(a.low, a.high);
  if (by == 0) a.terms.clear();
  return fits ? std::optional(std::move(a)) : std::nullopt;
}

std::optional<Sum> multiply(const Sum &a, const Sum &b) {
  if (b.terms.empty() && b.low == b.high) return scale(a, b.low);
  if (a.terms.empty() && a.low == a.high) return scale(b, a.low);
  if (a.low != a.high || b.low != b.high) return std::nullopt;
  Sum out{{}, 0, 0};
  if (a.low != 0 || b.low != 0) {
    const auto left = scale({b.terms, 0, 0}, a.low), right = scale({a.terms, 0, 0}, b.low);
    if (!left || !right || __builtin_mul_overflow(a.low, b.low, &out.low) || !small(out.low)) return std::nullopt;
    const int64_t constant = out.low;
    const auto both = add(*left, *right, 1);
    if (!both) return std::nullopt;
    out = *both;
    out.low = out.high = constant;
  }
  for (const Product &p : a.terms)
    for (const Product &q : b.terms) {
      if (p.axis != no_val && q.axis != no_val) return std::nullopt;
      Product r{0, p.factors, p.axis != no_val ? p.axis : q.axis};
      if (__builtin_mul_overflow(p.coef, q.coef, &r.coef)) return std::nullopt;
      r.factors.insert(r.factors.end(), q.factors.begin(), q.factors.end());
      std::sort(r.factors.begin(), r.factors.end());
      auto sum = add(std::move(out), {{r}, 0, 0}, 1);
      if (!sum) return std::nullopt;
      out = std::move(*sum);
    }
  return out;
}

std::optional<Sum> Reader::read(Val v, uint32_t depth) const {
  if (depth == 0) return std::nullopt;
  const Inst &in = code[v];
  const auto operand = [&](size_t i) { return read(in.arg[i], depth - 1); };
  switch (in.op) {
    case Op::const_: {
      const int64_t k = constant(v);
      return small(k) ? std::optional(Sum{{}, k, k}) : std::nullopt;
    }
    case Op::axis: return Sum{{{1, {}, in.arg[0]}}, 0, 0};
    case Op::loop: {
      if (code[in.arg[0]].op != Op::const_ || code[in.arg[1]].op != Op::const_) return std::nullopt;
      const int64_t lo = constant(in.arg[0]), hi = constant(in.arg[1]);
      return small(lo) && small(hi) && lo < hi ? std::optional(Sum{{}, lo, hi - 1}) : std::nullopt;
    }
    case Op::add:
    case Op::sub: {
      auto x = operand(0), y = operand(1);
      return x && y ? add(std::move(*x), *y, in.op == Op::add ? 1 : -1) : std::nullopt;
    }
    case Op::mul: {
      const auto x = operand(0), y = operand(1);
      return x && y ? multiply(*x, *y) : std::nullopt;
    }
    case Op::cast: {
      const ir::Type from = code[in.arg[0]].type;
      if (ir::is_int(from) && ir::is_int(in.type) && ir::info(in.type).bytes > ir::info(from).bytes) return operand(0);
      break;
    }
    default: break;
  }
  if (ir::is_int(in.type) && uniform(v)) return Sum{{{1, {v}, no_val}}, 0, 0};
  return std::nullopt;
}

}  // namespace

std::optional<Sum> linear_index(std::span<const Inst> code, const split::Regions &r, Val index) {
  return Reader{code, r}.read(index, 16);
}

}  // namespace qd::passes

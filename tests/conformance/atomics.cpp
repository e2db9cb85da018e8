// atomics.cpp: each atomic in each type, on one element, on a few and on many, with the old values kept and without. In which
// order iterations come is open, so the kept ones are checked as a chain: every update makes a value that one other update
// or the end of the loop finds, and finds one that another or the beginning left. No order has to be guessed for that:
// the old values and the last one are, as a multiset, the first one and the new values.
#include <algorithm>
#include <random>

#include "core/ir/constants.hpp"
#include "tests/conformance/operands.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/ir/values.hpp"

namespace qd::conformance {
namespace {

constexpr size_t n = 5000;

Op plain_of(Op atomic) {
  for (uint16_t k = 0; k < uint16_t(Op::count); ++k)
    if ("atomic_" + std::string(ir::info(Op(k)).name) == ir::info(atomic).name) return Op(k);
  return Op::count;
}

std::string text(Op op, Type t, Type index, bool keep) {
  const std::string dot = "." + std::string(ir::info(t).name), type(ir::info(t).name), it(ir::info(index).name);
  std::string s = "raw\nfunc @a($x: buf " + type + " 1, $at: buf " + it + " 1, $y: buf " + type + " 1, $e: buf " + type +
                  " 1, $old: buf " + type + " 1) {\n%zero = const.i32 0\n%n = shape.i32 $y, 0\noperand %zero, %n\n" +
                  "parallel.i32 1, 0 {\n%i = axis.i32 0\n%at = load." + it + " $at, %i\n%y = load" + dot + " $y, %i\n";
  if (op == Op::atomic_cas) s += "%e = load" + dot + " $e, %i\noperand %e\n";
  s += "%old = " + std::string(ir::info(op).name) + dot + " $x, %at, %y\n";
  if (keep) s += "store $old, %i, %old\n";
  return s + "}\n}\n";
}

// Values that no order rounds differently: sums of small numbers, products of powers of two, no zeros of either sign.
Bits operands(Op op, Type t, size_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  Bits v(count);
  for (uint64_t &b : v) {
    if (t == Type::b1) b = rng() & 1;
    else if (!ir::is_float(t)) b = (rng() % 4 ? rng() % 7 : rng() * 0x100000001ull) & ir::width_mask(t);
    else if (op == Op::atomic_mul) b = ir::convert_constant(t, rng() % 2 ? 1.0 : -1.0);
    else if (op == Op::atomic_add) b = ir::convert_constant(t, rng() % 2 ? 0.5 : -0.5);
    else b = ir::convert_constant(t, double(rng() % 2000) - 999.5);
  }
  return v;
}

struct Loop {
  Op op;
  Type type;
  Bits first, at, y, expected;  // of the elements; index, operand and expected value of each iteration
};

uint64_t updated(const Loop &l, size_t i, uint64_t old) {
  if (l.op == Op::atomic_xchg) return l.y[i];
  if (l.op == Op::atomic_cas) return old == l.expected[i] ? l.y[i] : old;
  return ir::fold(plain_of(l.op), l.type, l.type, old, l.y[i]).value();
}

std::string check_chain(const Loop &l, const Bits &old, const Bits &last) {
  std::vector<Bits> found(l.first.size()), left(l.first.size());
  for (size_t e = 0; e < l.first.size(); ++e) found[e] = {last[e]}, left[e] = {l.first[e]};
  for (size_t i = 0; i < l.y.size(); ++i) {
    found[l.at[i]].push_back(old[i]);
    left[l.at[i]].push_back(updated(l, i, old[i]));
  }
  for (size_t e = 0; e < l.first.size(); ++e) {
    std::sort(found[e].begin(), found[e].end());
    std::sort(left[e].begin(), left[e].end());
    const auto differ = std::mismatch(found[e].begin(), found[e].end(), left[e].begin());
    if (differ.first != found[e].end())
      return "element " + std::to_string(e) + ": the values that were found and those that were left differ, at " +
             ir::testing::show_value(l.type, *differ.first) + " and " + ir::testing::show_value(l.type, *differ.second);
  }
  return "";
}

std::string run_one(Bench &b, Op op, Type t, Type index, size_t elements, bool keep) {
  const ir::Unit u = unit_of(text(op, t, index, keep));
  if (b.load_only) return b.plugin.load(u), "";
  Loop l{op, t, operands(op, t, elements, 4), Bits(n), operands(op, t, n, 5), operands(op, t, n, 6)};
  for (size_t i = 0; i < n; ++i) l.at[i] = elements == n ? n - 1 - i : (i * 7919) % elements;
  Memory m;
  const auto bind = [&m](const char *name, Type of, const Bits &v) {
    m.arrays[name] = {of, {int64_t(v.size())}, pack(of, v)};
  };
  bind("x", t, l.first), bind("at", index, l.at), bind("y", t, l.y), bind("e", t, l.expected), bind("old", t, Bits(n));
  Memory expected = m;
  b.plugin.run({u}, m);
  const Bits last = unpack(t, m.arrays["x"].bytes);
  if (keep) return check_chain(l, unpack(t, m.arrays["old"].bytes), last);
  b.reference.run({u}, expected);
  const Bits want = unpack(t, expected.arrays["x"].bytes);
  for (size_t e = 0; e < elements; ++e)
    if (last[e] != want[e])
      return "element " + std::to_string(e) + ": found " + ir::testing::show_value(t, last[e]) + ", reference " +
             ir::testing::show_value(t, want[e]);
  return "";
}

}  // namespace

void run_atomics(Bench &b) {
  for (uint16_t k = 0; k < uint16_t(Op::count); ++k) {
    const Op op = Op(k);
    const auto &row = ir::info(op);
    if (!(row.flags & ir::Atomic)) continue;
    // Which exchange comes last is open, and which comparisons fail: without old values there is nothing to compare,
    // except where each element has one update.
    const bool ordered = op == Op::atomic_xchg || op == Op::atomic_cas;
    for (const Type t : all_types) {
      if (!in_class(row.operands, t)) continue;
      for (const size_t elements : {size_t(1), size_t(61), n})
        for (const bool keep : {true, false}) {
          if (ordered && !keep && elements != n) continue;
          const Type index = elements == 61 ? Type::i64 : Type::i32;
          const std::string name = std::to_string(elements) + (elements == 1 ? " element" : " elements") +
                                   (keep ? ", old values kept" : "");
          b.enter(op, t, name, [&] { return run_one(b, op, t, index, elements, keep); });
        }
    }
  }
}

}  // namespace qd::conformance

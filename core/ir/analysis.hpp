// analysis.hpp: what canonical() must know of one function before it writes it anew: which records have a use, what a
// value is apart from its number, and where it belongs. Everything is one array per fact, indexed by record, filled by
// forward or backward sweeps, so the cost is linear in the code (times the nesting depth where regions are climbed).
// Private to core/ir.
#pragma once
#include "core/ir/func.hpp"

namespace qd::ir {

// Mixes `x` into the running hash `h`.
constexpr uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
  return h ^ h >> 32;
}

constexpr bool is_pure(Op op) { return info(op).effect == Effect::Pure; }
// Pure and made of nothing that is computed: constants and arguments. `axis` depends on the region that it stands in.
constexpr bool is_leaf(Op op) { return op == Op::const_ || op == Op::arg || op == Op::shape || op == Op::farg; }
// A region that may run its body more than once.
constexpr bool repeats(Op op) { return op == Op::parallel || (info(op).flags & Loopy); }

struct Analysis {
  explicit Analysis(const Func &f);  // structure, uses, sharing of leaves, sequence numbers

  // `colour[p]` stands for parameter p. Fills `key`: equal for equal computations, whatever their records' numbers.
  void compute_keys(const std::vector<uint64_t> &colour);
  // Adds to `sum[p]` a hash of every place where parameter p is named; `salt` tells functions apart. Needs keys.
  void add_param_uses(std::vector<uint64_t> &sum, uint64_t salt) const;
  void mark_used_params(std::vector<char> &used) const;  // those that a live record names
  // Fills `first_pure` and `next_pure`. Needs keys.
  void place();

  Val end_of_chain(Val v) const;
  // Operands of v that are records: those of its `operand` records first, then its own. `use(value, position)`; the
  // operands of a commutative operation share a position and come in the order of their keys.
  template <class F>
  void each_operand(Val v, F use) const;
  uint32_t taken(Val v) const;  // number of `operand` records in front of v

  const Func &f;
  std::vector<char> live, unreachable;
  std::vector<char> decided;  // a `when` of a constant: the arm that runs stands in its place
  std::vector<Val> region;    // opener of the region that a record stands in, no_val at the top
  std::vector<Val>
      head;  // of a closer: the first opener of the region (of `other` too: its `when`); of all else: itself
  std::vector<Val> twin;           // of a leaf: the first live leaf that is equal; of all else: itself
  std::vector<uint32_t> sequence;  // of a live record with an effect: how many such stand before it
  std::vector<uint64_t> key;
  std::vector<Val> first_pure;  // of a record with an effect: the first pure value to be written right before it
  std::vector<Val> next_pure;   // of a pure value: the one to be written after it

 private:
  void scan();
  void mark_live();
  void mark(Val v, std::vector<Val> &work);
  void share_leaves();
  void find_homes();
  void find_places();
  void demand(Val v, Val effect);
  void attach(Val v, Val effect);
  uint32_t depth(Val r) const { return r == no_val ? 0 : depth_[r]; }
  Val common(Val a, Val b) const;

  std::vector<uint32_t> depth_;            // of an opener's body
  std::vector<Val> barrier_;               // innermost arm of a `when` around a record
  std::vector<Val> parallel_;              // the enclosing parallel
  std::vector<Val> first_dep_, next_dep_;  // writers of a variable or array, leaves of a label: live when it is
  std::vector<Val> home_;                  // outermost region where a value can stand
  std::vector<Val> place_;                 // region where it will stand
  std::vector<Val> last_pure_;
  std::vector<char> visited_;
};

template <class F>
void Analysis::each_operand(Val v, F use) const {
  const OpInfo &o = info(f.code[v].op);
  uint32_t position = 4;
  if (o.flags & Takes)
    for (Val t = v - taken(v); t < v; ++t)
      for (const Val a : f.code[t].arg)
        if (a != no_val) use(twin[a], position++);
  const auto &arg = f.code[v].arg;
  if (o.flags & Comm) {
    Val x = twin[arg[0]], y = twin[arg[1]];
    if (key[y] < key[x]) std::swap(x, y);
    use(x, 0u), use(y, 0u);
    return;
  }
  for (size_t k = 0; k < o.sig.size(); ++k)
    if (names_record(o.sig[k])) use(twin[arg[k]], uint32_t(k));
}

}  // namespace qd::ir

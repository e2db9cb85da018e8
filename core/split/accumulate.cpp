// accumulate.cpp: one scan over each parallel loop with the values that each shared variable is known to hold. The
// Builder forwards assigned values, so of `t += a; t += b` the second set is op(value of the first, b): values count,
// not records. The pairing of an operation with its atomic is by name in the tables (`add`, `atomic_add`).
#include "core/split/accumulate.hpp"

#include <algorithm>
#include <string>

namespace qd::split {
namespace {

Op atomic_of(Op op) {
  if (!(ir::info(op).flags & ir::Comm)) return Op::count;
  for (uint16_t k = 0; k < uint16_t(Op::count); ++k)
    if (ir::info(Op(k)).name.starts_with("atomic_") && ir::info(Op(k)).name.substr(7) == ir::info(op).name)
      return Op(k);
  return Op::count;
}

struct Holds {  // element `index` (no_val for variables) of `home` is `value`
  Val home, index, value;
};

// Whether casting x and then updating is what casting the updated value means: among floats up to a rounding, among
// integers where the low bits of a result depend on low bits alone.
bool casts_alike(Op atomic, ir::Type wide, ir::Type type) {
  if (ir::is_float(wide) != ir::is_float(type)) return false;
  return ir::is_float(type) || (atomic != Op::atomic_min && atomic != Op::atomic_max && atomic != Op::atomic_umin &&
                                atomic != Op::atomic_umax);
}

class Scan {
 public:
  Scan(std::span<const Inst> code, const Regions &r) : code_(code), r_(r), shared_(code.size()) {
    out_.index.assign(code.size(), no_val);
    for (Val id = 0; id < code.size(); ++id) {
      const Inst &in = code[id];
      if ((in.op == Op::set || in.op == Op::array_set) && code[r.statement[id]].op == Op::parallel &&
          r.parent[in.arg[0]] == no_val)
        shared_[in.arg[0]] = 1;
    }
  }

  Accumulations run() {
    for (Val id = 0; id < code_.size(); ++id) {
      if (code_[r_.statement[id]].op != Op::parallel) continue;
      const auto flags = ir::info(code_[id].op).flags;
      if (flags & ir::Closes) leave(code_[id].op == Op::other);
      if (flags & ir::Opens && code_[id].op != Op::other) enter(flags & ir::Loopy || code_[id].op == Op::parallel);
      touch(id);
    }
    return std::move(out_);
  }

 private:
  struct Open {
    std::vector<Holds> before;  // known when it was opened
    std::vector<Val> assigned;  // in any branch
  };

  void enter(bool repeats) {
    open_.push_back({known_, {}});
    if (repeats) known_.clear();
  }
  void leave(bool alternative) {
    Open &o = open_.back();
    known_ = o.before;
    if (alternative) return;
    for (Val h : o.assigned) {
      std::erase_if(known_, [h](const Holds &k) { return k.home == h; });
      if (open_.size() > 1) open_[open_.size() - 2].assigned.push_back(h);
    }
    open_.pop_back();
  }

  bool differ(Val i, Val k) const {  // two constant indices
    return i != no_val && code_[i].op == Op::const_ && code_[k].op == Op::const_ &&
           ir::const_bits(code_[i]) != ir::const_bits(code_[k]);
  }
  bool holds(Val home, Val index, Val value) const {
    return std::any_of(known_.begin(), known_.end(),
                       [&](const Holds &k) { return k.home == home && k.index == index && k.value == value; });
  }

  void touch(Val id) {
    const Inst &in = code_[id];
    const bool element = in.op == Op::array_get || in.op == Op::array_set;
    const bool assigns = in.op == Op::set || in.op == Op::array_set;
    if ((!element && !assigns && in.op != Op::get) || !shared_[in.arg[0]]) return;
    const Val home = in.arg[0], index = element ? in.arg[1] : no_val;
    if (!assigns) return known_.push_back({home, index, id});
    const Val value = in.arg[element ? 2 : 1];
    pair(id, home, index, value);
    std::erase_if(known_, [&](const Holds &k) { return k.home == home && !differ(k.index, index); });
    known_.push_back({home, index, value});
    open_.back().assigned.push_back(home);
  }

  bool is_cast(Val value) const { return code_[value].op == Op::cast || code_[value].op == Op::ucast; }

  // The variable's value, or that cast to another type.
  bool holds_cast(Val home, Val index, Val value) const {
    return holds(home, index, value) || (is_cast(value) && holds(home, index, code_[value].arg[0]));
  }

  void pair(Val set, Val home, Val index, Val value) {
    if (holds(home, index, value)) return add(set, {});
    const Val set_value = value;
    const bool cast = is_cast(value);  // of `v = T(W(v) op x)`: mixed types in the program
    if (cast) value = code_[value].arg[0];
    const Inst &op = code_[value];
    if (!cast && op.op == Op::not_ && holds(home, index, op.arg[0])) return add(set, {Op::atomic_xor, no_val, false});
    if (ir::info(op.op).sig != "vv") return;
    const auto is = [&](Val v) { return cast ? holds_cast(home, index, v) : holds(home, index, v); };
    const bool first = is(op.arg[0]);
    if (!first && !is(op.arg[1])) return;
    const bool minus = op.op == Op::sub && first;
    const Op atomic = minus ? Op::atomic_add : atomic_of(op.op);
    if (atomic == Op::count || ir::info(op.op).result != ir::Result::Same) return;
    if (cast && !casts_alike(atomic, op.type, code_[set_value].type)) return;
    add(set, {atomic, op.arg[first ? 1 : 0], minus, cast});
  }
  void add(Val set, const Accumulation &a) {
    out_.index[set] = uint32_t(out_.found.size());
    out_.found.push_back(a);
  }

  std::span<const Inst> code_;
  const Regions &r_;
  std::vector<char> shared_;
  std::vector<Holds> known_;
  std::vector<Open> open_;
  Accumulations out_;
};

}  // namespace

Accumulations find_accumulations(std::span<const Inst> code, const Regions &r) { return Scan(code, r).run(); }

}  // namespace qd::split

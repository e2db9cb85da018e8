// cut.cpp: segments are visited last to first, so that when a segment is made it is known which of its values later
// ones load. What a segment needs is found by demand from its effects; commutative operands are visited in the order of
// their structural keys. So the order of the loads at the start of a task depends on the task alone.
#include "core/split/cut.hpp"

#include <algorithm>

#include "core/split/copy.hpp"
#include "core/split/split.hpp"
#include "core/support/error.hpp"

namespace qd::split {
namespace {

constexpr uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

bool pure(const Inst &in) { return ir::info(in.op).effect == ir::Effect::Pure; }

bool has_effect(const Inst &in) {  // beyond the task's own variables
  return ir::info(in.op).effect == ir::Effect::Write && in.op != Op::set && in.op != Op::array_set;
}

class Cutter {
 public:
  explicit Cutter(const ir::Unit &u)
      : u_(u),
        code_(u.code()),
        r_(regions_of(code_)),
        s_(segments_of(code_, r_)),
        crossing_(crossing_of(u, r_)),
        wanted_(code_.size()),
        visited_(code_.size(), no_val),
        map_(code_.size(), no_val) {}

  std::vector<Piece> run() {
    std::vector<Piece> out;
    for (uint32_t s = uint32_t(s_.parallel.size()); s-- > 0;) {
      collect(s);
      if (!roots_.empty()) out.push_back(make(s));
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  Val end_of(uint32_t s) const { return s + 1 < s_.first.size() ? s_.first[s + 1] : Val(code_.size()); }
  bool outer(Val v) const { return r_.parent[v] == no_val; }

  void collect(uint32_t s);
  void demand(Val root, uint32_t s);
  Piece make(uint32_t s);

  const ir::Unit &u_;
  const std::vector<Inst> &code_;
  const Regions r_;
  const Segments s_;
  const Crossing crossing_;
  std::vector<char> wanted_;       // a later segment loads it
  std::vector<uint32_t> visited_;  // segment that last visited the record
  std::vector<Val> roots_;         // of the segment being made: records with an effect, values that are stored
  std::vector<Val> loaded_;        // values that it loads, in order
  std::vector<Val> rebuilt_;       // pure records of depth 0 that it rebuilds
  std::vector<Val> stack_;
  std::vector<Val> map_;  // record of the kernel to record of the segment being made
};

// Roots of segment s and all that they need. Records inside of regions are all copied; of depth 0 what has an effect
// is, and pure records only on demand.
void Cutter::collect(uint32_t s) {
  roots_.clear(), loaded_.clear(), rebuilt_.clear();
  for (Val id = s_.first[s]; id < end_of(s); ++id)
    if (!(outer(id) && pure(code_[id])) || wanted_[id]) roots_.push_back(id);
  const bool effect =
      std::any_of(roots_.begin(), roots_.end(), [&](Val id) { return wanted_[id] || has_effect(code_[id]); });
  if (!effect) return roots_.clear();
  for (Val id : roots_)
    if (!pure(code_[id]) || wanted_[id]) demand(id, s);
}

void Cutter::demand(Val root, uint32_t s) {
  stack_.assign(1, root);
  while (!stack_.empty()) {
    const Val v = stack_.back();
    stack_.pop_back();
    if (visited_[v] == s) continue;
    visited_[v] = s;
    if (outer(v) && v != root) {
      if (crossing_.travels[v] && s_.of[v] != s) {
        loaded_.push_back(v);
        wanted_[v] = 1;
        continue;
      }
      if (pure(code_[v])) rebuilt_.push_back(v);
      else QD_ASSERT(s_.of[v] == s);
    } else if (outer(v) && pure(code_[v])) {
      rebuilt_.push_back(v);
    }
    Val uses[3];
    size_t n = 0;
    each_use(code_[v], [&](Val x, size_t) { uses[n++] = x; });
    if (n == 2 && ir::info(code_[v].op).flags & ir::Comm && crossing_.shape[uses[1]] < crossing_.shape[uses[0]])
      std::swap(uses[0], uses[1]);
    while (n > 0) stack_.push_back(uses[--n]);
  }
}

Piece Cutter::make(uint32_t s) {
  ir::Builder b;
  Piece piece;
  piece.parallel = s_.parallel[s];
  std::vector<uint32_t> number(u_.params.size(), no_val);
  const auto param = [&](uint32_t p) {
    if (number[p] == no_val) {
      number[p] = b.param(u_.params[p], p < u_.debug.params.size() ? u_.debug.params[p] : std::string());
      piece.params.push_back({false, p});
    }
    return number[p];
  };
  const auto slot = [&](Val v) {
    piece.params.push_back({true, v});
    return b.param({QD_PARAM_BUFFER, code_[v].type, 0, QD_ALIAS_SCRATCH, 1});
  };
  FunctionCopier functions(b, u_, param);
  const auto value = [&](Val v) { return map_[v]; };
  const Renaming to{value, param, [&](uint32_t f) { return functions.number(f); }};

  for (Val v : loaded_) {
    const uint32_t p = slot(v);
    map_[v] = b.emit(Op::load, code_[v].type, {p, b.constant(ir::Type::i32, 0), 0});
  }
  std::sort(rebuilt_.begin(), rebuilt_.end());
  for (Val v : rebuilt_)
    if (v < s_.first[s]) map_[v] = copy_record(b, code_[v], to);
  for (Val id = s_.first[s]; id < end_of(s); ++id) {
    if (visited_[id] != s) continue;
    map_[id] = copy_entry_record(b, u_, id, to);
    if (!wanted_[id]) continue;
    const uint32_t p = slot(id);
    b.emit(Op::store, ir::Type::none, {p, b.constant(ir::Type::i32, 0), map_[id]});
  }
  piece.unit = std::move(b).finish(u_.debug.name);
  return piece;
}

}  // namespace

Crossing crossing_of(const ir::Unit &u, const Regions &r) {
  const auto &code = u.code();
  Crossing c{std::vector<char>(code.size()), std::vector<uint64_t>(code.size())};
  std::vector<uint32_t> chain(code.size());  // pure records down to the next value that travels, counted as a tree
  for (Val id = 0; id < code.size(); ++id) {
    const Inst &in = code[id];
    const auto &row = ir::info(in.op);
    uint64_t h = mix(uint64_t(in.op) << 8 | uint64_t(in.type), row.sig.size()), commuting = 0;
    uint32_t n = row.sig.empty() || row.sig[0] == 'k' || row.sig[0] == 's' || row.sig[0] == 'p' ? 0 : 1;
    for (size_t i = 0; i < row.sig.size(); ++i) {
      const uint32_t a = in.arg[i];
      if (ir::names_record(row.sig[i])) {
        if (a == no_val) continue;
        if (row.flags & ir::Comm) commuting += mix(7, c.shape[a]);
        else h = mix(h, c.shape[a]);
        n = std::min(n + (c.travels[a] ? 0 : chain[a]), longest_rebuilt_chain + 1);
      } else if (row.sig[i] == 'p' || row.sig[i] == 's') {
        const ir::Param &p = u.params[a];
        h = mix(h, uint64_t(p.kind) << 24 | uint64_t(p.type) << 16 | uint64_t(p.rank) << 8 | p.alias);
      } else if (in.op != Op::call) {  // functions are numbered by the kernel
        h = mix(h, a);
        if (row.sig[i] == 'k') h = mix(h, in.arg[1]);
      }
    }
    const bool outer = r.parent[id] == no_val, effect = row.effect != ir::Effect::Pure;
    chain[id] = n;
    c.travels[id] = outer && in.type != ir::Type::none && in.op != Op::var && in.op != Op::array &&
                    in.op != Op::parallel && !(row.flags & ir::Opens) && (effect || n > longest_rebuilt_chain);
    c.shape[id] = c.travels[id] ? mix(1, uint64_t(in.type)) : mix(h, commuting);
  }
  return c;
}

std::vector<Piece> cut(const ir::Unit &resolved) { return Cutter(resolved).run(); }

}  // namespace qd::split

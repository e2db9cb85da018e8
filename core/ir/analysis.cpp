// analysis.cpp: see analysis.hpp. Reachability and liveness come first, so that nothing that is dropped can have a say
// in how the rest is numbered; then keys; then places, each found from the uses of a value and never from where it was
// written, except that a value written inside an arm of a `when` stays there.
#include "core/ir/analysis.hpp"

#include <algorithm>

namespace qd::ir {

Analysis::Analysis(const Func &fn) : f(fn) {
  const size_t n = f.code.size();
  live.assign(n, 0), unreachable.assign(n, 0), decided.assign(n, 0);
  for (auto *v : {&region, &head, &twin, &barrier_, &parallel_, &first_dep_, &next_dep_}) v->assign(n, no_val);
  depth_.assign(n, 0), sequence.assign(n, 0), key.assign(n, 0);
  scan();
  mark_live();
  share_leaves();
  uint32_t count = 0;
  for (Val v = 0; v < n; ++v)
    if (live[v] && !is_pure(f.code[v].op)) sequence[v] = count++;
}

void Analysis::mark_used_params(std::vector<char> &used) const {
  for (Val v = 0; v < f.code.size(); ++v) {
    const auto sig = info(f.code[v].op).sig;
    if (live[v] && !sig.empty() && (sig[0] == 'p' || sig[0] == 's')) used[f.code[v].arg[0]] = 1;
  }
}

uint32_t Analysis::taken(Val v) const {
  uint32_t count = 0;
  while (count < v && f.code[v - count - 1].op == Op::operand) ++count;
  return count;
}

void Analysis::scan() {
  struct Open {
    Val opener;
    bool left;  // a `leave` stands before: the rest of the region cannot be reached
  };
  std::vector<Open> open;
  for (Val v = 0; v < f.code.size(); ++v) {
    const Inst &i = f.code[v];
    const OpInfo &o = info(i.op);
    twin[v] = v;
    head[v] = v;
    if (o.flags & Closes) {
      head[v] = head[open.back().opener];
      open.pop_back();
    }
    const Val here = open.empty() ? no_val : open.back().opener;
    region[v] = here;
    unreachable[v] = !open.empty() && open.back().left;
    parallel_[v] = open.empty() || f.code[open[0].opener].op != Op::parallel ? no_val : open[0].opener;
    const bool arm = here != no_val && (f.code[here].op == Op::when || f.code[here].op == Op::other);
    barrier_[v] = arm ? here : here == no_val ? no_val : barrier_[here];
    auto depend = [&](Val on) { next_dep_[v] = first_dep_[on], first_dep_[on] = v; };
    if (!unreachable[v] && (i.op == Op::set || i.op == Op::array_set)) depend(i.arg[0]);
    if (i.op == Op::leave) {
      size_t k = open.size(), label = i.arg[0] + size_t(1);
      while (k > 0 && label > 0) label -= (info(f.code[open[--k].opener].op).flags & Label) != 0;
      if (!unreachable[v]) depend(open[k].opener);
      open.back().left = true;
    }
    if (!(o.flags & Opens)) continue;
    const Inst &when = f.code[head[v]];
    const bool constant = when.op == Op::when && f.code[when.arg[0]].op == Op::const_;
    decided[v] = constant && i.op == Op::when;
    const bool never = constant && (const_bits(f.code[when.arg[0]]) != 0) == (i.op == Op::other);
    open.push_back({v, unreachable[v] || never});
    depth_[v] = uint32_t(open.size());
  }
}

void Analysis::mark(Val v, std::vector<Val> &work) {
  if (live[v]) return;
  live[v] = 1;
  work.push_back(v);
}

// A variable is needed when it is read, and then so is every write to it; a region is needed for the effects in it, and
// then so is every `leave` that ends it early.
void Analysis::mark_live() {
  std::vector<Val> work;
  for (Val v = 0; v < f.code.size(); ++v) {
    const Op op = f.code[v].op;
    const bool root = (info(op).effect == Effect::Write && op != Op::set && op != Op::array_set) || op == Op::ret;
    if (root && !unreachable[v]) mark(v, work);
  }
  while (!work.empty()) {
    const Val v = work.back();
    work.pop_back();
    const Op op = f.code[v].op;
    if (region[v] != no_val) mark(region[v], work);
    if (op == Op::other) mark(head[v], work);
    if (info(op).flags & Takes)
      for (Val t = v - taken(v); t < v; ++t) {
        live[t] = 1;
        for (const Val a : f.code[t].arg)
          if (a != no_val) mark(a, work);
      }
    const auto sig = info(op).sig;
    for (size_t k = 0; k < sig.size(); ++k)
      if (names_record(sig[k])) mark(f.code[v].arg[k], work);
    if (op == Op::axis) mark(parallel_[v], work);
    for (Val d = first_dep_[v]; d != no_val; d = next_dep_[d]) mark(d, work);
  }
}

void Analysis::share_leaves() {
  std::vector<Val> table(256, no_val);
  size_t filled = 0;
  auto slot_of = [&](const Inst &i) {
    uint64_t h = mix(uint64_t(i.op) << 8 | uint64_t(i.type), i.arg[0] | uint64_t(i.arg[1]) << 32);
    size_t slot = h & (table.size() - 1);
    while (table[slot] != no_val && !(f.code[table[slot]] == i)) slot = (slot + 1) & (table.size() - 1);
    return slot;
  };
  for (Val v = 0; v < f.code.size(); ++v) {
    if (!live[v] || !is_leaf(f.code[v].op)) continue;
    Val &first = table[slot_of(f.code[v])];
    if (first != no_val) {
      twin[v] = first;
      continue;
    }
    first = v;
    if (++filled * 2 < table.size()) continue;
    const std::vector<Val> old = std::move(table);
    table.assign(old.size() * 2, no_val);
    for (const Val t : old)
      if (t != no_val) table[slot_of(f.code[t])] = t;
  }
}

void Analysis::compute_keys(const std::vector<uint64_t> &colour) {
  for (Val v = 0; v < f.code.size(); ++v) {
    if (!live[v] || twin[v] != v) continue;
    const Inst &i = f.code[v];
    if (!is_pure(i.op)) {  // effects keep their order, so their number is their identity
      key[v] = mix(0x51ed270b, sequence[v]);
      continue;
    }
    const auto sig = info(i.op).sig;
    uint64_t h = mix(uint64_t(i.op) << 8 | uint64_t(i.type), i.op == Op::axis ? sequence[parallel_[v]] + 1 : 0);
    for (size_t k = 0; k < sig.size(); ++k)
      if (sig[k] == 'k') h = mix(h, const_bits(i));
      else if (sig[k] == 'l') h = mix(h, i.arg[k]);
      else if (!names_record(sig[k])) h = mix(h, colour[i.arg[k]]);
    each_operand(v, [&](Val a, uint32_t) { h = mix(h, key[a]); });
    key[v] = h;
  }
}

void Analysis::add_param_uses(std::vector<uint64_t> &sum, uint64_t salt) const {
  std::vector<uint64_t> context(f.code.size(), 0);  // of a value: a hash of all that is made of it
  for (Val v = Val(f.code.size()); v-- > 0;) {
    const Inst &i = f.code[v];
    if (!live[v] || twin[v] != v || i.op == Op::operand) continue;
    const uint64_t here = mix(mix(key[v], is_pure(i.op) ? context[v] : 0), salt);
    each_operand(v, [&](Val a, uint32_t position) { context[a] += mix(here, position); });
    const auto sig = info(i.op).sig;
    for (size_t k = 0; k < sig.size(); ++k)
      if (sig[k] == 'p' || sig[k] == 's') sum[i.arg[k]] += mix(here, uint64_t(i.op) << 8 | k);
  }
}

Val Analysis::common(Val a, Val b) const {
  while (a != b) {
    Val &deeper = depth(a) >= depth(b) ? a : b;
    deeper = region[deeper];
  }
  return a;
}

void Analysis::find_homes() {
  home_.assign(f.code.size(), no_val);
  for (Val v = 0; v < f.code.size(); ++v) {
    const Op op = f.code[v].op;
    if (!live[v] || is_leaf(op)) continue;
    if (!is_pure(op)) {
      home_[v] = op == Op::loop ? v : region[v];  // an index belongs to the body
      continue;
    }
    home_[v] = op == Op::axis ? parallel_[v] : barrier_[v];
    each_operand(v, [&](Val a, uint32_t) {
      if (depth(home_[a]) > depth(home_[v])) home_[v] = home_[a];
    });
  }
}

// From the innermost region that holds all uses, outward past the outermost repeating region that the value does not
// need.
void Analysis::find_places() {
  std::vector<char> used(f.code.size(), 0);
  place_.assign(f.code.size(), no_val);
  for (Val v = Val(f.code.size()); v-- > 0;) {
    const Op op = f.code[v].op;
    if (!live[v] || twin[v] != v || op == Op::operand) continue;
    Val at = region[v];
    if (is_pure(op)) {
      at = place_[v];
      for (Val r = at; r != home_[v]; r = region[r])
        if (repeats(f.code[r].op)) at = region[r];
      place_[v] = at;
    }
    each_operand(v, [&](Val a, uint32_t) {
      place_[a] = used[a] ? common(place_[a], at) : at;
      used[a] = 1;
    });
  }
}

// Puts v behind the values that are to be written before `effect`, or before the region of v's place that holds
// `effect`.
void Analysis::attach(Val v, Val effect) {
  Val before = effect;
  for (Val r = region[effect]; r != place_[v]; r = region[r]) before = head[r];
  (first_pure[before] == no_val ? first_pure[before] : next_pure[last_pure_[before]]) = v;
  last_pure_[before] = v;
}

// Operands before the values made of them. With a stack of our own: chains get as long as the code.
void Analysis::demand(Val v, Val effect) {
  struct Frame {
    Val v;
    uint32_t next, count;
    Val operand[3];
  };
  std::vector<Frame> stack;
  auto push = [&](Val w) {
    if (visited_[w] || !is_pure(f.code[w].op)) return;
    visited_[w] = 1;
    Frame fr{w, 0, 0, {}};
    each_operand(w, [&](Val a, uint32_t) { fr.operand[fr.count++] = a; });
    stack.push_back(fr);
  };
  push(v);
  while (!stack.empty()) {
    Frame &top = stack.back();
    if (top.next < top.count) {
      push(top.operand[top.next++]);
      continue;
    }
    attach(top.v, effect);
    stack.pop_back();
  }
}

void Analysis::place() {
  find_homes();
  find_places();
  for (auto *v : {&first_pure, &next_pure, &last_pure_}) v->assign(f.code.size(), no_val);
  visited_.assign(f.code.size(), 0);
  for (Val v = 0; v < f.code.size(); ++v)
    if (live[v] && !is_pure(f.code[v].op) && f.code[v].op != Op::operand)
      each_operand(v, [&](Val a, uint32_t) { demand(a, v); });
}

}  // namespace qd::ir

// builder.cpp: appending records. Equal pure values are found through one open-addressing table per function whose
// slots hold value numbers; the records are the keys. Closing a region forgets what was made in it by emptying slots in
// the reverse order of filling them, which leaves a linear-probing table exactly as it was when the region opened: no
// tombstones, no copies.
#include "core/ir/builder.hpp"

#include <algorithm>
#include <cstring>

#include "core/ir/rules.hpp"
#include "core/support/error.hpp"

namespace qd::ir {
namespace {

uint64_t hash_of(const Inst &i) {
  uint64_t lo, hi;
  static_assert(sizeof(Inst) == 16);
  std::memcpy(&lo, &i, 8);
  std::memcpy(&hi, reinterpret_cast<const char *>(&i) + 8, 8);
  // Constants differ in their upper bits only (round floats), so those must reach the bits that pick a slot.
  uint64_t h = (lo ^ hi * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
  h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
  return h >> 32;
}

// What is known of a variable: the value last assigned, while `epoch` is still the function's.
struct Known {
  Val var, value;
  uint32_t epoch;
};

struct Made {
  Val value;
  uint32_t slot;
};

// The part of a function that matters only while it is built.
struct Growing {
  std::vector<Val> table = std::vector<Val>(256, no_val);
  std::vector<Made> made;        // filled slots, in order
  std::vector<uint32_t> scopes;  // size of `made` when each open region opened
  std::vector<Known> known;      // in ascending order of `var`
  uint32_t epoch = 0;

  void forget(uint32_t size) {
    for (; made.size() > size; made.pop_back()) table[made.back().slot] = no_val;
  }
  uint32_t free_slot(const Inst &i) const {
    const uint32_t mask = uint32_t(table.size() - 1);
    uint32_t slot = uint32_t(hash_of(i)) & mask;
    while (table[slot] != no_val) slot = (slot + 1) & mask;
    return slot;
  }
  void grow(const std::vector<Inst> &code) {
    table.assign(table.size() * 2, no_val);
    for (Made &m : made) table[m.slot = free_slot(code[m.value])] = m.value;
  }
  Known *find(Val var) {
    auto it = std::lower_bound(known.begin(), known.end(), var, [](const Known &k, Val v) { return k.var < v; });
    return it != known.end() && it->var == var ? &*it : nullptr;
  }
};

}  // namespace

struct Builder::State {
  Unit unit;
  std::vector<Growing> growing;  // one per function
  std::vector<uint32_t> open;    // functions, the current one last
  uint32_t rewrites = 0;
  Val parallel = no_val;  // the last one of the entry

  std::vector<Inst> &code() { return unit.funcs[open.back()].code; }
  Growing &grow() { return growing[open.back()]; }

  Val append(const Inst &i);
  Val share(const Inst &i);
  void enter_region(Op op);
  Val track_variable(const Inst &i);  // the value of a `get`, when it is known
};

Val Builder::State::append(const Inst &i) {
  code().push_back(i);
  return Val(code().size() - 1);
}

Val Builder::State::share(const Inst &i) {
  Growing &g = grow();
  const auto &records = code();
  const uint32_t mask = uint32_t(g.table.size() - 1);
  uint32_t slot = uint32_t(hash_of(i)) & mask;
  for (; g.table[slot] != no_val; slot = (slot + 1) & mask)
    if (records[g.table[slot]] == i) return ++rewrites, g.table[slot];
  const Val v = append(i);
  g.table[slot] = v;
  g.made.push_back({v, slot});
  if (g.made.size() * 2 > g.table.size()) g.grow(records);
  return v;
}

// Scopes of the sharing table, and the end of what is known of variables: a body may run again or not at all. Entering
// a `when` or `block` keeps it, because nothing else leads there.
void Builder::State::enter_region(Op op) {
  Growing &g = grow();
  const auto flags = info(op).flags;
  if (flags & Closes) {
    QD_ASSERT(!g.scopes.empty());
    g.forget(g.scopes.back());
    g.scopes.pop_back();
  }
  if (flags & Opens) g.scopes.push_back(uint32_t(g.made.size()));
  if (op != Op::when && op != Op::block) ++g.epoch;
}

// Remembers what was assigned to a variable and answers a `get` from it. An earlier `get` is no such answer: whether
// one stands before, unused and soon dropped, must not show in where the variable is read. Variables of the kernel's
// top level are left alone: split must see each of their reads, since a parallel body that updates one is made atomic
// there.
Val Builder::State::track_variable(const Inst &i) {
  Growing &g = grow();
  if (i.op == Op::var) {
    if (open.size() > 1 || !g.scopes.empty()) g.known.push_back({Val(code().size()), i.arg[0], g.epoch});
    return no_val;
  }
  Known *k = g.find(i.arg[0]);
  if (!k) return no_val;
  if (i.op == Op::set) {
    k->value = i.arg[1], k->epoch = g.epoch;
    return no_val;
  }
  return k->epoch == g.epoch ? ++rewrites, k->value : no_val;
}

Builder::Builder() : s_(std::make_unique<State>()) { open_function(0, 0); }
Builder::~Builder() = default;
Builder::Builder(Builder &&) noexcept = default;
Builder &Builder::operator=(Builder &&) noexcept = default;

uint32_t Builder::param(const Param &p, std::string name) {
  s_->unit.params.push_back(p);
  s_->unit.debug.params.push_back(std::move(name));
  return uint32_t(s_->unit.params.size() - 1);
}

Val Builder::emit(Op op, Type type, std::array<uint32_t, 3> arg) {
  const OpInfo &o = info(op);
  const auto &code = s_->code();
  if (o.result == Result::Bool) type = Type::b1;
  if (o.result == Result::None) type = Type::none;
  if (o.result == Result::Same && type == Type::none) type = code[arg[o.sig[0] == 'c' ? 1 : 0]].type;
  if (op == Op::const_) {
    const uint64_t bits = (arg[0] | uint64_t(arg[1]) << 32) & width_mask(type);
    return s_->share({op, type, 0, {uint32_t(bits), uint32_t(bits >> 32), 0}});
  }
  if (o.effect == Effect::Pure && (o.sig[0] == 'v' || o.sig[0] == 'c')) {
    const Inst &x = code[arg[0]], &y = code[o.sig.size() == 2 ? arg[1] : arg[0]];
    if (x.op == Op::const_ && y.op == Op::const_ && o.sig[0] == 'v')
      if (const auto bits = fold(op, x.type, type, const_bits(x), const_bits(y)))
        return ++s_->rewrites, constant(type, *bits);
    if (const Val v = simplify(*this, op, type, arg); v != no_val) return ++s_->rewrites, v;
    if (o.flags & Comm && arg[1] < arg[0]) std::swap(arg[0], arg[1]);
  }
  const Inst i{op, type, 0, arg};
  if (o.effect == Effect::Pure) return s_->share(i);
  if (o.flags & (Opens | Closes)) s_->enter_region(op);
  if (op == Op::parallel) s_->parallel = Val(code.size());
  if (op == Op::var || op == Op::get || op == Op::set)
    if (const Val known = s_->track_variable(i); known != no_val) return known;
  return s_->append(i);
}

Val Builder::emit_taking(Op op, Type type, std::span<const Val> taken, std::array<uint32_t, 3> arg) {
  for (size_t i = 0; i < taken.size(); i += 3) {
    std::array<uint32_t, 3> three{no_val, no_val, no_val};
    std::copy_n(taken.begin() + ptrdiff_t(i), std::min<size_t>(3, taken.size() - i), three.begin());
    s_->append({Op::operand, Type::none, 0, three});
  }
  return emit(op, type, arg);
}

Val Builder::constant(Type type, uint64_t bits) {
  return emit(Op::const_, type, {uint32_t(bits), uint32_t(bits >> 32), 0});
}

template <class T>
Val Builder::constant_of(Type type, T v) {
  return constant(type, convert_constant(type, v));
}
template Val Builder::constant_of<int64_t>(Type, int64_t);
template Val Builder::constant_of<double>(Type, double);

Type Builder::type_of(Val v) const { return s_->code()[v].type; }
const Inst &Builder::at(Val v) const { return s_->code()[v]; }

bool Builder::constant_value(Val v, uint64_t &bits) const {
  const Inst &i = s_->code()[v];
  if (i.op != Op::const_) return false;
  bits = const_bits(i);
  return true;
}

uint32_t Builder::open_function(uint32_t n_args, uint32_t n_results) {
  const uint32_t number = uint32_t(s_->unit.funcs.size());
  s_->unit.funcs.push_back({{}, n_args, n_results});
  s_->growing.emplace_back();
  s_->open.push_back(number);
  return number;
}

void Builder::close_function() {
  QD_ASSERT(s_->open.size() > 1 && s_->grow().scopes.empty());
  s_->grow() = Growing();
  s_->open.pop_back();
}

uint32_t Builder::block_size() const {
  return s_->parallel == no_val ? 0 : s_->unit.funcs[0].code[s_->parallel].arg[1];
}
void Builder::set_block_size(uint32_t n) {
  QD_ASSERT(s_->parallel != no_val);
  s_->unit.funcs[0].code[s_->parallel].arg[1] = n;
}

Loop &Builder::loop() {
  QD_ASSERT(s_->parallel != no_val);
  return s_->unit.debug.loops[s_->parallel];
}

uint32_t Builder::depth() const { return uint32_t(s_->grow().scopes.size()); }
uint32_t Builder::rewrites() const { return s_->rewrites; }
const Unit &Builder::unit() const { return s_->unit; }

Unit Builder::finish(std::string name) && {
  QD_ASSERT(s_->open.size() == 1 && s_->grow().scopes.empty());
  s_->unit.debug.name = std::move(name);
  return std::move(s_->unit);
}

}  // namespace qd::ir

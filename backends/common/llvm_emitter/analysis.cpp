// analysis.cpp: see analysis.hpp. All of it is linear in the task but for short walks over index expressions, whose
// depth is capped: an answer of "don't know" only costs speed.
#include "backends/common/llvm_emitter/analysis.hpp"

#include <algorithm>

namespace qd::llvm_emitter {

using view::field;
using view::info;
using view::Op;
using view::op_of;
using view::Type;
using view::type_of;

namespace {

constexpr int max_walk = 12;

int64_t signed_bits(const QdInst &k) {
  const uint64_t bits = view::const_bits(k);
  switch (type_of(k)) {
    case Type::i8: return int8_t(bits);
    case Type::i16: return int16_t(bits);
    case Type::i32: return int32_t(bits);
    default: return int64_t(bits);
  }
}

bool is_atomic(Op op) { return view::has(op, view::Atomic); }
bool is_access(Op op) { return op == Op::load || op == Op::store || op == Op::volatile_load || is_atomic(op); }

bool is_reducible(Op op, Type t) {
  switch (op) {
    case Op::atomic_add:
    case Op::atomic_mul:
    case Op::atomic_min:
    case Op::atomic_max: return t != Type::b1;
    case Op::atomic_umin:
    case Op::atomic_umax:
    case Op::atomic_and:
    case Op::atomic_or:
    case Op::atomic_xor: return true;
    default: return false;
  }
}

}  // namespace

Analysis::Analysis(const view::View &unit, const TargetHooks &hooks) : unit_(unit), par_(unit.parallel()) {
  const uint32_t n = unit.entry().count;
  invariant_.assign(n, 0);
  slot_of_.assign(n, -1);
  exclusive_.assign(n, false);
  touched_elsewhere_.assign(unit.n_params(), false);
  ordered_.assign(unit.n_params(), false);
  group_of_.assign(n, -1);
  for (uint32_t k = 1; k < unit.n_functions(); k++)
    for (uint32_t i = 0; i < unit.function(k).count; i++)
      if (const QdInst &r = unit.function(k).code[i]; is_access(op_of(r))) touched_elsewhere_[r.a] = true;
  count_uses();
  if (par_) {
    // Threads that work together see each other's updates, and each runs for one position at a time.
    if (hooks.max_partials && !unit.threads()) find_partials(hooks.max_partials);
    find_exclusive();
    find_ordered();
    if (hooks.joined_adds && !unit.threads()) find_joined(hooks.joined_adds);
  }
  estimate();
  if (par_ && !unit.threads()) choose_batch();
}

void Analysis::count_uses() {
  const auto &f = unit_.entry();
  uses_.assign(f.count, 0);
  for (uint32_t i = 0; i < f.count; i++) {
    const auto &row = info(op_of(f.code[i]));
    for (uint32_t k = 0; k < row.sig.size(); k++)
      if (view::names_record(row.sig[k]) && field(f.code[i], k) < f.count) uses_[field(f.code[i], k)]++;
  }
}

bool Analysis::constant(uint32_t r, int64_t &v) const {
  if (op_of(at(r)) != Op::const_ || !view::is_int(type_of(at(r)))) return false;
  v = signed_bits(at(r));
  return true;
}

bool Analysis::same_value(uint32_t a, uint32_t b) const {
  if (a == b) return true;
  const QdInst &x = at(a), &y = at(b);
  if (x.op != y.op || x.type != y.type) return false;
  return op_of(x) == Op::const_ || op_of(x) == Op::arg || op_of(x) == Op::shape ? x.a == y.a && x.b == y.b : false;
}

bool Analysis::invariant(uint32_t record) const {
  if (!par_) return false;
  if (invariant_[record]) return invariant_[record] == 1;
  const QdInst &r = at(record);
  const auto &row = info(op_of(r));
  bool yes = row.effect == view::Effect::Pure && op_of(r) != Op::axis;
  if (record < par_->record) yes = row.result != view::Result::None && op_of(r) != Op::var && op_of(r) != Op::array;
  else
    for (uint32_t k = 0; yes && k < row.sig.size(); k++)
      if (view::names_record(row.sig[k])) yes = invariant(field(r, k));
  invariant_[record] = yes ? 1 : 2;
  return yes;
}

std::optional<Interval> Analysis::interval(uint32_t record, int depth) const {
  if (depth > max_walk || record >= unit_.entry().count) return {};
  const QdInst &r = at(record);
  if (!view::is_int(type_of(r))) return {};
  const auto fits = [&](__int128 low, __int128 high) -> std::optional<Interval> {
    const __int128 top = (__int128(1) << (info(type_of(r)).bytes * 8 - 1)) - 1;
    if (low > high || low < -top - 1 || high > top) return {};
    return Interval{int64_t(low), int64_t(high)};
  };
  const auto of = [&](uint32_t v) { return interval(v, depth + 1); };
  int64_t k = 0;
  switch (op_of(r)) {
    case Op::const_: return Interval{signed_bits(r), signed_bits(r)};
    case Op::axis: {
      const auto lo = of(par_->bounds[2 * r.a]), hi = of(par_->bounds[2 * r.a + 1]);
      return lo && hi ? fits(lo->low, __int128(hi->high) - 1) : std::nullopt;
    }
    case Op::loop: {
      const auto lo = of(r.a), hi = of(r.b);
      return lo && hi ? fits(lo->low, __int128(hi->high) - 1) : std::nullopt;
    }
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::min:
    case Op::max: {
      const auto x = of(r.a), y = of(r.b);
      if (!x || !y) return {};
      if (op_of(r) == Op::add) return fits(__int128(x->low) + y->low, __int128(x->high) + y->high);
      if (op_of(r) == Op::sub) return fits(__int128(x->low) - y->high, __int128(x->high) - y->low);
      if (op_of(r) == Op::min) return Interval{std::min(x->low, y->low), std::min(x->high, y->high)};
      if (op_of(r) == Op::max) return Interval{std::max(x->low, y->low), std::max(x->high, y->high)};
      const __int128 p[] = {__int128(x->low) * y->low, __int128(x->low) * y->high, __int128(x->high) * y->low,
                            __int128(x->high) * y->high};
      return fits(*std::min_element(p, p + 4), *std::max_element(p, p + 4));
    }
    case Op::thread: return Interval{0, int64_t(par_->block) - 1};
    case Op::floormod: return constant(r.b, k) && k > 0 ? fits(0, __int128(k) - 1) : std::nullopt;
    case Op::and_: return (constant(r.b, k) || constant(r.a, k)) && k >= 0 ? fits(0, k) : std::nullopt;
    case Op::select: {
      const auto x = of(r.b), y = of(r.c);
      return x && y ? fits(std::min(x->low, y->low), std::max(x->high, y->high)) : std::nullopt;
    }
    case Op::cast: {
      const auto x = of(r.a);
      return x ? fits(x->low, x->high) : std::nullopt;
    }
    default: return {};
  }
}

bool Analysis::may_alias(uint32_t p, uint32_t q) const {
  return p == q || (unit_.param(p).alias == QD_ALIAS_EXTERNAL && unit_.param(q).alias == QD_ALIAS_EXTERNAL);
}

// Updates of one element whose old value nobody asks for may be gathered per chunk, when nothing else in the loop looks
// at that buffer: the order of atomic operations is free.
void Analysis::find_partials(uint32_t max_partials) {
  std::vector<uint8_t> state(unit_.n_params(), 0);  // 1 only reductions so far, 2 something else
  const auto reducible = [&](uint32_t i) {
    const QdInst &r = at(i);
    return is_reducible(op_of(r), Type(unit_.param(r.a).type)) && !uses_[i] && invariant(r.b);
  };
  for (uint32_t i = par_->record + 1; i < par_->end; i++)
    if (const QdInst &r = at(i); is_access(op_of(r))) state[r.a] = state[r.a] == 2 || !reducible(i) ? 2 : 1;
  for (uint32_t i = par_->record + 1; i < par_->end; i++) {
    const QdInst &r = at(i);
    if (!is_atomic(op_of(r)) || state[r.a] != 1 || touched_elsewhere_[r.a]) continue;
    const Slot slot{r.a, r.b, {op_of(r), Type(unit_.param(r.a).type)}};
    const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot &s) {
      return s.param == slot.param && s.what.op == slot.what.op && same_value(s.index, slot.index);
    });
    if (found == slots_.end() && slots_.size() >= max_partials) continue;
    slot_of_[i] = int(found - slots_.begin());
    if (found == slots_.end()) slots_.push_back(slot);
  }
}

// Writes `record * factor` as a sum into `place`. Narrow indices may be taken as mathematical integers (docs/ir.md).
bool Analysis::expand(uint32_t record, int64_t factor, Place &place, int depth) const {
  if (depth > max_walk) return false;
  const QdInst &r = at(record);
  int64_t k = 0, product = 0;
  if (constant(record, k))
    return !__builtin_mul_overflow(k, factor, &product) && !__builtin_add_overflow(place.low, product, &place.low) &&
           !__builtin_add_overflow(place.high, product, &place.high);
  switch (op_of(r)) {
    case Op::add: return expand(r.a, factor, place, depth + 1) && expand(r.b, factor, place, depth + 1);
    case Op::sub:
      return factor != INT64_MIN && expand(r.a, factor, place, depth + 1) && expand(r.b, -factor, place, depth + 1);
    case Op::mul:
      for (const auto &[x, y] : {std::pair(r.a, r.b), std::pair(r.b, r.a)})
        if (constant(y, k)) return !__builtin_mul_overflow(k, factor, &product) && expand(x, product, place, depth + 1);
      break;
    case Op::cast:
      if (view::is_int(type_of(at(r.a))) && info(type_of(at(r.a))).bytes <= info(type_of(r)).bytes)
        return expand(r.a, factor, place, depth + 1);
      break;
    default: break;
  }
  if (op_of(r) != Op::axis && !invariant(record))
    if (const auto range = interval(record)) {  // a local index: part of the rest
      const __int128 a = __int128(range->low) * factor, b = __int128(range->high) * factor;
      const __int128 low = place.low + std::min(a, b), high = place.high + std::max(a, b);
      if (low < INT64_MIN || high > INT64_MAX) return false;
      place.low = int64_t(low), place.high = int64_t(high);
      return true;
    }
  auto same = std::find_if(place.terms.begin(), place.terms.end(), [&](const auto &t) { return t.first == record; });
  if (same != place.terms.end()) same->second += factor;
  else place.terms.emplace_back(record, factor);
  return true;
}

bool Analysis::below(uint32_t record, uint32_t limit) const {
  const QdInst &r = at(record);
  const bool axis = op_of(r) == Op::axis;
  if (!axis && op_of(r) != Op::loop) return false;
  const uint32_t lo = axis ? par_->bounds[2 * r.a] : r.a, hi = axis ? par_->bounds[2 * r.a + 1] : r.b;
  int64_t first = 0;
  return constant(lo, first) && first >= 0 && same_value(hi, limit);
}

// `outer * S + inner` with a stride S that is only known at run time, and inner in [0, S).
bool Analysis::symbolic(uint32_t index, uint64_t &axes, Place &place, int depth) const {
  const QdInst &r = at(index);
  if (op_of(r) != Op::add || depth > max_walk) return false;
  for (const auto &[product, inner] : {std::pair(r.a, r.b), std::pair(r.b, r.a)}) {
    const QdInst &m = at(product);
    if (op_of(m) != Op::mul) continue;
    for (const auto &[outer, stride] : {std::pair(m.a, m.b), std::pair(m.b, m.a)}) {
      if (!invariant(stride) || !below(inner, stride)) continue;
      if (op_of(at(inner)) == Op::axis) axes &= ~(uint64_t(1) << at(inner).a);
      int64_t unit_stride = 0;
      Place rest;
      if (!one_to_one(outer, axes, unit_stride, rest, depth + 1) || rest.low != rest.high) return false;
      place.terms = {{index, 1}};  // comparable only with itself
      return true;
    }
  }
  return false;
}

// True when points of the grid that differ in one of `axes` have different values of `index`, even after any number in
// [place.low - x, place.high - x] was added for a rest that fits below `stride`. Clears the axes that it has accounted
// for.
bool Analysis::one_to_one(uint32_t index, uint64_t &axes, int64_t &stride, Place &place, int depth) const {
  if (symbolic(index, axes, place, depth)) {
    stride = 1;
    return axes == 0;
  }
  if (!expand(index, 1, place, depth)) return false;
  std::sort(place.terms.begin(), place.terms.end());
  std::vector<std::pair<int64_t, uint32_t>> steps;  // factor, axis
  for (const auto &[record, factor] : place.terms) {
    if (op_of(at(record)) == Op::axis) {
      if (factor <= 0) return false;
      steps.emplace_back(factor, at(record).a);
    } else if (!invariant(record)) {
      return false;
    }
  }
  std::sort(steps.begin(), steps.end());
  if (steps.empty()) return false;
  stride = steps[0].first;
  __int128 reach = stride;  // numbers made by the axes so far are multiples of `stride` spread over [0, reach)
  for (size_t k = 0; k < steps.size(); k++) {
    const auto [factor, axis] = steps[k];
    if (factor < reach) return false;
    axes &= ~(uint64_t(1) << axis);
    if (k + 1 == steps.size()) break;
    const auto lo = interval(par_->bounds[2 * axis]), hi = interval(par_->bounds[2 * axis + 1]);
    if (!lo || !hi) return false;
    reach = __int128(factor) * std::max<__int128>(1, __int128(hi->high) - lo->low);
    if (reach > (__int128(1) << 62)) return false;
  }
  return axes == 0;
}

void Analysis::find_exclusive() {
  const uint64_t all_axes = par_->axes >= 64 ? ~uint64_t(0) : (uint64_t(1) << par_->axes) - 1;
  std::vector<std::vector<uint32_t>> atomics(unit_.n_params());
  for (uint32_t i = par_->record + 1; i < par_->end; i++)
    if (is_atomic(op_of(at(i))) && slot_of_[i] < 0) atomics[at(i).a].push_back(i);
  for (uint32_t p = 0; p < unit_.n_params(); p++) {
    if (atomics[p].empty() || touched_elsewhere_[p]) continue;
    bool alone = true;
    for (uint32_t q = 0; q < unit_.n_params() && alone; q++) alone = q == p || atomics[q].empty() || !may_alias(p, q);
    for (uint32_t i = par_->record + 1; alone && i < par_->end; i++)
      if (slot_of_[i] >= 0 && at(i).a != p && may_alias(p, at(i).a)) alone = false;
    Place first;
    int64_t stride = 0, low = 0, high = 0;
    for (size_t k = 0; alone && k < atomics[p].size(); k++) {
      uint64_t axes = all_axes;
      Place place;
      alone = one_to_one(at(atomics[p][k]).b, axes, stride, place, 0);
      if (k == 0) first = place, low = place.low, high = place.high;
      low = std::min(low, place.low), high = std::max(high, place.high);
      alone = alone && place.terms == first.terms && __int128(high) - low < stride;
    }
    if (alone)
      for (uint32_t i : atomics[p]) exclusive_[i] = true;
  }
}

// The vectoriser takes "no dependence between iterations" for "no dependence" when it widens strided accesses: a load
// may move above an earlier store of the same iteration. So a buffer is `ordered` when a store is followed by an access
// that may meet it and any of them is strided.
void Analysis::find_ordered() {
  struct Access {
    uint32_t param;
    bool writes, known;
    Place place;
  };
  std::vector<Access> all;
  std::vector<bool> strided(unit_.n_params(), false);
  for (uint32_t i = par_->record + 1; i < par_->end; i++) {
    const QdInst &r = at(i);
    if (!is_access(op_of(r)) || slot_of_[i] >= 0) continue;
    Access a{r.a, op_of(r) != Op::load && op_of(r) != Op::volatile_load, false, {}};
    a.known = expand(r.b, 1, a.place, 0);
    std::sort(a.place.terms.begin(), a.place.terms.end());
    for (const auto &[record, factor] : a.place.terms)
      if (op_of(at(record)) == Op::axis && at(record).a + 1 == par_->axes && factor != 1) strided[r.a] = true;
    all.push_back(std::move(a));
  }
  const auto apart = [](const Access &a, const Access &b) {  // same sum, different constants
    return a.param == b.param && a.known && b.known && a.place.terms == b.place.terms &&
           (a.place.high < b.place.low || b.place.high < a.place.low);
  };
  const bool many = all.size() > 256;  // pairs are quadratic
  for (size_t i = 0; i < all.size(); i++) {
    if (!all[i].writes || ordered_[all[i].param]) continue;
    for (size_t j = i + 1; j < all.size(); j++) {
      const bool matters = strided[all[i].param] || strided[all[j].param];
      if (!matters || !may_alias(all[i].param, all[j].param) || (!many && apart(all[i], all[j]))) continue;
      ordered_[all[i].param] = ordered_[all[j].param] = true;
      break;
    }
  }
}

uint32_t Analysis::alignment(uint32_t param, uint32_t index) const {
  const uint32_t bytes = info(Type(unit_.param(param).type)).bytes;
  Place place;
  if (unit_.param(param).alias != QD_ALIAS_FIELD || !expand(index, 1, place, 0) || place.low != place.high)
    return bytes;
  uint64_t bits = field_bytes | uint64_t(place.low) * bytes;
  for (const auto &[record, factor] : place.terms) bits |= uint64_t(factor) * bytes;
  return std::max(bytes, uint32_t(bits & -bits));
}

bool Analysis::joins(uint32_t record, Place &place) const {
  const QdInst &r = at(record);
  if (op_of(r) != Op::atomic_add || Type(unit_.param(r.a).type) != Type::f32 || uses_[record] ||
      slot_of_[record] >= 0 || exclusive_[record] || !expand(r.b, 1, place, 0) || place.low != place.high)
    return false;
  std::sort(place.terms.begin(), place.terms.end());
  return true;
}

void Analysis::find_joined(uint32_t most) {
  for (uint32_t i = par_->record + 1; i < par_->end; i++) {
    Place first;
    if (group_of_[i] >= 0 || !joins(i, first)) continue;
    const uint32_t fit = std::min(most, alignment(at(i).a, at(i).b) / 4);
    std::vector<uint32_t> group{i};
    for (uint32_t j = i + 1; j < par_->end && group.size() < fit; j++) {
      Place next;
      if (info(op_of(at(j))).effect == view::Effect::Pure) continue;
      if (at(j).a != at(i).a || !joins(j, next) || next.terms != first.terms ||
          next.low != first.low + int64_t(group.size()))
        break;
      group.push_back(j);
    }
    if (group.size() == 3) group.pop_back();  // two or four
    if (group.size() < 2) continue;
    for (uint32_t k : group) group_of_[k] = int(groups_.size());
    groups_.push_back(std::move(group));
  }
}

// Counted as if vectorised where that is usual. Loops with unknown bounds are taken to be long: a wake-up for nothing
// costs microseconds, and running a heavy task on one core costs all the others.
void Analysis::estimate() {
  const auto &f = unit_.entry();
  double total = 0, times = 1;
  std::vector<double> outer;
  for (uint32_t i = par_ ? par_->record + 1 : 0; i < (par_ ? par_->end : f.count); i++) {
    const QdInst &r = f.code[i];
    const auto &row = info(op_of(r));
    double one = row.effect == view::Effect::Pure ? 2 : 1;
    if (row.flags & view::Inexact) one = 60;
    else if (is_atomic(op_of(r))) one = exclusive_[i] ? 12 : slot_of_[i] >= 0 ? 4 : 400;
    else if (is_access(op_of(r))) one = 8;
    else if (op_of(r) == Op::random) one = 200;
    else if (op_of(r) == Op::call) one = 1500;
    else if (op_of(r) == Op::report) one = 0;
    else if (row.effect == view::Effect::Pure && row.operands == view::Class::Int && op_of(r) >= Op::idiv &&
             op_of(r) <= Op::floormod)
      one = 60;
    else if (op_of(r) == Op::fdiv || op_of(r) == Op::sqrt) one = 20;
    else if (op_of(r) == Op::const_ || op_of(r) == Op::arg || op_of(r) == Op::operand) one = 0;
    total += one * times;
    if (row.flags & view::Closes) times = outer.back(), outer.pop_back();
    if (row.flags & view::Opens) {
      outer.push_back(times);
      int64_t a = 0, b = 0;
      if (op_of(r) == Op::loop)
        times *= constant(r.a, a) && constant(r.b, b) ? std::max<double>(0, double(b) - double(a)) : 64;
      if (op_of(r) == Op::repeat) times *= 256;
    }
  }
  cost_ = uint32_t(std::clamp(total, 1.0, 4e9));
}

// Short bodies that load, wait and store. Long ones have enough to do between their loads, and inner loops too;
// scattered atomics want many threads; the number of a position is only known where positions come one by one.
void Analysis::choose_batch() {
  constexpr uint32_t longest = 48;
  uint32_t work = 0, loads = 0;
  for (uint32_t i = par_->record + 1; i < par_->end; i++) {
    const Op op = op_of(at(i));
    const auto &row = info(op);
    const bool scattered = is_atomic(op) && slot_of_[i] < 0 && !exclusive_[i];
    const bool library = (row.flags & view::Inexact) && op != Op::rsqrt;
    if ((row.flags & view::Loopy) || library || scattered || op == Op::random || op == Op::report || op == Op::call ||
        op == Op::array || op == Op::volatile_load || op == Op::output || op == Op::position || op == Op::clock)
      return;
    loads += op == Op::load || exclusive_[i];
    work += op != Op::const_ && op != Op::arg && op != Op::shape && op != Op::operand && op != Op::axis;
  }
  if (!loads || work > longest) return;
  batch_ = work > longest / 2 ? 2 : par_->axes > 1 && loads <= 2 ? 8 : 4;  // measured on an H200
}

}  // namespace qd::llvm_emitter

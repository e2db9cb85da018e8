// sections.cpp: see sections.hpp. Memory is known by where a task's address word comes from: a word of the kernel, or
// an offset in scratch memory.
#include "core/compile/sections.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "core/compile/uses.hpp"
#include "qd/ir_view.hpp"

namespace qd::compile {
namespace {

constexpr size_t most_pairs = 256;  // compared at each launch

struct Place {
  bool scratch;
  uint32_t at;  // kernel word, or offset
  auto operator<=>(const Place &) const = default;
};
struct Touch {
  Use use;
  bool field;  // disjoint from all other fields
};
using Touched = std::map<Place, Touch>;

std::optional<Place> place_of(const split::Task &t, uint32_t word) {
  for (const split::WordMove &m : t.words)
    if (word >= m.to && word - m.to < m.count) return Place{false, m.from + word - m.to};
  for (const split::ScratchMove &m : t.scratch)
    if (word == m.to) return Place{true, m.offset};
  return {};
}

// False: it can't be told.
bool add_task(const split::Task &t, Touched &touched) {
  view::View unit;
  view::Fault fault;
  if (t.reports || !unit.read(t.bytes.data(), t.bytes.size(), fault)) return false;
  for (uint32_t f = 0; f < unit.n_functions(); ++f)
    for (uint32_t i = 0; i < unit.function(f).count; ++i) {
      const QdInst &r = unit.function(f).code[i];
      const Use use = use_of(r);
      if (use == Use::none || view::words(unit.param(r.a)) == 0) continue;
      const auto place = place_of(t, unit.param_word(r.a));
      if (!place) return false;
      Touch &known =
          touched.try_emplace(*place, Touch{Use::none, unit.param(r.a).alias == QD_ALIAS_FIELD}).first->second;
      known.use = std::max(known.use, use);
    }
  return true;
}

// Whether the two may run side by side; adds to `apart` what that depends on.
bool independent(const Touched &a, const Touched &b, std::vector<std::pair<uint32_t, uint32_t>> &apart) {
  for (const auto &[p, x] : a)
    for (const auto &[q, y] : b) {
      if (x.use != Use::writes && y.use != Use::writes) continue;
      if (p == q) return false;
      if (p.scratch || q.scratch || (x.field && y.field)) continue;
      apart.emplace_back(p.at, q.at);
      if (apart.size() > most_pairs) return false;
    }
  return true;
}

// Steps [begin, end) are in sections, and those around them are not.
bool independent(const split::Plan &plan, size_t begin, size_t end, Sections &out) {
  std::map<uint32_t, Touched> touched;
  for (size_t i = begin; i < end; ++i)
    if (!add_task(plan.tasks[plan.steps[i].task], touched[plan.steps[i].section])) return false;
  if (touched.size() < 2) return false;
  for (auto a = touched.begin(); a != touched.end(); ++a)
    for (auto b = std::next(a); b != touched.end(); ++b)
      if (!independent(a->second, b->second, out.apart)) return false;
  return true;
}

}  // namespace

Sections sections_of(const split::Plan &plan) {
  Sections out;
  out.of.assign(plan.steps.size(), 0);
  for (size_t begin = 0, end; begin < plan.steps.size(); begin = end) {
    end = begin + 1;
    if (!plan.steps[begin].section) continue;
    while (end < plan.steps.size() && plan.steps[end].section) ++end;
    const size_t pairs = out.apart.size();
    if (!independent(plan, begin, end, out)) out.apart.resize(pairs);
    else
      for (size_t i = begin; i < end; ++i) out.of[i] = plan.steps[i].section;
  }
  return out;
}

}  // namespace qd::compile

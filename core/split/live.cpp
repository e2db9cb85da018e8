// live.cpp: drop_dead, the liveness of regions.cpp made into a unit.
#include "core/split/copy.hpp"
#include "core/split/split.hpp"

namespace qd::split {

ir::Unit drop_dead(const ir::Unit &u) {
  const auto &code = u.code();
  const Regions r = regions_of(code);
  const auto live = live_records(code, r);
  ir::Builder b;
  for (size_t i = 0; i < u.params.size(); ++i)
    b.param(u.params[i], i < u.debug.params.size() ? u.debug.params[i] : std::string());
  const auto same = [](uint32_t k) { return k; };
  FunctionCopier functions(b, u, same);
  std::vector<Val> map(code.size(), no_val);
  const Renaming to{[&](Val v) { return map[v]; }, same, [&](uint32_t f) { return functions.number(f); }};
  for (Val id = 0; id < code.size(); ++id)
    if (live[id]) map[id] = copy_entry_record(b, u, id, to);
  return std::move(b).finish(u.debug.name);
}

}  // namespace qd::split

// split.cpp: the order of the steps, and the plan: who is bound to what. Scratch memory is laid out here: every value
// and variable has its own place, those that loops update on a cache line of their own.
#include "core/split/split.hpp"

#include <algorithm>

#include "core/ir/ir.hpp"
#include "core/passes/passes.hpp"
#include "core/split/cut.hpp"
#include "core/split/extent.hpp"
#include "core/support/error.hpp"

namespace qd::split {
namespace {

constexpr uint32_t value_alignment = 8, memory_alignment = 64;

class Planner {
 public:
  Planner(const ir::Unit &kernel, const ir::Unit &resolved) : kernel_(kernel), resolved_(resolved) {
    plan_.name = kernel.debug.name;
    uint32_t word = QD_ARG_FIRST;
    for (const ir::Param &p : kernel.params) word_.push_back(word), word += ir::words(p);
    plan_.n_words = word;
    memory_.assign(resolved.params.size(), no_offset);
    value_.assign(resolved.code().size(), no_offset);
    for (const ir::Func &f : resolved.funcs)
      for (const Inst &in : f.code)
        if (in.op == Op::output) plan_.n_outputs = std::max(plan_.n_outputs, in.arg[0] + 1);
  }

  void add(const Piece &);
  Plan finish() && { return std::move(plan_); }

 private:
  static constexpr uint32_t no_offset = ~0u;
  uint32_t offset_of(const Source &);
  void bind(Task &, const ir::Unit &task, const std::vector<Source> &);

  const ir::Unit &kernel_;
  const ir::Unit &resolved_;
  std::vector<uint32_t> word_;    // first kernel word of each kernel parameter
  std::vector<uint32_t> memory_;  // offset of each scratch parameter of the resolved kernel
  std::vector<uint32_t> value_;   // offset of each value that travels
  Plan plan_;
};

uint32_t Planner::offset_of(const Source &s) {
  uint32_t &offset = s.slot ? value_[s.index] : memory_[s.index];
  if (offset != no_offset) return offset;
  const uint32_t align = s.slot ? value_alignment : memory_alignment;
  const uint64_t bytes =
      s.slot ? 8
             : uint64_t(std::max(resolved_.params[s.index].count, 1u)) * ir::info(resolved_.params[s.index].type).bytes;
  const uint64_t end = (uint64_t(plan_.scratch_bytes) + align - 1) / align * align +
                       (s.slot ? bytes : (bytes + align - 1) / align * align);
  if (end > 1u << 30)
    throw Error(Kind::compilation, "kernel " + plan_.name + ": its kernel-scope arrays need " + std::to_string(end) +
                                       " bytes of scratch memory, more than 1 GiB; use a field or an ndarray instead");
  offset = uint32_t((uint64_t(plan_.scratch_bytes) + align - 1) / align * align);
  plan_.scratch_bytes = uint32_t(end);
  return offset;
}

// Where each word of the task's argument block comes from. Neighbours become one move.
void Planner::bind(Task &t, const ir::Unit &task, const std::vector<Source> &sources) {
  uint32_t to = QD_ARG_FIRST;
  for (size_t i = 0; i < task.params.size(); ++i) {
    const Source &s = sources[i];
    const uint32_t n = ir::words(task.params[i]);
    if (n == 0) continue;  // shared by a block: made anew by each
    if (s.slot || s.index >= kernel_.params.size()) {
      t.scratch.push_back({to, offset_of(s)});
    } else if (!t.words.empty() && t.words.back().to + t.words.back().count == to &&
               t.words.back().from + t.words.back().count == word_[s.index]) {
      t.words.back().count += n;
    } else {
      t.words.push_back({to, word_[s.index], n});
    }
    to += n;
  }
  t.n_words = to;
}

void Planner::add(const Piece &piece) {
  std::vector<uint32_t> param_map, site_map;
  const ir::Unit task = ir::canonical(passes::optimise(piece.unit), &param_map, &site_map);
  Task t;
  t.bytes = ir::to_wire(task);
  t.digest = cache::digest_of(t.bytes);
  t.symbol = symbol_of(t.digest);
  t.name = plan_.name + "_" + std::to_string(plan_.tasks.size());
  uint32_t section = 0;
  for (const auto &[record, loop] : piece.unit.debug.loops) {
    if (!loop.name.empty()) t.name += "_" + loop.name;
    section = loop.section;
  }
  t.parallel = piece.parallel;
  t.sites = std::move(site_map);
  std::vector<Source> sources;
  std::vector<uint32_t> words;
  for (uint32_t old : param_map) {
    sources.push_back(piece.params[old]);
    const Source &s = sources.back();
    words.push_back(s.slot || s.index >= kernel_.params.size() ? 0 : word_[s.index]);
  }
  bind(t, task, sources);
  t.extent = extent_of_task(task.code(), words);
  for (const ir::Func &f : task.funcs)
    for (const Inst &in : f.code)
      if (in.op == Op::report) t.reports = true, t.fails |= in.arg[1] != 0;
      else t.random |= in.op == Op::random;
  plan_.steps.push_back({StepKind::task, uint32_t(plan_.tasks.size()), section});
  plan_.tasks.push_back(std::move(t));
}

}  // namespace

Plan split(const ir::Unit &kernel) {
  // Dead code first, so that nothing crosses a cut for its sake; again after the variables, whose reads may have gone.
  const ir::Unit resolved = drop_dead(resolve_variables(drop_dead(kernel)));
  Planner planner(kernel, resolved);
  for (const Piece &piece : cut(resolved)) planner.add(piece);
  return std::move(planner).finish();
}

}  // namespace qd::split

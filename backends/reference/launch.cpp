// launch.cpp: runs tasks. The part of a task in front of its parallel has no effect, so it is run once and its registers serve
// all iterations; the body is run per position of [begin, end), the last axis fastest, in order.
#include "backends/reference/reference.hpp"

namespace qd::reference {
namespace {

struct Grid {
  uint32_t axes = 0;
  int64_t low[view::max_axes], extent[view::max_axes];
  int64_t size = 1;
};

Grid measure(const Machine &m, const Program &p) {
  Grid g;
  g.axes = uint32_t(p.bounds.size() / 2);
  const bool wide = p.type == view::Type::i64;
  const auto bound = [&](uint32_t k) { return wide ? int64_t(m.r[p.bounds[k]]) : int64_t(int32_t(m.r[p.bounds[k]])); };
  bool empty = false, huge = false;
  for (uint32_t k = 0; k < g.axes; k++) {
    const int64_t low = bound(2 * k), high = bound(2 * k + 1);
    g.low[k] = low, g.extent[k] = 0;
    if (high <= low) {
      empty = true;
    } else {
      huge |= __builtin_sub_overflow(high, low, &g.extent[k]);
      huge |= __builtin_mul_overflow(g.size, g.extent[k], &g.size);
    }
  }
  if (empty) g.size = 0;
  else if (huge) throw plugin::Failure(QDB_E_LAUNCH, "the grid of the task has more than 2^63 - 1 points");
  return g;
}

void run_grid(Machine &m, const Program &p, const Step *body, int64_t begin, int64_t end, bool unknown) {
  const Grid g = measure(m, p);
  if (unknown) begin = 0, end = g.size;
  if (begin < 0 || end > g.size)
    throw plugin::Failure(QDB_E_INVALID, "launch of positions " + std::to_string(begin) + " to " + std::to_string(end) + " of a grid of " +
                                             std::to_string(g.size));
  if (p.block) return run_blocks(m, body, begin, end, [&g](Machine &t, int64_t i) {
    for (uint32_t k = g.axes; k-- > 0; i /= g.extent[k]) t.axis[k] = g.low[k] + i % g.extent[k];
  });
  int64_t at[view::max_axes];
  int64_t rest = begin;
  for (uint32_t k = g.axes; k-- > 0 && begin < end;) at[k] = rest % g.extent[k], m.axis[k] = g.low[k] + at[k], rest /= g.extent[k];
  for (int64_t i = begin; i < end; i++) {
    m.back_edge();
    m.iteration = i, m.draw = 0;
    m.run(body);
    for (uint32_t k = g.axes; k-- > 0;) {
      if (++at[k] < g.extent[k]) {
        m.axis[k]++;
        break;
      }
      at[k] = 0, m.axis[k] = g.low[k];
    }
  }
}

}  // namespace

void run(Machine &m, const plugin::Call &call, const Program &p, const QdbLaunch &l) {
  const bool unknown = (l.flags & QDB_LAUNCH_RANGE_UNKNOWN) != 0;
  if (!unknown && l.begin >= l.end) return;
  const Code &entry = p.functions[0];
  m.frames.clear(), m.stack.clear();
  m.args = static_cast<const uint64_t *>(l.args);
  m.program = &p, m.code = &entry, m.call = &call;
  m.r = m.frames.push(entry.frame);
  m.iteration = 0, m.draw = 0, m.countdown = steps_between_polls;
  m.run(entry.steps.data());  // all of a serial task; of another, up to its parallel
  if (p.parallel) run_grid(m, p, entry.steps.data() + p.first + 1, l.begin, l.end, unknown);
}

std::unique_ptr<Stream> Device::stream(const Call &) { return std::make_unique<Stream>(); }

void Stream::launch(const Call &call, const QdbLaunch *launches, uint32_t stride, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    const QdbLaunch &l = plugin::at(launches, stride, i);
    const Program *program = plugin::object<Program>(l.entry);
    if (!program || !l.args || reinterpret_cast<uintptr_t>(l.args) % 8 != 0 || l.arg_bytes < uint64_t(program->arg_words) * 8)
      throw Failure(QDB_E_INVALID, "launch " + std::to_string(i) + ": no entry, or fewer argument bytes than the task reads");
    const auto *args = static_cast<const uint64_t *>(l.args);
    const auto *reports = reinterpret_cast<const QdReportHeader *>(uintptr_t(args[QD_ARG_REPORT]));
    if ((l.flags & QDB_LAUNCH_REPORTS) && reports && reports->failed) return;
    run(machine, call, *program, l);
  }
}

}  // namespace qd::reference

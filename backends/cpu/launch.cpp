// launch.cpp: synchronous launches. A task is cut into chunks by its range and the estimate of its cost alone, never by
// the number of workers, so that sums come out the same on every machine. What takes less than some microseconds runs
// on the caller, in one piece. Nothing is allocated but the partial results of a cut task, which a thread keeps.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "backends/cpu/cpu.hpp"
#include "backends/cpu/interrupt.hpp"
#include "backends/cpu/partials.hpp"
#include "qd/wire.h"

namespace qd::cpu {
namespace {

constexpr int64_t max_chunks = 512, ns = 64;  // cost is in 1/64 ns
constexpr uint64_t small_work = 24000 * ns,
                   chunk_work = 12000 * ns;  // below the first: no chunks; the second: size of one

struct Run {
  const Entry *entry;
  const uint64_t *args;
  int64_t begin, end, chunk, row;
  QdxCpuPartial *partials;
  Stop *stop;
};

void run_part(Stop &stop, const Entry &e, const uint64_t *args, int64_t begin, int64_t end, QdxCpuPartial *partials) {
  if (e.meta->polls) run_stoppable(stop, e.run, args, begin, end, partials);
  else e.run(args, begin, end, partials);
}

void run_chunk(void *context, int64_t k) {
  const Run &r = *static_cast<const Run *>(context);
  const int64_t begin = r.begin + k * r.chunk, end = std::min(r.end, begin + r.chunk);
  run_part(*r.stop, *r.entry, r.args, begin, end, r.partials + k * r.entry->meta->n_partials);
}

bool is_stopped(void *context) { return static_cast<const Run *>(context)->stop->asked(); }

void give_up_if(bool stopped) {
  if (stopped) throw plugin::Failure(QDB_E_CANCELLED, "stopped by the host");
}

void run_whole(const Call &call, const Entry &e, const uint64_t *args, int64_t begin, int64_t end, QdxCpuPartial *to) {
  if (!e.meta->polls) return void(e.run(args, begin, end, to));
  Stop stop(call);
  run_stoppable(stop, e.run, args, begin, end, to);
  give_up_if(stop.was_asked());
}

// Whole rows where a chunk holds some, else whole cache lines of the usual element.
int64_t chunk_size(const Entry &e, const uint64_t *args, int64_t n) {
  const __uint128_t work = __uint128_t(n) * e.meta->cost;
  if (work < small_work || n < 2) return n;
  const int64_t pieces = int64_t(std::min<__uint128_t>({__uint128_t(max_chunks), work / chunk_work, __uint128_t(n)}));
  const int64_t even = (n + pieces - 1) / pieces, row = e.run(args, 1, INT64_MIN, nullptr);
  const int64_t step = row > 1 && row <= even ? row : even >= 256 ? 64 : even >= 32 ? 16 : 1;
  return (even + step - 1) / step * step;
}

void launch_one(Pool &pool, const Call &call, const QdbLaunch &l) {
  const Entry &e = *reinterpret_cast<const Entry *>(l.entry);
  const auto *args = static_cast<const uint64_t *>(l.args);
  int64_t begin = l.begin, end = l.end;
  if (e.meta->serial) {
    if (begin < end || (l.flags & QDB_LAUNCH_RANGE_UNKNOWN)) run_whole(call, e, args, 0, 1, nullptr);
    return;
  }
  if (l.flags & QDB_LAUNCH_RANGE_UNKNOWN) begin = 0, end = e.run(args, 0, INT64_MIN, nullptr);
  if (begin >= end) return;
  const int64_t chunk = chunk_size(e, args, end - begin), chunks = (end - begin + chunk - 1) / chunk;
  const uint32_t slots = e.meta->n_partials;
  QdxCpuPartial few[QDX_CPU_MAX_PARTIALS];
  QdxCpuPartial *partials = few;
  thread_local std::vector<QdxCpuPartial> kept;
  std::vector<QdxCpuPartial> many;  // taken out of it: a signal handler may launch while this one runs
  if (slots && chunks > 1) {
    many.swap(kept);
    if (many.size() < size_t(slots) * size_t(chunks)) many.resize(size_t(slots) * size_t(chunks));
    partials = many.data();
  }
  if (chunks == 1) {
    run_whole(call, e, args, begin, end, partials);
  } else {
    Stop stop(call);
    Run run{&e, args, begin, end, chunk, 1, partials, &stop};
    Job job{run_chunk, &run, chunks, is_stopped};
    pool.run(job);
    give_up_if(stop.was_asked());
  }
  if (slots) combine(*e.meta, partials, chunks);
  if (many.size() > kept.size()) kept.swap(many);
}

bool failed(const QdbLaunch &l) {
  const auto *head = reinterpret_cast<const QdReportHeader *>(static_cast<const uint64_t *>(l.args)[QD_ARG_REPORT]);
  return head && __atomic_load_n(&head->failed, __ATOMIC_RELAXED);
}

}  // namespace

void Stream::launch(const Call &call, const QdbLaunch *launches, uint32_t stride, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    const QdbLaunch &l = plugin::at(launches, stride, i);
    if ((l.flags & QDB_LAUNCH_REPORTS) && failed(l)) return;
    launch_one(pool_, call, l);
  }
}

}  // namespace qd::cpu

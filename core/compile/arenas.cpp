// arenas.cpp: see arenas.hpp. The usual way to a thread's arena is one comparison.
#include "core/compile/arenas.hpp"

#include <algorithm>

namespace qd::compile {
namespace {

std::atomic<uint64_t> next_number{1};

struct Mine {
  uint64_t serial = 0, queue = 0;
  Arena *arena = nullptr;
};
thread_local Mine mine_last;

}  // namespace

void Arena::blank_reports(uint64_t bytes) { report->fill(sizeof(QdReportHeader), bytes & ~7ull, ~0ull, 8); }

void Arena::need(Backend &backend, uint64_t scratch_bytes, bool results, bool reports) {
  const uint64_t have = scratch ? scratch->size() : 0;
  if (have < scratch_bytes) {
    auto larger = backend.alloc(std::max<uint64_t>({scratch_bytes, 2 * have, 4096}));
    if (scratch) outgrown.push_back(std::move(scratch));
    scratch = std::move(larger);
    version = 0;
  }
  if (results && !result) result = backend.alloc(QD_RESULT_BYTES), version = 0;
  if (reports && !report) {
    report = backend.alloc(sizeof(QdReportHeader) + report_bytes);
    const QdReportHeader empty{0, 0, 0, report_bytes};
    report->copy_in(0, &empty, sizeof empty);
    blank_reports(report_bytes);
    version = 0;
  }
  if (version == 0) version = next_number.fetch_add(1, std::memory_order_relaxed);
}

Arenas::Arenas(std::shared_ptr<Backend> backend, uint32_t seed)
    : backend_(std::move(backend)), seed_(seed), serial_(next_number.fetch_add(1, std::memory_order_relaxed)) {}

Arena &Arenas::mine() {
  const uint64_t queue = backend_->queue();
  if (mine_last.serial != serial_ || mine_last.queue != queue) {
    const std::lock_guard lock(mutex_);
    auto &slot = arenas_[{std::this_thread::get_id(), queue}];
    if (!slot) slot = std::make_unique<Arena>();
    mine_last = {serial_, queue, slot.get()};
  }
  Arena *arena = mine_last.arena;
  while (arena->running) {
    if (!arena->nested) arena->nested = std::make_unique<Arena>();
    arena = arena->nested.get();
  }
  return *arena;
}

std::shared_ptr<Arenas> make_arenas(std::shared_ptr<Backend> backend, uint32_t seed) {
  return std::make_shared<Arenas>(std::move(backend), seed);
}

}  // namespace qd::compile

// arenas.hpp: private to core/compile. The launch memory of one calling thread, and where a thread finds its own.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/compile/backend.hpp"
#include "core/compile/executable.hpp"

namespace qd::compile {

inline constexpr uint64_t report_bytes = 1 << 20;  // records of one launch; more are counted as dropped

struct Arena {  // used by its thread only, on one queue, by one launch at a time
  bool running = false;           // a launch: one that a signal handler makes in its midst takes the next arena
  std::unique_ptr<Arena> nested;
  std::shared_ptr<Buffer> scratch, result, report;
  std::vector<std::shared_ptr<Buffer>> outgrown;  // launches that still run may use them
  uint64_t version = 0;                           // changes when an address does; unique among all arenas
  std::vector<uint8_t> result_copy;  // what result() gave last: the thread's own, so that close() cannot take it away

  // Makes sure of the memory; after the first call for a kernel nothing is left to do.
  void need(Backend &, uint64_t scratch_bytes, bool results, bool reports);
  // All ones where records were: a record that did not fit leaves its place as it was, and must not look like one.
  void blank_reports(uint64_t bytes);
};

class Arenas {
 public:
  Arenas(std::shared_ptr<Backend> backend, uint32_t seed);
  Arena &mine();
  uint64_t random_key() { return seed_ | uint64_t(launches_.fetch_add(1, std::memory_order_relaxed)) << 32; }
  Backend &backend() { return *backend_; }

 private:
  std::shared_ptr<Backend> backend_;
  const uint64_t seed_;
  std::atomic<uint32_t> launches_{0};
  const uint64_t serial_;  // never used again, so a thread's memory of an Arenas that is gone matches nothing
  std::mutex mutex_;
  std::map<std::pair<std::thread::id, uint64_t>, std::unique_ptr<Arena>> arenas_;
};

}  // namespace qd::compile

// thread_pool.hpp: the compile threads. Work is a range cut into chunks that the workers take from one shared index, so
// a long chunk holds up nobody; the caller works too. A call from inside a chunk runs on its own thread alone, which
// makes deadlock by nesting impossible. Threads are started by the first call that has use for them: a warm start needs
// none.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

namespace qd {

class ThreadPool {
 public:
  explicit ThreadPool(uint32_t workers);  // the caller's thread counts as one; 0 means 1
  ~ThreadPool();                          // joins
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  // fn(begin, end, worker) for chunks of at most `grain` items that cover [0, n), worker < workers(). Returns when all
  // are done. The first exception is thrown here after the rest has stopped; chunks that were not begun are dropped
  // then.
  void parallel_for(uint64_t n, uint64_t grain, const std::function<void(uint64_t, uint64_t, uint32_t)> &fn);
  uint32_t workers() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qd

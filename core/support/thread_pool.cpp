// thread_pool.cpp: jobs in a list, each with the index of its next chunk. A worker takes the first job that has chunks
// left; the caller works on its own job only, so no call ever waits for work that it did not bring.
#include "core/support/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace qd {
namespace {

using Body = std::function<void(uint64_t, uint64_t, uint32_t)>;
thread_local bool inside = false;  // this thread is running a chunk of some pool

struct Job {
  const Body &body;
  const uint64_t n, grain, chunks;
  std::atomic<uint64_t> next = 0;
  uint32_t workers = 0;      // pool threads at it; under the pool's mutex
  std::exception_ptr error;  // likewise

  bool has_work() const { return next.load(std::memory_order_relaxed) < chunks; }
};

struct Inside {
  bool before = std::exchange(inside, true);
  ~Inside() { inside = before; }
};

// Not marked as inside: the one chunk of a call (a kernel compiled as one unit) may spread its own work over the pool.
void run_inline(uint64_t n, uint64_t grain, const Body &body) {
  for (uint64_t i = 0; i < n; i += std::min(grain, n - i)) body(i, i + std::min(grain, n - i), 0);
}

}  // namespace

struct ThreadPool::State {
  explicit State(uint32_t workers) : workers(workers) {}

  void work(Job &job, uint32_t worker) {
    Inside mark;
    for (uint64_t i; (i = job.next.fetch_add(1, std::memory_order_relaxed)) < job.chunks;) {
      try {
        job.body(i * job.grain, i + 1 == job.chunks ? job.n : (i + 1) * job.grain, worker);
      } catch (...) {
        job.next = job.chunks;
        std::lock_guard lock(mutex);
        if (!job.error) job.error = std::current_exception();
      }
    }
  }

  void serve(uint32_t worker) {
    std::unique_lock lock(mutex);
    for (;;) {
      auto it = std::find_if(jobs.begin(), jobs.end(), [](Job *j) { return j->has_work(); });
      if (it == jobs.end()) {
        if (stop) return;
        wake.wait(lock);
        continue;
      }
      Job &job = **it;
      ++job.workers;
      lock.unlock();
      work(job, worker);
      lock.lock();
      if (--job.workers == 0) done.notify_all();
    }
  }

  void start(uint64_t wanted) {  // under the mutex
    try {
      while (threads.size() < wanted) {
        uint32_t worker = uint32_t(threads.size()) + 1;
        threads.emplace_back([this, worker] { serve(worker); });
      }
    } catch (const std::system_error &) {  // the system gives no more: the caller's own thread always works
    }
  }

  const uint32_t workers;
  std::mutex mutex;
  std::condition_variable wake, done;
  std::list<Job *> jobs;
  std::vector<std::thread> threads;
  bool stop = false;
};

ThreadPool::ThreadPool(uint32_t workers) : state_(std::make_unique<State>(std::max(workers, 1u))) {}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (std::thread &t : state_->threads) t.join();
}

uint32_t ThreadPool::workers() const { return state_->workers; }

void ThreadPool::parallel_for(uint64_t n, uint64_t grain, const Body &fn) {
  grain = std::max<uint64_t>(grain, 1);
  if (n == 0) return;
  State &s = *state_;
  Job job{fn, n, grain, (n - 1) / grain + 1, {}, 0, {}};
  if (job.chunks == 1 || s.workers == 1 || inside) return run_inline(n, grain, fn);
  std::unique_lock lock(s.mutex);
  s.start(std::min<uint64_t>(s.workers, job.chunks) - 1);
  auto place = s.jobs.insert(s.jobs.end(), &job);
  lock.unlock();
  s.wake.notify_all();
  s.work(job, 0);
  lock.lock();
  s.jobs.erase(place);
  s.done.wait(lock, [&] { return job.workers == 0; });
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace qd

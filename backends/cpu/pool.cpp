// pool.cpp: see pool.hpp. Idle workers spin for some microseconds before they sleep, so that a loop of launches pays no
// wake-up, and a submitter makes a system call only when somebody sleeps.
#include "backends/cpu/pool.hpp"

#include <algorithm>
#include <new>
#include <system_error>

namespace qd::cpu {
namespace {

constexpr int idle_spins = 800;  // some 40 us of `pause`: longer than the host needs between two launches of a loop

void pause() { __builtin_ia32_pause(); }

void take_chunks(Job &job) {
  for (int64_t c; (c = job.next.fetch_add(1, std::memory_order_relaxed)) < job.chunks;) job.run(job.context, c);
}

}  // namespace

bool Pool::run(Job &job) {
  if (width_ > 1 && job.chunks > 1) {
    std::lock_guard lock(mutex_);
    if (!started_ && !stopping_) start();
    if (!threads_.empty()) {
      jobs_.push_back(&job);
      submitted_.fetch_add(1, std::memory_order_release);
      const uint32_t asleep = sleepers_.load(std::memory_order_relaxed);
      if (asleep && asleep >= uint64_t(job.chunks)) {
        for (int64_t i = 1; i < job.chunks; i++) wake_.notify_one();
      } else if (asleep) {
        wake_.notify_all();
      }
    }
  }
  bool finished = true;
  for (int64_t c; (c = job.next.fetch_add(1, std::memory_order_relaxed)) < job.chunks;) {
    job.run(job.context, c);
    if (job.cancelled && job.cancelled(job.context) &&
        job.next.exchange(job.chunks, std::memory_order_relaxed) < job.chunks) {
      finished = false;
      break;
    }
  }
  if (width_ > 1 && job.chunks > 1) {
    {
      std::lock_guard lock(mutex_);  // from here on nobody new can find the job
      jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), &job), jobs_.end());
    }
    for (int spins = 0; job.helpers.load(std::memory_order_acquire); spins++)
      if (spins < idle_spins) {
        pause();
      } else {
        if (finished && job.cancelled && job.cancelled(job.context)) finished = false;
        std::this_thread::yield();
      }
  }
  return finished;
}

bool Pool::help_someone() {
  Job *job = nullptr;
  {
    std::lock_guard lock(mutex_);
    for (Job *j : jobs_)
      if (j->next.load(std::memory_order_relaxed) < j->chunks) {
        job = j;
        break;
      }
    if (!job) return false;
    job->helpers.fetch_add(1, std::memory_order_relaxed);
  }
  take_chunks(*job);
  job->helpers.fetch_sub(1, std::memory_order_release);
  return true;
}

void Pool::work() {
  for (uint64_t seen = 0;;) {
    const uint64_t now = submitted_.load(std::memory_order_acquire);
    if (help_someone()) continue;
    seen = now;
    int spins = 0;
    while (spins < idle_spins && submitted_.load(std::memory_order_relaxed) == seen) pause(), spins++;
    if (spins < idle_spins) continue;
    std::unique_lock lock(mutex_);
    if (stopping_) return;
    sleepers_.fetch_add(1, std::memory_order_relaxed);
    wake_.wait(lock, [&] { return stopping_ || submitted_.load(std::memory_order_relaxed) != seen; });
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    if (stopping_) return;
  }
}

void Pool::start() {  // under the mutex
  started_ = true;
  try {
    while (threads_.size() + 1 < width_) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error &) {  // fewer threads than asked for: slower, not wrong
  }
}

void Pool::stop() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    submitted_.fetch_add(1, std::memory_order_release);
    wake_.notify_all();
  }
  for (auto &t : threads) t.join();
}

void Pool::abandon() noexcept {
  for (auto &t : threads_) new (&t) std::thread;  // no destructor may meet a thread of the parent
  threads_.clear();
  new (&mutex_) std::mutex;  // the parent may have held it
  new (&wake_) std::condition_variable;
  stopping_ = started_ = true;
  jobs_.clear();
}

}  // namespace qd::cpu

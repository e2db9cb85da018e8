// pool.hpp: worker threads for launches. A submitter works on its own job, so a pool of n has n - 1 threads; they start
// with the first job that wants them. Any number of threads may submit at once. Chunks are taken in order from a
// counter.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace qd::cpu {

struct Job {
  void (*run)(void *context, int64_t chunk);
  void *context;
  int64_t chunks;
  bool (*cancelled)(void *context) = nullptr;  // asked on the submitting thread, between chunks and while it waits
  // The rest belongs to the pool.
  std::atomic<int64_t> next{0};
  std::atomic<uint32_t> helpers{0};
};

class Pool {
 public:
  explicit Pool(uint32_t width) : width_(width) {}  // threads that work on a job, the submitter included
  ~Pool() { stop(); }
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  uint32_t width() const { return width_; }
  // Runs every chunk once and returns when all are done; false when `cancelled` stopped it early (chunks begun are
  // finished).
  bool run(Job &job);
  void stop();              // joins; later jobs run on their submitters
  void abandon() noexcept;  // in a forked child: the threads do not exist here

 private:
  void start();
  void work();
  bool help_someone();

  uint32_t width_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Job *> jobs_;             // with chunks left, oldest first
  std::atomic<uint64_t> submitted_{0};  // bumped with every job: what idle workers watch
  std::atomic<uint32_t> sleepers_{0};
  bool stopping_ = false, started_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace qd::cpu

// session.hpp: the inner state of a Context, shared by everything that it made. Inside core/runtime only.
//
// Lifetime: a call that touches the plugin holds a Use. close() refuses new ones, waits for the running ones, then lets
// every Resource give its plugin objects back; after that a Resource is an empty shell that answers "the runtime was
// reset".
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/api/core.hpp"
#include "core/plugin/plugin.hpp"

namespace qd {

// Something that owns plugin objects: a Buffer, a loaded module.
class Resource {
 public:
  virtual void release() noexcept = 0;  // give the plugin objects back; called once at most, by close()

 protected:
  ~Resource() = default;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<plugin::Device>, QdbDeviceInfo);
  ~Session();

  class Use {  // while one lives, the session stays open
   public:
    Use(const Use &) = delete;
    ~Use() { session_.leave(); }

   private:
    friend class Session;
    explicit Use(Session &s) : session_(s) {}
    Session &session_;
  };
  Use use() {  // throws Error{runtime, "the runtime was reset"} after close()
    if (uses_.fetch_add(2, std::memory_order_acquire) & 1) refuse();
    return Use(*this);
  }

  // A Resource is known from its construction until its destructor calls remove(). False: close() has released it
  // already.
  void add(Resource *);
  bool remove(Resource *) noexcept;
  void close() noexcept;                // idempotent; a second caller waits for the first
  void quiesce(uint32_t why) noexcept;  // 1: a forked child, where nothing may be waited for

  // All of these only within a Use.
  const plugin::Instance &instance() const { return *device_->instance(); }
  const std::shared_ptr<plugin::Device> &device() const { return device_; }
  const QdbDeviceInfo &device_info() const { return info_; }
  // Launches of a CPU are over when the call returns, so each calling thread has a stream of its own and none waits;
  // other devices get one stream, in whose order everything happens.
  bool synchronous() const { return info_.kind == QDB_KIND_CPU; }
  template <class F>
  void on_stream(F &&f) {
    if (synchronous()) return on_thread_stream(f);
    try {
      if (Queue *q = chosen_queue()) return on_queue(*q, f);
      std::lock_guard lock(stream_mutex_);
      f(*streams_.front());
    } catch (const Error &e) { explain(e); }
  }
  void sync() {  // all streams
    try {
      device_->sync();
    } catch (const Error &e) { explain(e); }
  }
  // The kernel of the next launch. A device that runs on by itself tells of a fault at some later call: the error then
  // names the kernels launched last.
  void note(const char *name) {
    if (!synchronous())
      noted_[next_note_.fetch_add(1, std::memory_order_relaxed) % notes].store(name, std::memory_order_relaxed);
  }
  // A stream that the program made, while a thread launches on it.
  struct Queue {
    const Session *session;
    uint64_t number;  // never 0, never used twice
    std::mutex mutex;
    std::unique_ptr<plugin::Stream> stream;  // null once destroyed
  };
  Queue *chosen_queue() const;     // the calling thread's, null for the usual stream
  uint64_t queue_number() const {  // 0: the usual stream
    const Queue *q = chosen_queue();
    return q ? q->number : 0;
  }

  // A launch of the calling thread is under way: only a signal handler can ask.
  bool launching_here() const noexcept;

 private:
  friend struct ThreadStreams;
  class Busy {
   public:
    explicit Busy(plugin::Stream &s) : stream_(s) { stream_.busy = true; }
    ~Busy() { stream_.busy = false; }
    Busy(const Busy &) = delete;

   private:
    plugin::Stream &stream_;
  };
  class Taken {  // a stream for a launch in the midst of another
   public:
    explicit Taken(Session &s) : session_(s), stream_(s.take_stream()) {}
    ~Taken() { session_.give_stream(stream_); }
    Taken(const Taken &) = delete;
    plugin::Stream &stream() { return *stream_; }

   private:
    Session &session_;
    plugin::Stream *stream_;
  };
  template <class F>
  void on_thread_stream(F &&f) {
    plugin::Stream &usual = thread_stream();
    if (usual.busy) {
      Taken taken(*this);
      return f(taken.stream());
    }
    const Busy busy(usual);
    f(usual);
  }
  template <class F>
  void on_queue(Queue &q, F &&f) {
    std::lock_guard lock(q.mutex);
    if (!q.stream) throw Error(Kind::runtime, "this stream was destroyed: make another one with qd.create_stream()");
    f(*q.stream);
  }
  void leave() noexcept {
    if (uses_.fetch_sub(2, std::memory_order_release) == 3) uses_.notify_all();
  }
  [[noreturn]] void refuse();
  [[noreturn]] void explain(const Error &) const;
  plugin::Stream &thread_stream();
  plugin::Stream *take_stream();
  void give_stream(plugin::Stream *) noexcept;

  const uint64_t id_;                    // never used twice in a process, unlike an address
  std::atomic<uint64_t> uses_ = 0;       // twice the running uses; bit 0: closed
  std::atomic<bool> abandoned_ = false;  // quiesced: locks and threads may belong to nobody
  std::atomic<bool> forked_ = false;     // quiesced in a forked child
  static constexpr uint32_t notes = 32;
  std::atomic<const char *> noted_[notes] = {};
  std::atomic<uint32_t> next_note_ = 0;
  std::shared_ptr<plugin::Device> device_;
  QdbDeviceInfo info_;
  std::recursive_mutex resources_mutex_;  // release() of one may destroy another
  std::unordered_set<Resource *> resources_;
  std::mutex stream_mutex_;
  std::vector<std::unique_ptr<plugin::Stream>> streams_;
  std::vector<plugin::Stream *> idle_streams_;  // of threads that ended
};

}  // namespace qd

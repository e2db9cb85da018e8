// session.hpp: the inner state of a Context, shared by everything that it made. core/compile works on a Session and core/
// runtime owns it; neither knows more of the other.
//
// Lifetime: a call that touches the plugin holds a Use. close() refuses new ones, waits for the running ones, then lets
// every Resource give its plugin objects back; after that a Resource is an empty shell that answers "the runtime was reset".
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "cache/store.hpp"
#include "core/api/core.hpp"
#include "core/plugin/plugin.hpp"

namespace qd {

// Something that owns plugin objects: a Buffer, an Executable.
class Resource {
 public:
  virtual void release() noexcept = 0;  // give the plugin objects back; called once at most, by close()

 protected:
  ~Resource() = default;
};

class Session {
 public:
  class Use {  // while one lives, the session stays open
   public:
    Use(Use &&o) noexcept : session_(o.session_) { o.session_ = nullptr; }
    Use(const Use &) = delete;
    ~Use() { if (session_) session_->leave(); }

   private:
    friend class Session;
    explicit Use(Session *s) : session_(s) {}
    Session *session_;
  };

  Use use() {  // throws Error{runtime, "the runtime was reset"} after close()
    if (uses_.fetch_add(2, std::memory_order_acquire) & 1) refuse();
    return Use(this);
  }

  // A Resource is known from its construction to its destructor, which calls remove() before it frees anything itself; false:
  // close() has released it, or is about to, and has waited until it was done.
  void add(Resource *);
  bool remove(Resource *) noexcept;

  // close() in two halves, for the Context: no uses from here on; then everything is given back.
  void close();
  bool closed() const { return (uses_.load(std::memory_order_acquire) & 1) != 0; }

  // Set once by Context::open.
  ContextConfig config;
  std::shared_ptr<plugin::Services> services;  // compile threads, cancellation, dumps
  std::shared_ptr<plugin::Instance> instance;
  std::shared_ptr<plugin::Device> device;
  std::unique_ptr<plugin::Stream> stream;
  std::mutex stream_mutex;                     // held around each call on `stream`
  std::string target1, target2;                // target_of_device, both levels
  std::unique_ptr<cache::Store> store;
  std::atomic<uint32_t> launches = 0;          // number of the next launch: upper half of the random key
  std::mutex launch_memory_mutex;
  std::weak_ptr<void> launch_memory;           // core/compile's arenas, owned by the executables

 private:
  void leave() noexcept {
    if (uses_.fetch_sub(2, std::memory_order_release) == 3) uses_.notify_all();
  }
  [[noreturn]] void refuse();
  std::atomic<uint64_t> uses_ = 0;             // twice the running uses; bit 0: closed
  std::recursive_mutex resources_mutex_;     // release() of one may destroy another
  std::unordered_set<Resource *> resources_;
};

// core/compile: the whole way from a kernel to its loaded form. Called within a Use; Observations are of this compile.
std::shared_ptr<Executable> compile_kernel(const std::shared_ptr<Session> &, const ir::Unit &kernel);

}  // namespace qd

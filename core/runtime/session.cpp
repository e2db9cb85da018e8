// session.cpp: uses, resources and streams of a Session.
#include "core/runtime/session.hpp"

#include <algorithm>
#include <string_view>

namespace qd {

// The streams that this thread has, one per session it launched on; given back when the thread ends.
struct ThreadStreams {
  struct Held {
    uint64_t id;
    std::weak_ptr<Session> session;
    plugin::Stream *stream;
  };
  std::vector<Held> held;
  uint64_t last_id = 0;  // of the session that the thread used last
  plugin::Stream *last = nullptr;

  ~ThreadStreams() {
    for (Held &h : held)
      if (auto session = h.session.lock()) session->give_stream(h.stream);
  }
};

namespace {

thread_local ThreadStreams mine;
std::atomic<uint64_t> next_id = 1;

}  // namespace

Session::Session(std::shared_ptr<plugin::Device> device, QdbDeviceInfo info)
    : id_(next_id.fetch_add(1)), device_(std::move(device)), info_(info) {
  streams_.push_back(plugin::Stream::create(device_));
  if (synchronous()) idle_streams_.push_back(streams_.front().get());
}

Session::~Session() { close(); }

void Session::refuse() {
  leave();
  if (forked_.load(std::memory_order_relaxed))
    throw Error(Kind::runtime,
                "This process was forked after qd.init(), and a runtime does not survive a fork. Start processes with "
                "the 'spawn' method, fork before qd.init(), or call qd.init() again in the child.");
  throw Error(Kind::runtime,
              "the runtime was reset: this object was made before qd.init() or qd.reset() was called last");
}

void Session::explain(const Error &e) const {
  if (e.status != QDB_E_DEVICE_LOST && e.status != QDB_E_LAUNCH) throw e;
  std::vector<std::string_view> names;  // each once, the newest first
  const uint32_t end = next_note_.load(std::memory_order_relaxed);
  for (uint32_t back = 1; back <= std::min(end, notes) && names.size() < 8; ++back) {
    const char *name = noted_[(end - back) % notes].load(std::memory_order_relaxed);
    if (name && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string m = e.what();
  for (size_t k = 0; k < names.size(); ++k)
    m.append(k ? ", " : "\nKernels launched last, the newest first: ").append(names[k]);
  if (e.status == QDB_E_DEVICE_LOST)
    m += "\nThis process can't use the device any more: start it again, or go on with qd.init(arch=qd.cpu).";
  throw Error(e.kind, m, e.status);
}

void Session::add(Resource *r) {
  std::lock_guard lock(resources_mutex_);
  resources_.insert(r);
}

bool Session::remove(Resource *r) noexcept {
  if (abandoned_.load(std::memory_order_relaxed)) return true;
  std::lock_guard lock(resources_mutex_);
  return resources_.erase(r) != 0;
}

void Session::close() noexcept {
  uint64_t seen = uses_.fetch_or(1, std::memory_order_acq_rel) | 1;
  if (abandoned_.load(std::memory_order_relaxed)) return;
  for (; seen != 1; seen = uses_.load(std::memory_order_acquire)) uses_.wait(seen, std::memory_order_acquire);
  std::lock_guard lock(resources_mutex_);
  if (!device_) return;
  try {
    device_->sync();
  } catch (const Error &) {  // a lost device is closed like any other
  }
  while (!resources_.empty()) {
    Resource *r = *resources_.begin();
    resources_.erase(resources_.begin());
    r->release();
  }
  std::lock_guard streams(stream_mutex_);
  idle_streams_.clear();
  streams_.clear();
  device_.reset();
}

void Session::quiesce(uint32_t why) noexcept {
  auto device = device_;
  if (!device || abandoned_.exchange(true)) return;
  forked_.store(why == 1, std::memory_order_relaxed);
  uses_.fetch_or(1, std::memory_order_acq_rel);
  device->instance()->quiesce(why);
  // Threads of the pool do not exist in a forked child, and must not be waited for at exit: the pool is never
  // destroyed.
  static auto *kept = new std::vector<std::shared_ptr<ThreadPool>>;
  kept->push_back(device->instance()->services().pool);
}

plugin::Stream *Session::take_stream() {
  std::lock_guard lock(stream_mutex_);
  if (!idle_streams_.empty()) {
    plugin::Stream *s = idle_streams_.back();
    idle_streams_.pop_back();
    return s;
  }
  streams_.push_back(plugin::Stream::create(device_));
  return streams_.back().get();
}

void Session::give_stream(plugin::Stream *s) noexcept {
  std::lock_guard lock(stream_mutex_);
  if (device_) idle_streams_.push_back(s);  // after close() the stream is gone
}

bool Session::launching_here() const noexcept { return mine.last_id == id_ && mine.last->busy; }

plugin::Stream &Session::thread_stream() {
  if (mine.last_id == id_) return *mine.last;
  std::erase_if(mine.held, [](const ThreadStreams::Held &h) { return h.session.expired(); });
  plugin::Stream *stream = nullptr;
  for (auto &h : mine.held)
    if (h.id == id_) stream = h.stream;
  if (!stream) {
    stream = take_stream();
    mine.held.push_back({id_, weak_from_this(), stream});
  }
  mine.last_id = id_;
  mine.last = stream;
  return *stream;
}

}  // namespace qd

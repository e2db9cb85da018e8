// streams.cpp: see streams.hpp. Where the plugin has one queue, both are empty shells.
#include "core/runtime/streams.hpp"

namespace qd {
namespace {

thread_local Stream *used = nullptr;
std::atomic<uint64_t> next_queue{1};

class Using {  // a stream as the thread's, for a scope
 public:
  explicit Using(Stream *s) : before_(Stream::use(s)) {}
  ~Using() { Stream::use(before_); }
  Using(const Using &) = delete;
  Using &operator=(const Using &) = delete;

 private:
  Stream *before_;
};

class SessionStream final : public Stream, public Resource {
 public:
  explicit SessionStream(std::shared_ptr<Session> session) : session_(std::move(session)) {
    queue_.session = session_.get();
    queue_.number = next_queue.fetch_add(1, std::memory_order_relaxed);
    if (session_->instance().streams()) queue_.stream = plugin::Stream::create(session_->device());
    real_ = queue_.stream != nullptr;
    session_->add(this);
  }
  ~SessionStream() { session_->remove(this); }
  void release() noexcept override {
    const std::lock_guard lock(queue_.mutex);
    queue_.stream.reset();
  }

  uint64_t handle() const override { return real_ && queue_.stream ? queue_.stream->native() : 0; }
  void sync() override {
    auto use = session_->use();
    if (!real_) return session_->sync();
    const Using using_it(this);
    session_->on_stream([](plugin::Stream &stream) { stream.sync(); });
  }
  void destroy() noexcept override {
    try {
      auto use = session_->use();
      release();
    } catch (const Error &) {  // the runtime was reset, and the stream went with it
    }
  }
  bool real() const { return real_; }
  Session::Queue &queue() { return queue_; }

 private:
  std::shared_ptr<Session> session_;
  Session::Queue queue_;
  bool real_ = false;
};

class SessionEvent final : public Event, public Resource {
 public:
  explicit SessionEvent(std::shared_ptr<Session> session) : session_(std::move(session)) {
    if (session_->instance().streams()) event_ = plugin::Event::create(session_->device());
    session_->add(this);
  }
  ~SessionEvent() { session_->remove(this); }
  void release() noexcept override { event_.reset(); }

  uint64_t handle() const override { return event_ ? event_->native() : 0; }
  void record(Stream *s) override {
    on(s, [&](plugin::Stream &stream) { event_->record(stream); });
  }
  void wait(Stream *s) override {
    on(s, [&](plugin::Stream &stream) { event_->wait(stream); });
  }
  void sync() override {
    auto use = session_->use();
    if (event_) event_->sync();
  }
  void destroy() noexcept override {
    try {
      auto use = session_->use();
      release();
    } catch (const Error &) {  // as for streams
    }
  }

 private:
  template <class F>
  void on(Stream *s, F &&f) {
    auto use = session_->use();
    if (!event_) return;
    const Using using_it(s ? s : used);
    session_->on_stream(f);
  }

  std::shared_ptr<Session> session_;
  std::unique_ptr<plugin::Event> event_;
};

}  // namespace

Stream *Stream::use(Stream *s) { return std::exchange(used, s); }
bool Stream::in_use() { return used; }

Session::Queue *Session::chosen_queue() const {
  auto *s = static_cast<SessionStream *>(used);
  return s && s->real() && s->queue().session == this ? &s->queue() : nullptr;
}

std::shared_ptr<Stream> make_stream(std::shared_ptr<Session> session) {
  return std::make_shared<SessionStream>(std::move(session));
}

std::shared_ptr<Event> make_event(std::shared_ptr<Session> session) {
  return std::make_shared<SessionEvent>(std::move(session));
}

}  // namespace qd

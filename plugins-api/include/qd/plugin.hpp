// plugin.hpp: a backend in C++17 without writing a C function. A backend is three classes and a few small ones with plain
// methods that throw Failure; negotiate<B>() makes the ABI's table of them (plugin_table.hpp). The table checks arguments,
// catches everything, refuses calls after a fork, and counts (ext_counts.h). backends/null is the example to copy.
#pragma once
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qd/ext_counts.h"
#include "qd/qd_backend.h"
#include "qd/wire.h"

namespace qd::plugin {

inline QdbStr str(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view text(const QdbStr &s) { return s.len ? std::string_view(s.ptr, size_t(s.len)) : std::string_view(); }
inline QdbBytes bytes(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view view(const QdbBytes &b) {
  return b.len ? std::string_view(static_cast<const char *>(b.ptr), size_t(b.len)) : std::string_view();
}

// What a method throws. The host shows `message`; `where` is a task name, an operation or a place in a file.
struct Failure : std::exception {
  QdbStatus status;
  std::string message, where;
  const char *domain = "";  // static storage: "cuda", "llvm", "ir"
  int64_t native = 0;       // the driver's own code
  bool reported = false;    // the error slot was filled already, by another object of the backend
  Failure(QdbStatus s, std::string m, std::string w = {}) : status(s), message(std::move(m)), where(std::move(w)) {}
  const char *what() const noexcept override { return message.c_str(); }
};

// Element i of an array whose producer may know a larger struct than we do.
template <class T> const T &at(const T *array, uint32_t stride, uint32_t i) {
  return *reinterpret_cast<const T *>(reinterpret_cast<const char *>(array) + size_t(stride) * i);
}
template <class T> void check_array(const T *array, uint32_t stride, uint32_t n, const char *what) {
  if (n == 0) return;
  if (!array) throw Failure(QDB_E_INVALID, std::string(what) + ": " + std::to_string(n) + " elements at a null address");
  if (stride < sizeof(T) || stride % 8 != 0)
    throw Failure(QDB_E_INVALID, std::string(what) + ": stride " + std::to_string(stride) + ", expected a multiple of 8 and at least " +
                                     std::to_string(sizeof(T)));
}

// ----------------------------------------------------------------------------------------------------------- host side

// A reference to bytes that the host owns.
class Blob {
 public:
  Blob() = default;
  Blob(const QdbHost *host, void *ctx, QdbBlob *blob, void *data, uint64_t size)
      : host_(host), ctx_(ctx), blob_(blob), data_(static_cast<char *>(data)), size_(size) {}
  Blob(Blob &&o) noexcept { swap(o); }
  Blob &operator=(Blob &&o) noexcept {
    swap(o);
    return *this;
  }
  ~Blob() {
    if (blob_) host_->blob_release(ctx_, blob_);
  }
  char *data() { return data_; }
  uint64_t size() const { return size_; }
  std::string_view view() const { return {data_, size_t(size_)}; }
  explicit operator bool() const { return blob_ != nullptr; }
  QdbBlob *pass() { return std::exchange(blob_, nullptr); }  // to the host

 private:
  void swap(Blob &o) noexcept {
    std::swap(host_, o.host_), std::swap(ctx_, o.ctx_), std::swap(blob_, o.blob_);
    std::swap(data_, o.data_), std::swap(size_, o.size_);
  }
  const QdbHost *host_ = nullptr;
  void *ctx_ = nullptr;
  QdbBlob *blob_ = nullptr;
  char *data_ = nullptr;
  uint64_t size_ = 0;
};

// The host's services. Copyable; valid for ever.
class Host {
 public:
  Host() = default;
  Host(const QdbHost *table, void *ctx) : t_(table), ctx_(ctx) {}
  explicit operator bool() const { return t_ != nullptr; }

  Blob blob(uint64_t size) const {
    QdbBlob *b = nullptr;
    void *data = nullptr;
    if (t_->blob_new(ctx_, size, &b, &data) < 0) throw std::bad_alloc();
    return Blob(t_, ctx_, b, data, size);
  }
  Blob blob(std::string_view content) const {
    Blob b = blob(content.size());
    if (!content.empty()) std::memcpy(b.data(), content.data(), content.size());
    return b;
  }
  bool logs(uint32_t level) const { return t_->log_level(ctx_) >= level; }  // 1 error .. 5 trace
  void log(uint32_t level, std::string_view component, std::string_view message) const {
    const QdbStr c = str(component), m = str(message);
    if (logs(level)) t_->log(ctx_, level, &c, &m);
  }
  void dump(std::string_view kind, std::string_view name, std::string_view data) const {
    const QdbStr k = str(kind), n = str(name);
    const QdbBytes d = bytes(data);
    t_->dump(ctx_, &k, &n, &d);
  }
  // The text that the user put in place of a dump; an empty blob when there is none.
  Blob dump_override(std::string_view kind, std::string_view name) const {
    const QdbStr k = str(kind), n = str(name);
    QdbBlob *b = nullptr;
    if (t_->dump_override(ctx_, &k, &n, &b) != QDB_OK || !b) return {};
    QdbBytes content{};
    t_->blob_view(ctx_, b, &content);
    return Blob(t_, ctx_, b, const_cast<void *>(content.ptr), content.len);
  }
  uint32_t workers() const { return t_->worker_count(ctx_); }
  // For a backend of several objects: what another one needs to make its own Host, and what it gave back.
  const QdbHost *table() const { return t_; }
  void *context() const { return ctx_; }
  Blob adopt(QdbBlob *blob) const {
    QdbBytes content{};
    t_->blob_view(ctx_, blob, &content);
    return Blob(t_, ctx_, blob, const_cast<void *>(content.ptr), content.len);
  }

  // f(begin, end, worker) over [0, n) on the compile threads. The first exception is thrown here, after all have ended.
  template <class F> void parallel_for(uint64_t n, uint64_t grain, F &&f) const {
    struct State {
      std::remove_reference_t<F> *f;
      std::mutex mutex;
      std::exception_ptr first;
    } state{&f, {}, {}};
    const QdbRangeFn body = [](void *arg, uint64_t begin, uint64_t end, uint32_t worker) {
      State &s = *static_cast<State *>(arg);
      try {
        (*s.f)(begin, end, worker);
      } catch (...) {
        std::lock_guard<std::mutex> lock(s.mutex);
        if (!s.first) s.first = std::current_exception();
      }
    };
    const QdbStatus status = t_->parallel_for(ctx_, n, grain, body, &state);
    if (state.first) std::rethrow_exception(state.first);
    if (status < 0) throw Failure(status, "the host's parallel_for failed");
  }

  void report(QdbErr *slot, QdbStatus status, std::string_view message, std::string_view where, const char *domain,
              int64_t native) const noexcept {
    if (!t_ || !slot) return;
    const QdbErrInfo info{sizeof(QdbErrInfo), status, domain, native, str(message), str(where)};
    t_->err_set(ctx_, slot, &info);
  }
  bool cancel_requested(const QdbErr *slot) const { return t_ && t_->cancel_requested(ctx_, slot) != 0; }

 private:
  const QdbHost *t_ = nullptr;
  void *ctx_ = nullptr;
};

// What every method that can fail is given: the running call.
struct Call {
  const Host &host;
  QdbErr *slot;  // may be NULL
  bool cancelled() const { return host.cancel_requested(slot); }
  void poll() const {
    if (cancelled()) throw Failure(QDB_E_CANCELLED, "stopped by the host");
  }
};

// ------------------------------------------------------------------------------------------------- objects and options

// Of one instance; shared by all objects made through it.
struct Shared {
  Host host;
  std::atomic<bool> forked{false};
  QdTestCounts counts{};
};

// Base of every class that the host holds a handle of. `shared` is set by the table as soon as the object is made.
struct Object {
  Shared *shared = nullptr;
  const Host &host() const { return shared->host; }
};

// A handle that came from the host and was made by us.
template <class T, class H> T *object(H *handle) { return reinterpret_cast<T *>(handle); }

class Options {
 public:
  Options(const QdbOption *options, uint32_t stride, uint32_t n) : options_(options), stride_(stride), n_(n) {
    check_array(options, stride, n, "options");
  }
  // Values are decimal text. `otherwise` when the option is not given.
  int64_t integer(std::string_view name, int64_t otherwise) const {
    for (uint32_t i = 0; i < n_; i++) {
      const QdbOption &o = at(options_, stride_, i);
      if (text(o.name) != name) continue;
      const std::string value(text(o.value));
      char *end = nullptr;
      const long long v = std::strtoll(value.c_str(), &end, 10);
      if (value.empty() || *end) throw Failure(QDB_E_INVALID, "option " + std::string(name) + ": expected a number, found \"" + value + "\"");
      return v;
    }
    return otherwise;
  }
  const QdbOption *data() const { return options_; }
  uint32_t stride() const { return stride_; }
  uint32_t count() const { return n_; }

 private:
  const QdbOption *options_;
  uint32_t stride_, n_;
};

// A compile request with its arrays checked.
struct Request {
  uint32_t unit, n_tasks, flags;
  std::string_view target;
  Options options;
  const QdbTask *tasks;
  uint32_t task_stride;
  const QdbTask &task(uint32_t i) const { return at(tasks, task_stride, i); }
};

struct Artifact {
  const char *kind;  // "elf", "ir", ...: at most 15 bytes
  Blob blob;
};

struct Loadable {  // what module_load is given
  const QdbArtifact *artifacts;
  uint32_t stride, n;
  const QdbArtifact &operator[](uint32_t i) const { return at(artifacts, stride, i); }
};

struct Identity {
  const char *arch, *name, *version;
  const char *build_id;  // hex digits of a digest: QD_BUILD_ID of qd_plugin_build_id() in plugins-api/CMakeLists.txt
};

}  // namespace qd::plugin

#include "qd/plugin_pack.hpp"
#include "qd/plugin_table.hpp"

// checked.hpp: the classes of the checking plugin. It stands between a host and another plugin and watches both keep
// qd_backend.h. The host's handles are numbers that are never given out twice: a stale or foreign one is recognised in
// a table, nothing is ever dereferenced on the host's word. All tables of ours live in one `Tables` under one lock,
// which is never held while the wrapped plugin runs; a forked child leaves the parent's Tables behind and starts new
// ones.
#pragma once
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "qd/plugin.hpp"

namespace qd::checked {

using plugin::Call;
using plugin::Failure;
using plugin::Host;

// ---------------------------------------------------------------------------------------------------------- violations

enum class Violation : uint8_t {
#define VIOLATION(name, ...) name,
#include "backends/checked/violations.def"
};

struct Broken : Failure {
  Broken(Violation v, const std::string &found, std::string where);
};

// For functions without an error slot: logged now, and answered by the next call that has one.
void remember(const Failure &) noexcept;

// ------------------------------------------------------------------------------------------------------------- wrapped

// The other plugin. One a file, never unloaded.
struct Wrapped {
  std::string path;
  QdbNegotiateFn negotiate = nullptr;
  QdbHello hello{};    // what we say to it: the host's own words, with our services in between
  Host host;           // the real one
  QdbBackend table{};  // a copy: members behind the plugin's end are NULL
};

// The answer of the wrapped plugin; `reply.reason` says why it is null.
Wrapped *wrap(const QdbHello &, QdbReply &reply);
Wrapped *last_wrapped();
void renew(Wrapped &);  // negotiate again: a plugin that is also used directly remembers its last host only
const QdbHost *services();
// Error slot of a call into the wrapped plugin; the host's own may be NULL.
struct Slot {
  static constexpr uint64_t expected = 0x746f6c5364656b63;
  uint64_t magic = expected;  // no pointer: slots of a host that uses the same plugin directly are told apart by it
  const Host *host = nullptr;
  QdbErr *outer = nullptr;
  std::atomic<int> sets{0};
  std::atomic<QdbStatus> status{QDB_OK};
  bool silent = false;  // nothing reaches the host
  QdbErr *handle() { return reinterpret_cast<QdbErr *>(this); }
};

// ------------------------------------------------------------------------------------------------------------- objects

enum class Kind : uint8_t { instance = 1, device, module, entry, mem, stream };
inline constexpr const char *kind_names[] = {"", "instance", "device", "module", "entry", "memory", "stream"};

struct Instance;
struct Device;

struct Object {
  explicit Object(Kind k) : kind(k) {}
  virtual ~Object() = default;
  Kind kind;
  uint64_t handle = 0;
  void *plugin_handle = nullptr;   // set by make()
  std::shared_ptr<Object> parent;  // outlives us, whatever the host destroys
  Instance *instance = nullptr;
  Device *device = nullptr;   // of all but instances
  uint32_t users = 0;         // calls that run on it; under the lock, like `children`
  uint32_t children[7] = {};  // by kind; entries are not counted
};
// T's handle and how to give the wrapped plugin's one.
template <class H, Kind k>
struct ObjectOf : Object {
  using Handle = H;
  static constexpr Kind own_kind = k;
  ObjectOf() : Object(k) {}
  H *inner() const { return static_cast<H *>(plugin_handle); }
};

struct TaskInfo {  // what a launch is checked against
  std::vector<QdParam> params;
  uint32_t arg_words = 0;
  bool serial = false, reports = false, outputs = false;
};
using TaskInfos = std::map<std::string, std::shared_ptr<const TaskInfo>, std::less<>>;  // by symbol

// Never freed: quiesce must find one without a lock, and a child still asks the parent's.
struct Instance : ObjectOf<QdbInstance, Kind::instance> {
  Wrapped *wrapped = nullptr;
  uint64_t caps = 0;
  QdTestCounts counts{};  // of what the host asked for: compile() twice to compare is one call
  std::atomic<uint32_t> quiesced{0};
  std::atomic<bool> destroyed{false};
  bool fork_tested = false;
  std::unordered_set<uint64_t> plugin_handles;  // of its living objects; under the lock
  Instance *next = nullptr;
};
struct Device : ObjectOf<QdbDevice, Kind::device> {
  uint32_t index = 0;
  std::mutex transfer;                               // for `transfers`
  QdbStream *transfers = nullptr;                    // ours, for guards that are not mapped
  std::map<uint64_t, std::weak_ptr<Object>> memory;  // by address that the host sees; under the lock of Tables
  std::string target[3];
};
struct Entry : ObjectOf<QdbEntry, Kind::entry> {
  std::shared_ptr<const TaskInfo> task;  // null: compiled by another process
  std::string symbol;
};
struct Module : ObjectOf<QdbModule, Kind::module> {
  TaskInfos tasks;
  std::map<std::string, QdbEntry *, std::less<>> entries;
};
struct Mem : ObjectOf<QdbMem, Kind::mem> {
  uint64_t size = 0;         // as the host asked; ours lies between two guards
  uint64_t address = 0;      // as the host sees it
  char *host = nullptr;      // as the host sees it, or NULL
  mutable std::mutex guard;  // held while guards are read, so that mem_free waits for a check by another thread
  bool gone = false;         // under `guard`
};
struct Stream : ObjectOf<QdbStream, Kind::stream> {
  std::atomic<bool> busy{false};
};

struct Tables {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::shared_ptr<Object>> live;
  uint64_t first = 1, next = 1;  // numbers below `first` belong to the parent process
  std::vector<Failure> pending;
  std::map<std::pair<uint64_t, uint64_t>, TaskInfos> artifacts;  // by hash and size
};
Tables &tables();
void leave_parent(uint64_t handle);        // in a forked child
Instance *find_instance(uint64_t handle);  // without a lock; null: none
void keep_instance(Instance *);

// Throws Broken for a handle that is none, and Failure(QDB_E_FORKED) for one of the parent process. Lock held.
std::shared_ptr<Object> find(const void *handle, Kind, const std::string &where, bool destroying = false);
// Makes `object` known and gives the host's handle. Throws when the plugin gave nothing, or a handle that lives.
void *make(std::shared_ptr<Object> object, std::shared_ptr<Object> parent, void *plugin_handle, const char *function);
void check_new(Instance &, Kind, const void *plugin_handle, const char *function);  // the same checks, without making
std::shared_ptr<Object> take_out(const void *handle, Kind, const char *function);   // for destroying

template <class T>
class Using {  // an object that a running call works on
 public:
  Using(typename T::Handle *handle, const std::string &where) {
    std::lock_guard<std::mutex> lock(tables().mutex);
    object_ = std::static_pointer_cast<T>(find(handle, T::own_kind, where));
    object_->users++;
  }
  explicit Using(std::shared_ptr<T> object) : object_(std::move(object)) { object_->users++; }  // lock held
  Using(Using &&) = default;
  ~Using() {
    if (!object_) return;
    std::lock_guard<std::mutex> lock(tables().mutex);
    object_->users--;
  }
  T *operator->() const { return object_.get(); }
  T &operator*() const { return *object_; }
  const std::shared_ptr<T> &shared() const { return object_; }

 private:
  std::shared_ptr<T> object_;
};

// --------------------------------------------------------------------------------------------------------------- calls

// The running call: which function, on behalf of which instance.
struct Frame {
  const Call &call;
  Instance &instance;
  const char *function;
  const QdbBackend &t() const { return instance.wrapped->table; }
  const Host &host() const { return instance.wrapped->host; }
  std::string element(uint32_t i) const { return std::string(function) + ", element " + std::to_string(i); }
};

void ready(Instance &, const char *function);  // throws what is pending, and after quiesce(2)
void check_answer(const Slot &, QdbStatus, const char *function);

// Calls the wrapped plugin: `f(slot)`. Throws when it fails; the reason has reached the host by then.
template <class F>
void forward(const Frame &frame, F &&f, bool silent = false) {
  Slot slot;
  slot.host = &frame.host(), slot.outer = frame.call.slot, slot.silent = silent;
  QdbStatus status = QDB_OK;
  try {
    status = f(slot.handle());
  } catch (...) {  // the functions of a C table promise nothing to the compiler
    throw Broken(Violation::exception, "an exception", frame.function);
  }
  check_answer(slot, status, frame.function);
  if (status == QDB_OK) return;
  Failure failure(status, "the wrapped plugin answered " + std::to_string(status), frame.function);
  failure.reported = !silent;
  throw failure;
}

template <class T, class F>
QdbStatus on(typename T::Handle *handle, const char *function, QdbErr *slot, F &&f) noexcept {
  return plugin::guard(last_wrapped()->host, slot, [&](const Call &call) {
    Using<T> self(handle, function);
    ready(*self->instance, function);
    f(self, Frame{call, *self->instance, function});
  });
}
// For functions that cannot answer a status.
template <class F>
void without_slot(const char *function, F &&f) noexcept {
  try {
    f();
  } catch (const Failure &e) { remember(e); } catch (...) {
    remember(Broken(Violation::exception, "an exception", function));
  }
}
template <class T, class F>
void destroying(typename T::Handle *handle, const char *function, F &&f) noexcept {
  if (!handle) return;
  without_slot(function, [&] {
    const auto self = std::static_pointer_cast<T>(take_out(handle, T::own_kind, function));
    const Call call{self->instance->wrapped->host, nullptr};
    f(*self, Frame{call, *self->instance, function});
  });
}

// Host's structs and arrays.
template <class T>
T *required(T *argument, const char *name, const std::string &where) {
  if (!argument) throw Broken(Violation::null_argument, "`" + std::string(name) + "` is NULL", where);
  return argument;
}
void check_size(uint32_t found, uint32_t expected, const char *name, const std::string &where);
void check_stride(const void *array, uint32_t stride, uint32_t n, uint32_t element, const char *name,
                  const std::string &where);
template <class T>
void check_array(const T *array, uint32_t stride, uint32_t n, const char *name, const std::string &where) {
  check_stride(array, stride, n, sizeof(T), name, where);
}
void check_text(const QdbStr &, const char *name, const std::string &where);
void check_options(const QdbOption *, uint32_t stride, uint32_t n, const std::string &where);

// A struct that the wrapped plugin fills, with bytes behind it that it must leave alone.
template <class T>
struct Guarded {
  T value{};
  unsigned char behind[64];
  Guarded() {
    std::memset(behind, 0xa5, sizeof behind);
    value.struct_size = sizeof(T);
  }
  void check(const char *function) const {
    for (unsigned char b : behind)
      if (b != 0xa5) throw Broken(Violation::struct_overrun, "bytes behind the struct changed", function);
    if (value.struct_size > sizeof(T))
      throw Broken(Violation::struct_overrun, "struct_size grew to " + std::to_string(value.struct_size), function);
  }
};
// Copies a checked answer into the host's struct, as long as that is.
template <class T>
void give(const T &value, T *out) {
  const uint32_t size = std::min<uint32_t>(out->struct_size, sizeof(T));
  std::memcpy(static_cast<void *>(out), &value, size);
  out->struct_size = size;
}
template <size_t n>
void check_ends(const char (&text)[n], const char *name, const char *function) {
  if (!std::memchr(text, 0, n))
    throw Broken(Violation::bad_answer, std::string(name) + " does not end in its array", function);
}

// ---------------------------------------------------------------------------------------------------- guards
// (guards.cpp)

inline constexpr uint64_t guard_bytes = 256;  // each side; keeps any alignment up to it

void paint(const Frame &, Mem &);
void check_zero(const Frame &, Mem &);
void check_guards(const Frame &, const Mem &);
void check_all_guards(const Frame &, Device &);
// The allocation that holds [address, address + size), or null.
std::unique_ptr<Using<Mem>> holder(Device &, uint64_t address, uint64_t size);

class Turn {  // of the one call that a stream bears at a time
 public:
  Turn(Stream &s, const char *function) : stream_(s) {
    if (s.busy.exchange(true)) throw Broken(Violation::stream_race, "a second thread came in", function);
  }
  ~Turn() { stream_.busy.store(false); }
  Turn(const Turn &) = delete;

 private:
  Stream &stream_;
};

extern const QdbBackend table;  // plugin.cpp

}  // namespace qd::checked

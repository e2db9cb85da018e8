// plugin.hpp: a backend plugin as the rest of the core sees it: typed handles over the C table of qd_backend.h. Every
// call is checked: a status becomes qd::Error by status.def, success without a handle is a fault of the plugin. Handles
// destroy their object when they go, keep their parents alive, and may be used from any thread; calls on one Stream are
// serialised by the caller. A Library is never unloaded, so nothing here can dangle into unmapped code.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/digest.hpp"
#include "cache/store.hpp"
#include "core/api/core.hpp"
#include "core/support/thread_pool.hpp"
#include "qd/ext_names.h"
#include "qd/ext_streams.h"
#include "qd/qd_backend.h"

namespace qd::plugin {

// What the host functions act on during a plugin call of one Context.
struct Services {
  std::shared_ptr<ThreadPool> pool;  // compile threads
  std::string dump_path;             // <dump_path>/<name>.<extension>; empty: dumps are dropped
  bool load_ir = false;              // dump_override reads the dumped file back (QD_LOAD_IR)
  bool load_ptx = false;             // and that of kind "ptx" (QUADRANTS_LOAD_PTX)
};

struct Library {  // one loaded plugin; lives until the process ends
  std::string path, arch, name, version;
  cache::Digest build_id;  // all code that can change generated code: part of every key
  uint32_t minor = 0;      // of the ABI, the smaller of both sides
  QdbBackend table{};      // a copy: what the plugin's own struct_size does not cover is NULL here
};

// Loads the first plugin for `arch` that can be loaded; null when there is none. Every refusal on the way is appended
// to `chain`. A library is loaded once per process, whatever asks for it.
const Library *load(const ContextConfig &, const std::string &arch, std::vector<PluginReport> &chain);
std::string describe(const std::vector<PluginReport> &chain);  // one line a refusal: path, step, reason, remedy

struct Caps {
  uint32_t units = 0;  // QDB_UNIT_
  uint64_t caps = 0;   // QDB_CAP_
  uint32_t ir_major = 0, ir_minor = 0;
  uint32_t max_compile_threads = 0;
  bool has(uint64_t cap) const { return (caps & cap) != 0; }
};

struct Task {  // of a compile request; the caller keeps the strings alive
  std::string_view ir, symbol, name;
};

struct Artifact {
  std::string kind;  // "elf", "ptx", "cubin", ...
  cache::Blob bytes;
};

using Options = std::span<const std::pair<std::string, std::string>>;  // rows of options.def, decimal text

class Instance {
 public:
  static std::shared_ptr<Instance> create(const Library &, std::shared_ptr<Services>, Options);
  ~Instance();
  const Library &library() const { return library_; }
  Services &services() const { return *services_; }
  const Caps &caps() const { return caps_; }
  uint32_t device_count() const;
  QdbDeviceInfo device_info(uint32_t index) const;
  void quiesce(
      uint32_t why);  // 1 in a forked child, 2 at exit: calls are refused from here on, handles let go without one
  bool quiesced() const { return quiesced_.load(std::memory_order_relaxed); }

  // `unit` QDB_UNIT_, `flags` QDB_COMPILE_. Any thread; the plugin's limits (QDB_CAP_COMPILE_MT, max_compile_threads)
  // are kept here: a call over the limit waits its turn. `cancelled` is polled by the plugin, from any thread.
  Artifact compile(uint32_t unit, std::span<const Task>, std::string_view target, Options, uint32_t flags,
                   const std::function<bool()> &cancelled = {}) const;
  Artifact finish(std::string_view target, const Artifact &) const;  // only with QDB_CAP_FINISH

  void require() const {  // throws after quiesce
    if (quiesced()) refuse_quiesced();
  }
  QdbInstance *raw() const { return handle_; }
  const void *extension(std::string_view name, uint32_t version) const;  // null: not there
  const QdExtStreams *streams() const { return streams_; }               // null: one queue
  const QdExtNames *names() const { return names_; }                     // null: nobody looks

 private:
  Instance(const Library &, std::shared_ptr<Services>);
  [[noreturn]] void refuse_quiesced() const;
  struct Turns;
  const Library &library_;
  std::shared_ptr<Services> services_;
  QdbInstance *handle_ = nullptr;
  Caps caps_;
  const QdExtStreams *streams_ = nullptr;
  const QdExtNames *names_ = nullptr;
  std::unique_ptr<Turns> turns_;
  std::atomic<bool> quiesced_ = false;
};

class Device {
 public:
  static std::shared_ptr<Device> open(std::shared_ptr<Instance>, uint32_t index);
  ~Device();
  const std::shared_ptr<Instance> &instance() const { return instance_; }
  std::string target(uint32_t level) const;  // canonical bytes; 1: of code, 2: of finished code
  void sync() const;
  void name(std::string_view symbol, std::string_view name) const;  // only where the instance has names()
  QdbDevice *raw() const { return handle_; }

 private:
  explicit Device(std::shared_ptr<Instance> i) : instance_(std::move(i)) {}
  std::shared_ptr<Instance> instance_;
  QdbDevice *handle_ = nullptr;
};

class Module {
 public:
  // Error with status QDB_E_ARTIFACT: drop the entries and recompile.
  static std::unique_ptr<Module> load(std::shared_ptr<Device>, std::span<const Artifact>);
  ~Module();
  QdbEntry *entry(std::string_view symbol) const;  // lives as long as the module

 private:
  explicit Module(std::shared_ptr<Device> d) : device_(std::move(d)) {}
  std::shared_ptr<Device> device_;
  QdbModule *handle_ = nullptr;
};

class Memory {
 public:
  static std::unique_ptr<Memory> alloc(std::shared_ptr<Device>, uint64_t size);  // zeroed, 64-byte aligned; size > 0
  ~Memory();
  uint64_t address() const { return info_.address; }
  void *host() const { return info_.host; }  // mapped pointer or nullptr
  uint64_t size() const { return info_.size; }
  QdbMem *raw() const { return handle_; }

 private:
  explicit Memory(std::shared_ptr<Device> d) : device_(std::move(d)) {}
  std::shared_ptr<Device> device_;
  QdbMem *handle_ = nullptr;
  QdbMemInfo info_{};
};

class Stream {
 public:
  static std::unique_ptr<Stream> create(std::shared_ptr<Device>);
  ~Stream();
  void sync();
  void copy(std::span<const QdbCopy>);
  void fill(std::span<const QdbFill>);
  void launch(std::span<const QdbLaunch>);  // no allocation unless it fails
  // With the extension "qd.streams", else 0 and nothing.
  uint64_t native() const;
  void after(uint64_t native);   // waits for what another library's stream has now
  void before(uint64_t native);  // which waits for what this one has now
  QdbStream *raw() const { return handle_; }
  bool busy = false;  // for who owns it: a call that may run a signal handler is under way

 private:
  explicit Stream(std::shared_ptr<Device> d) : device_(std::move(d)) {}
  std::shared_ptr<Device> device_;
  QdbStream *handle_ = nullptr;
};

class Event {  // only where the instance has streams()
 public:
  static std::unique_ptr<Event> create(std::shared_ptr<Device>);
  static bool can_time(const Instance &);
  static std::unique_ptr<Event> create_timer(std::shared_ptr<Device>);  // only where can_time()
  ~Event();
  uint64_t native() const;
  uint64_t ns_since(const Event &) const;  // both timers, waited for
  void record(Stream &);
  void wait(Stream &);
  void sync();

 private:
  explicit Event(std::shared_ptr<Device> d) : device_(std::move(d)) {}
  static std::unique_ptr<Event> made_by(std::shared_ptr<Device>, decltype(QdExtStreams::event_create) QdExtStreams::*,
                                        const char *name);
  std::shared_ptr<Device> device_;
  QdbEvent *handle_ = nullptr;
};

}  // namespace qd::plugin

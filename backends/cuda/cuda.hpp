// cuda.hpp: the classes that the plugin's table is made of (qd/plugin.hpp). Everything is asynchronous on streams; what
// the driver needs to be told slowly (contexts, functions, occupancy) is asked once and kept.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cuda/codegen_abi.h"
#include "backends/cuda/driver.hpp"
#include "backends/cuda/graph.hpp"
#include "qd/plugin.hpp"

namespace qd::cuda {

using plugin::Call;

// A device's primary context, shared with whatever else uses CUDA in the process. Retained once and kept until the
// process ends: making one takes a tenth of a second.
struct Primary {
  const Driver *driver;
  CUdevice device;
  CUcontext context;
  uint32_t capability;  // 90 for 9.0
  uint32_t multiprocessors, max_block;
  uint32_t max_shared;  // bytes of a block
  bool pools;  // stream-ordered allocation
  bool early;  // tasks may be launched before those in front of them have ended
};
const Primary &primary_of(uint32_t index);

struct Settings {  // options of the instance
  explicit Settings(const plugin::Options &);
  bool graphs;                           // kernels of several tasks become graphs
  bool each;                             // wait for each task, so that a fault has its name (debug)
  uint64_t memory_mib, memory_permille;  // taken when the device is opened
};

class Device;

class Mem : public plugin::Object {
 public:
  Mem(Device &, uint64_t size);  // zeroed
  ~Mem();
  void info(QdbMemInfo &) const;
  CUdeviceptr address() const { return address_; }
  uint64_t size() const { return size_; }

 private:
  Device &device_;
  CUdeviceptr address_ = 0;
  uint64_t size_;
};

// One task's code: a module of the driver. The same bytes are loaded once per device.
class Code {
 public:
  Code(Device &, std::string_view cubin, std::string function);  // throws E_ARTIFACT
  ~Code();
  CUmodule module() const { return module_; }
  const std::string &function() const { return function_; }  // what its task is called in there

 private:
  Device &device_;
  CUmodule module_ = nullptr;
  const std::string function_;
};

// A task ready to run: what a QdbEntry is. The function is looked up by the first launch, because the driver loads code
// then, and a kernel must not pay for tasks that it doesn't run.
struct Entry {
  std::shared_ptr<Code> code;
  std::string symbol;
  QdxCudaMeta meta{};
  std::atomic<CUfunction> function{nullptr};
  bool early = false;        // waits by itself for the tasks before it
  uint32_t block = 0;        // threads
  uint32_t places = 0;       // blocks that the device runs at once
  uint32_t most_blocks = 0;  // of a grid; more would only wait
};

class Module : public plugin::Object {
 public:
  Module(Device &, const plugin::Loadable &);
  ~Module();
  QdbEntry *entry(const Call &, std::string_view symbol);

 private:
  Device &device_;
  std::unordered_map<std::string, Entry> entries_;  // the map keeps addresses stable
};

struct Lane {  // of a stream: where tasks run beside those of other lanes
  CUstream stream = nullptr;
  CUevent done = nullptr;
  CUdeviceptr scratch = 0;
  bool busy = false;  // the stream does not wait for it yet
};

class Stream : public plugin::Object {
 public:
  explicit Stream(Device &);
  ~Stream();
  void sync(const Call &);
  void copy(const Call &, const QdbCopy &);
  void fill(const Call &, const QdbFill &);
  void launch(const Call &, const QdbLaunch *, uint32_t stride, uint32_t n);
  void after_native(uint64_t native);
  void before_native(uint64_t native);
  CUstream raw() const { return stream_; }
  void forget(const Entry *first);  // the entry goes: so does the graph of its kernel

 private:
  template <class F>
  void in_lanes(const Call &, uint64_t pieces, F &&body);
  void to_device(const Call &, CUdeviceptr to, const char *from, uint64_t size);
  void to_host(const Call &, char *to, CUdeviceptr from, uint64_t size);
  void prepare(Entry &);
  void make_room_for_recursion();
  void allow_shared(const Entry &, CUfunction);
  CUdeviceptr scratch(uint32_t lane);
  bool ordered_with(uint64_t native) const;
  bool ready(const QdbLaunch &, Ready &);
  void launch_one(Ready &, CUstream);
  void launch_many(const Entry *first);
  void launch_large(Ready &, CUstream);
  void launch_in_lanes();
  Lane &lane(uint32_t k);  // k from 1
  CUresult join_lanes() noexcept;
  void drop_lanes() noexcept;

  Device &device_;
  CUstream stream_ = nullptr;
  CUevent order_ = nullptr;
  bool in_default_order_ = false;
  const bool graphs_on_;
  std::vector<Ready> ready_;  // of the running launch
  std::mutex graphs_mutex_;   // modules go on other threads
  Graphs graphs_;
  CUdeviceptr scratch_ = 0;
  std::vector<Lane> lanes_;
};

class Event : public plugin::Object {
 public:
  Event(Device &, bool keeps_time);
  ~Event();
  void record(const Stream &);
  void wait(const Stream &);
  void sync();
  uint64_t since(const Event &) const;  // nanoseconds; both keep time and were reached
  CUevent raw() const { return event_; }

 private:
  Device &device_;
  CUevent event_ = nullptr;
};

class Device : public plugin::Object {
 public:
  Device(const Primary &, const Settings &);
  ~Device();
  void sync(const Call &);
  plugin::Blob target(const Call &, uint32_t level);
  std::unique_ptr<Module> load(const Call &, const plugin::Loadable &artifacts) {
    return std::make_unique<Module>(*this, artifacts);
  }
  std::unique_ptr<Mem> alloc(const Call &, uint64_t size) { return std::make_unique<Mem>(*this, size); }
  std::unique_ptr<Stream> stream(const Call &) { return std::make_unique<Stream>(*this); }

  const Primary &primary() const { return primary_; }
  const Driver &driver() const { return *primary_.driver; }
  CUdeviceptr allocate(uint64_t size);
  void release(CUdeviceptr) noexcept;  // when all that was started before is done
  std::shared_ptr<Code> code(std::string_view symbol, std::string_view cubin);
  void name(std::string_view symbol, std::string_view name);  // of a task, for tools
  const Settings &settings() const { return settings_; }
  bool first_stream() { return !streamed_.exchange(true); }  // true once
  CUresult add(Stream *);
  void remove(Stream *);
  void forget(const Entry *);
  void drain() noexcept;  // waits for all streams

  // Pinned buffers for copies from and to pageable memory, two for each thread that takes part; one copy at a time.
  struct Lane {
    static constexpr uint64_t bytes = 2u << 20;
    char *data[2] = {};
    CUevent done[2] = {};
  };
  struct Staging {
    static constexpr uint32_t most = 16;
    std::mutex mutex;
    Lane lanes[most];
  };
  Staging &staging() { return staging_; }
  Lane &lane(uint32_t k);  // made when it is first asked for; within the context, by its thread

  std::mutex prepare_mutex;  // of entries

 private:
  std::shared_ptr<Code> named_code(std::string_view symbol, const std::string &name, std::string_view cubin);
  uint64_t wanted_memory() const;
  CUresult take_memory();
  CUresult publish();  // all streams wait for what service_ has

  const Primary &primary_;
  const Settings settings_;
  CUstream service_ = nullptr;  // allocations
  CUevent order_ = nullptr;     // with streams_mutex_
  std::atomic<bool> streamed_{false};
  std::mutex streams_mutex_, code_mutex_;
  std::vector<Stream *> streams_;
  std::unordered_map<std::string, std::weak_ptr<Code>> codes_;
  std::unordered_map<std::string, std::string> names_;  // by symbol, with code_mutex_
  Staging staging_;
};

class Instance : public plugin::Object {
 public:
  Instance(const plugin::Host &, const plugin::Options &o) : settings_(o) {}  // asks no driver
  void caps(QdbCaps &) const;
  uint32_t device_count(const Call &) const;
  void device_info(const Call &, uint32_t index, QdbDeviceInfo &) const;
  std::unique_ptr<Device> open(const Call &, uint32_t index);
  plugin::Artifact compile(const Call &, const plugin::Request &);
  plugin::Artifact finish(const Call &, std::string_view target, const QdbArtifact &);
  const void *extension(std::string_view, uint32_t) const;
  void quiesce(uint32_t) {}  // the driver's state is the driver's; nothing is called any more

 private:
  const Settings settings_;
  std::atomic<uint32_t> opened_{0};  // the device opened last: finish works in its context
};

struct Backend {
  using Instance = cuda::Instance;
  using Device = cuda::Device;
  using Module = cuda::Module;
  using Mem = cuda::Mem;
  using Stream = cuda::Stream;
};

// The code generator beside this object, opened by the first caller. Throws E_NO_CODEGEN with the package to install.
const QdxCudaCodegen &code_generator();

}  // namespace qd::cuda

// backend.hpp: what the compiler and launches need of a loaded plugin and its open device. core/runtime implements it
// over the C table; tests implement it with fakes. Any thread may call anything; failures are Error with the plugin's
// status.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/store.hpp"
#include "core/api/core.hpp"
#include "qd/qd_backend.h"

namespace qd::compile {

struct BackendInfo {
  std::string arch;
  cache::Digest build_id;  // QdbReply.build_id
  uint32_t units = 0;      // QDB_UNIT_
  uint64_t caps = 0;       // QDB_CAP_
  uint32_t max_compile_threads = 0;
  std::string target, finish_target;  // target_of_device, levels 1 and 2
};

struct Artifact {
  std::string kind;  // "elf", "ptx", ...
  cache::Blob bytes;
};

struct UnitTask {  // views are valid for the call
  std::string_view ir, symbol, name;
};
struct Request {
  uint32_t unit = QDB_UNIT_TASK;
  std::span<const UnitTask> tasks;
  std::span<const std::pair<std::string, std::string>> options;  // rows of options.def, decimal text
  uint32_t flags = 0;                                            // QDB_COMPILE_
  std::function<bool()> cancelled;
};

class Module {  // unloaded by its destructor
 public:
  virtual ~Module() = default;
  virtual QdbEntry *entry(std::string_view symbol) = 0;  // lives as long as the module
};

struct LaunchNames {   // what a launch is called, for people
  const char *kernel;  // until the process ends: errors that show up later name it
  struct Task {
    std::string name;
    bool parallel;
  };
  std::vector<Task> tasks;  // by position in the launch
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const BackendInfo &info() const = 0;
  virtual Artifact compile(const Request &) = 0;
  virtual Artifact finish(const Artifact &) = 0;                        // only with QDB_CAP_FINISH
  virtual std::unique_ptr<Module> load(std::span<const Artifact>) = 0;  // status QDB_E_ARTIFACT: recompile
  virtual std::shared_ptr<Buffer> alloc(uint64_t bytes) = 0;            // zeroed
  // Which queue launch() of the calling thread goes to: launches on different ones may run side by side.
  virtual uint64_t queue() const { return 0; }
  // What people call a task, before it is loaded.
  virtual void name(std::string_view symbol, std::string_view name) { (void)symbol, (void)name; }
  // One call of the plugin on the stream of the calling thread. Throws "the runtime was reset" after close.
  virtual void launch(const LaunchNames &, const QdbLaunch *launches, uint32_t n) = 0;
};

}  // namespace qd::compile

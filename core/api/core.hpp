// core.hpp: all that the Python module uses of the core, besides core/ir (Builder and friends).
//
// A Context is one `qd.init`: a loaded plugin, an open device, the caches, the compile threads. Everything that it
// makes keeps its inner state alive; after close() those objects answer Error "the runtime was reset", and nothing
// leaks. Any thread may call anything; none of these functions takes the GIL, and the callers release it around slow
// ones.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ir/func.hpp"
#include "core/support/error.hpp"

namespace qd {

struct ContextConfig {
  std::vector<std::string> archs;  // in order of preference; the first usable one is opened
  std::string plugin_dir;          // where the plugins beside the core lie
  std::string plugin_path;         // explicit path of one plugin; empty: discovery
  std::vector<std::pair<std::string, std::string>>
      entry_points;                            // arch, path; asked only for an arch that isn't in plugin_dir
  std::map<std::string, std::string> options;  // rows of options.def, decimal text
  bool offline_cache = true;
  std::string cache_root;                    // resolved by the caller
  std::vector<std::string> read_only_roots;  // behind it, in order; looked up, never written
  std::string cleaning_policy = "lru";
  uint64_t cache_max_bytes = 100ull << 20;
  double cleaning_factor = 0.25;
  int per_offload = -1;  // -1 auto, 0, 1
  bool debug_cache_verify = false;
  uint32_t random_seed = 0;
  bool print_ir = false, dump_ir = false, load_ir = false, load_ptx = false, keep_asm = false;
  std::string dump_path = "/tmp/ir/";
  bool kernel_profiler = false;
};

// Where a plugin was looked for and what came of it: `python -m quadrants backends`, and the text of a refusal.
struct PluginReport {
  std::string arch, path, source;  // source: "beside the core", "entry point", "QD_BACKEND_PATH", "explicit"
  std::string name, version, build_id, abi;
  bool usable = false;
  std::string step, reason, remedy;
};
std::vector<PluginReport> survey_plugins(const ContextConfig &);

struct Observations {  // of one compile of one kernel; -1: did not happen (spec/caching.md 4)
  int constructs_total = -1, constructs_hit = -1, constructs_recompiled = -1;
  int tasks_total = -1, tasks_hit = -1, tasks_recompiled = -1;
  std::string whole_kernel_reason;
  double passes_ms = 0, codegen_ms = 0, finish_ms = 0, load_ms = 0;
  uint64_t artifact_bytes = 0;
  int memory_hits = 0, disk_hits = 0;
};

// Times of launches since the context was opened or clear_profile(), for ContextConfig::kernel_profiler.
struct Profile {
  struct Row {  // milliseconds; a count of 0: no launch came to its end
    std::string name;
    uint64_t count = 0;
    double total = 0, min = 0, max = 0;
  };
  struct Record {
    uint32_t task;  // its row
    double start, ms;
  };
  std::vector<Row> tasks, kernels;  // in the order in which they were first launched
  std::vector<Record> trace;        // the last ones, in the order in which they ended on their queue
};

struct Report {  // a record of the report buffer, site number mapped back to the kernel's
  uint32_t site, task;
  int64_t iteration;
  std::vector<uint64_t> values;
};

class Buffer {  // device memory; freed when the last reference goes
 public:
  virtual ~Buffer() = default;
  virtual uint64_t address() const = 0;  // what goes into an argument word
  virtual void *host() const = 0;        // mapped pointer or nullptr
  virtual uint64_t size() const = 0;
  virtual void copy_in(uint64_t offset, const void *src, uint64_t size) = 0;
  virtual void copy_out(uint64_t offset, void *dst, uint64_t size) const = 0;
  virtual void fill(uint64_t offset, uint64_t size, uint64_t pattern, uint32_t pattern_bytes) = 0;
};

enum class Use : uint8_t {
  none,
  reads,
  writes
};  // a kernel that writes memory may read it, and may leave parts as they are

// A compiled, loaded kernel. Kernel words: the layout of wire.h's argument block over the *kernel's* parameters; the
// first QD_ARG_FIRST words are filled by launch(). Copies of what it needs of the words are made before it returns.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual void launch(uint64_t *words) = 0;  // throws Error; reports wait in take_reports
  virtual bool has_reports() const = 0;      // cheap; true after a launch that reported something
  virtual std::vector<Report> take_reports(bool &failed, uint32_t &dropped) = 0;
  virtual const void *result() const = 0;  // QD_RESULT_BYTES, a copy of the calling thread's own; call after sync()
  virtual const Observations &observations() const = 0;
  virtual uint32_t n_tasks() const = 0;
  virtual uint32_t n_words() const = 0;  // kernel words that launch() expects
  // By kernel word, what the kernel does with the memory whose address it is. Not for the path of a launch.
  virtual std::vector<Use> uses() const { return std::vector<Use>(n_words(), Use::writes); }
};

// A queue of launches of its own, beside the one that everything else uses. Where a device has one queue only, these do
// nothing and their handles are 0.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual uint64_t handle() const = 0;  // the driver's
  virtual void sync() = 0;
  virtual void destroy() noexcept = 0;  // waits for what it was given; any number of times
  // Makes it the calling thread's: launches and copies go there. Gives what was there before, null for the usual one.
  static Stream *use(Stream *);
  static bool in_use();  // whether the calling thread has one
};

class Event {  // a point in a stream; null streams are the calling thread's
 public:
  virtual ~Event() = default;
  virtual uint64_t handle() const = 0;
  virtual void record(Stream *) = 0;
  virtual void wait(Stream *) = 0;  // what the stream is given from here on waits
  virtual void sync() = 0;
  virtual void destroy() noexcept = 0;
};

class Context {
 public:
  static std::shared_ptr<Context> open(const ContextConfig &);  // throws Error with the whole chain of refusals
  virtual ~Context() = default;
  virtual void close() = 0;  // waits for running launches; idempotent; Error while launching()
  virtual bool launching() const = 0;  // the calling thread, right now: only a signal handler can ask
  virtual void sync() = 0;
  virtual const std::string &arch() const = 0;
  virtual bool host_shared() const = 0;  // QDB_CAP_HOST_SHARED: host pointers are valid argument words
  virtual std::shared_ptr<Buffer> alloc(uint64_t bytes) = 0;  // zeroed; at least one byte is allocated
  // `kernel` is the whole kernel as the front end built it (not canonical, not split); its name is kernel.debug.name.
  // `plan`, when given, gets what compile_plan() takes.
  virtual std::shared_ptr<Executable> compile(const ir::Unit &kernel, std::string *plan = nullptr) = 0;
  // From a stored plan, without split and canonical form; artifacts are looked up by the plan's digests. Null: these
  // are not the bytes of a plan of this build.
  virtual std::shared_ptr<Executable> compile_plan(std::string_view plan) = 0;
  // Small values of the caller in this context's cache, under a digest of his (32 bytes): the source tier. Nothing
  // comes back and nothing is kept when offline_cache is off.
  virtual std::optional<std::string> recall(std::string_view tier, std::string_view digest) = 0;
  virtual void remember(std::string_view tier, std::string_view digest, std::string_view value) = 0;
  virtual std::shared_ptr<Stream> create_stream() = 0;
  virtual std::shared_ptr<Event> create_event() = 0;
  virtual uint64_t native_stream() = 0;      // of the calling thread's stream; 0 where there is none
  virtual void after(uint64_t native) = 0;   // the thread's stream waits for what another library's has now
  virtual void before(uint64_t native) = 0;  // and the other way round
  virtual void interrupt() = 0;              // asks a running compile to stop: Error{interrupted}
  virtual std::string device_name() const = 0;
  virtual uint32_t max_block_shared() const = 0;  // bytes that the threads of a block share at most
  virtual uint32_t clock_khz() const = 0;         // nominal rate of the device's clock; 0: not known
  virtual void quiesce(uint32_t why) = 0;  // 1 forked child, 2 interpreter exit
  // How often the plugin was asked to work (its extension "qd.test.counts"), by name; empty where it doesn't count.
  virtual std::map<std::string, uint64_t> counts() const = 0;
  // Waits for what was launched. Empty without ContextConfig::kernel_profiler.
  virtual Profile profile() = 0;
  virtual void clear_profile() = 0;
};

// Asked now and then during long launches, on the launching thread; true ends the launch: Error{interrupted}. Set once,
// before the first launch.
void set_launch_poll(std::function<bool()>);

// The folder of a cache as a tool sees it (cache/inspect.hpp). Nothing here needs a Context.
struct CacheEntry {
  std::string path, tier, arch, key, version, payload_digest, problem;  // problem: empty for an intact entry
  uint64_t file_bytes = 0, payload_bytes = 0, hits = 0;
  int64_t used = 0;                                             // seconds since 1970
  std::vector<std::pair<std::string, std::string>> components;  // of the key: name, digest
};
std::vector<CacheEntry> cache_list(const std::string &root, bool whole);
std::optional<std::string> cache_read(const std::string &root, const std::string &path);
// Publishes the bytes of an entry's file; the reason when that can't be done, else empty.
std::string cache_import(const std::string &root, std::string_view file);
std::pair<uint64_t, uint64_t> cache_clean(const std::string &root, const std::string &policy, uint64_t max_bytes,
                                          double factor);  // files and bytes that went
// Tasks of a stored plan: name, digest of the bytes in hex; behind them "tasks", the component of a kernel cached
// whole.
std::vector<std::pair<std::string, std::string>> plan_tasks(std::string_view plan);

// Log lines of the core and of plugins; level 1 error .. 5 trace. The default sink is spdlog's on standard error.
void set_log_level(int level);
int log_level();
void log_line(int level, const std::string &message);

// A trace of phases, tiers and launches, written to `path` by trace_stop() in the format of Chrome's viewer. Times are
// of the steady clock.
void trace_start(const std::string &path);
void trace_stop();
void trace_add(std::string_view category, std::string_view name, std::string_view note, int64_t begin_ns,
               int64_t end_ns);

std::string core_build_id();
std::string digest(std::string_view bytes);  // 32 bytes, BLAKE2b: the digest of the cache's keys

}  // namespace qd

// context.cpp: qd.init as an object: chooses the arch, opens plugin, device and caches, and hands kernels to the
// compiler.
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/compile/compiler.hpp"
#include "core/runtime/device_backend.hpp"
#include "core/runtime/streams.hpp"
#include "core/support/log.hpp"
#include "qd/ext_counts.h"

namespace qd {

namespace {

constexpr uint32_t most_compile_threads = 16;

uint32_t usable_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set)) return 1;
  return uint32_t(std::max(CPU_COUNT(&set), 1));
}

uint32_t compile_threads(const ContextConfig &c) {
  auto it = c.options.find("num_compile_threads");
  long wanted = it == c.options.end() ? 0 : std::atol(it->second.c_str());
  return wanted > 0 ? uint32_t(std::min(wanted, 1024l)) : std::min(usable_cores(), most_compile_threads);
}

std::shared_ptr<plugin::Services> make_services(const ContextConfig &c) {
  auto s = std::make_shared<plugin::Services>();
  s->pool = std::make_shared<ThreadPool>(compile_threads(c));
  s->dump_path = c.dump_path;
  s->load_ir = c.load_ir;
  s->load_ptx = c.load_ptx;
  return s;
}

std::shared_ptr<cache::Store> open_store(const ContextConfig &c) {
  cache::StoreConfig s;
  s.offline_cache = c.offline_cache;
  s.root = c.cache_root;
  s.read_only_roots = c.read_only_roots;
  s.cleaning_policy = c.cleaning_policy;
  s.max_bytes = c.cache_max_bytes;
  s.cleaning_factor = c.cleaning_factor;
  s.version = core_build_id().substr(0, 16);
  s.warn = [](const std::string &message) { log_line(log_warn, "cache", message); };
  return cache::make_store(s);
}

compile::CompilerConfig compiler_config(const ContextConfig &c) {
  compile::CompilerConfig r;
  r.options = c.options;
  r.options["offline_cache"] = c.offline_cache ? "1" : "0";
  r.per_offload = c.per_offload;
  r.offline_cache = c.offline_cache;
  r.debug_cache_verify = c.debug_cache_verify;
  r.print_ir = c.print_ir;
  r.dump_ir = c.dump_ir;
  r.load_ir = c.load_ir;
  r.keep_asm = c.keep_asm;
  r.dump_path = c.dump_path;
  r.random_seed = c.random_seed;
  return r;
}

class OpenContext final : public Context {
 public:
  OpenContext(const ContextConfig &config, const plugin::Library &library) : arch_(library.arch) {
    std::vector<std::pair<std::string, std::string>> options(config.options.begin(), config.options.end());
    auto instance = plugin::Instance::create(library, make_services(config), options);
    if (!instance->device_count())
      throw Error(Kind::runtime, arch_ + ": the driver is there, but no device [QDB_E_NO_DEVICE]", QDB_E_NO_DEVICE);
    info_ = instance->device_info(0);
    host_shared_ = instance->caps().has(QDB_CAP_HOST_SHARED);
    auto pool = instance->services().pool;
    session_ = std::make_shared<Session>(plugin::Device::open(instance, 0), info_);
    if (config.kernel_profiler) profiler_ = std::make_shared<Profiler>(session_);
    offline_cache_ = config.offline_cache;
    store_ = open_store(config);
    compiler_ = std::make_unique<compile::Compiler>(make_backend(session_, profiler_), store_, pool,
                                                   compiler_config(config));
  }
  ~OpenContext() override {
    if (!launching()) close();  // else the session closes with the executable that runs
  }

  void close() override {
    if (launching())
      throw Error(Kind::runtime, "a kernel runs on this thread: a signal handler can't end its runtime");
    store_->settle();
    session_->close();
  }
  bool launching() const override { return session_->launching_here(); }
  void sync() override {
    auto use = session_->use();
    session_->sync();
  }
  const std::string &arch() const override { return arch_; }
  bool host_shared() const override { return host_shared_; }
  std::string device_name() const override { return info_.name; }
  uint32_t max_block_shared() const override { return info_.max_block_shared; }
  uint32_t clock_khz() const override { return info_.clock_khz; }
  std::shared_ptr<Buffer> alloc(uint64_t bytes) override {
    auto use = session_->use();
    return make_buffer(session_, bytes);
  }
  std::shared_ptr<Executable> compile(const ir::Unit &kernel, std::string *plan) override {
    auto use = session_->use();
    return compiler_->compile(kernel, plan);
  }
  std::shared_ptr<Executable> compile_plan(std::string_view plan) override {
    auto use = session_->use();
    return compiler_->compile_plan(plan);
  }
  std::optional<std::string> recall(std::string_view tier, std::string_view digest) override {
    if (!offline_cache_) return {};
    const auto entry = store_->get(key_of(tier, digest));
    if (!entry) return {};
    return std::string(entry->payload->view());
  }
  void remember(std::string_view tier, std::string_view digest, std::string_view value) override {
    if (offline_cache_) store_->put(key_of(tier, digest), cache::Bytes::copy(value), {});
  }
  std::shared_ptr<Stream> create_stream() override {
    auto use = session_->use();
    return make_stream(session_);
  }
  std::shared_ptr<Event> create_event() override {
    auto use = session_->use();
    return make_event(session_);
  }
  uint64_t native_stream() override {
    auto use = session_->use();
    uint64_t native = 0;
    session_->on_stream([&](plugin::Stream &s) { native = s.native(); });
    return native;
  }
  void after(uint64_t native) override {
    auto use = session_->use();
    session_->on_stream([&](plugin::Stream &s) { s.after(native); });
  }
  void before(uint64_t native) override {
    auto use = session_->use();
    session_->on_stream([&](plugin::Stream &s) { s.before(native); });
  }
  void interrupt() override { compiler_->interrupt(); }
  void quiesce(uint32_t why) override {
    if (why != 1) store_->settle();  // the process ends
    session_->quiesce(why);
  }
  std::map<std::string, uint64_t> counts() const override {
    auto use = session_->use();
    const void *found = session_->instance().extension(QD_EXT_COUNTS_NAME, QD_EXT_COUNTS_VERSION);
    const auto *c = static_cast<const QdTestCounts *>(found);
    if (!c) return {};
    return {{"compile_calls", qd_count(&c->compile_calls)}, {"tasks_compiled", qd_count(&c->tasks_compiled)},
            {"finish_calls", qd_count(&c->finish_calls)},   {"load_calls", qd_count(&c->load_calls)},
            {"launch_calls", qd_count(&c->launch_calls)},   {"tasks_launched", qd_count(&c->tasks_launched)},
            {"live_objects", qd_count(&c->live_objects)}};
  }

  Profile profile() override {
    auto use = session_->use();
    return profiler_ ? profiler_->read() : Profile{};
  }
  void clear_profile() override {
    auto use = session_->use();
    if (profiler_) profiler_->clear();
  }

 private:
  cache::Key key_of(std::string_view tier, std::string_view digest) const {
    cache::Key key{std::string(tier), arch_, {}};
    if (digest.size() != key.digest.bytes.size())
      throw Error(Kind::internal, "a key of the cache has 32 bytes, found " + std::to_string(digest.size()));
    std::memcpy(key.digest.bytes.data(), digest.data(), digest.size());
    return key;
  }

  std::string arch_;
  QdbDeviceInfo info_{};
  bool host_shared_ = false, offline_cache_ = true;
  std::shared_ptr<cache::Store> store_;
  std::shared_ptr<Session> session_;
  std::shared_ptr<Profiler> profiler_;  // null: nothing is timed
  std::unique_ptr<compile::Compiler> compiler_;
};

// The drivers of a plugin that was loaded may still be missing: that is a refusal too, and the next arch gets its turn.
PluginReport refusal_of(const plugin::Library &library, const Error &e) {
  PluginReport r;
  r.arch = library.arch;
  r.path = library.path;
  r.source = "loaded";
  r.step = "device";
  r.reason = e.what();
  r.remedy = "install the vendor's driver, or choose another arch";
  return r;
}

}  // namespace

std::string digest(std::string_view bytes) { return std::string(cache::digest_of(bytes).view()); }

std::shared_ptr<Context> Context::open(const ContextConfig &config) {
  std::vector<PluginReport> chain;
  for (const std::string &arch : config.archs) {
    const plugin::Library *library = plugin::load(config, arch, chain);
    if (!library) continue;
    try {
      return std::make_shared<OpenContext>(config, *library);
    } catch (const Error &e) { chain.push_back(refusal_of(*library, e)); }
  }
  std::string wanted;
  for (const std::string &arch : config.archs) wanted += (wanted.empty() ? "" : ", ") + arch;
  throw Error(Kind::runtime, "no backend could be opened (asked for: " + wanted + ")\n" + plugin::describe(chain));
}

}  // namespace qd

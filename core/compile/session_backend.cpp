// session_backend.cpp: the compiler on a real session: the Backend over the plugin's handles, and compile_kernel. Each call
// that touches the plugin holds a Use; modules and launch memory are Resources, so close() can take them back early.
#include "core/compile/arenas.hpp"
#include "core/compile/compiler.hpp"
#include "core/runtime/session.hpp"

namespace qd::compile {
namespace {

using SessionRef = std::shared_ptr<Session>;

class SessionModule final : public Module, public Resource {
 public:
  SessionModule(SessionRef s, std::unique_ptr<plugin::Module> m) : session_(std::move(s)), module_(std::move(m)) { session_->add(this); }
  ~SessionModule() override {
    if (session_->remove(this)) module_.reset();
  }
  QdbEntry *entry(std::string_view symbol) override { return module_->entry(symbol); }
  void release() noexcept override { module_.reset(); }

 private:
  SessionRef session_;
  std::unique_ptr<plugin::Module> module_;
};

class SessionMemory final : public Buffer, public Resource {
 public:
  SessionMemory(SessionRef s, uint64_t bytes)
      : session_(std::move(s)), memory_(plugin::Memory::alloc(session_->device, bytes)), address_(memory_->address()), size_(bytes),
        host_(memory_->host()) {
    session_->add(this);
  }
  ~SessionMemory() override {
    if (session_->remove(this)) memory_.reset();
  }
  uint64_t address() const override { return address_; }
  void *host() const override { return host_; }
  uint64_t size() const override { return size_; }
  void copy_in(uint64_t offset, const void *src, uint64_t size) override {
    transfer({memory_->raw(), offset, nullptr, uint64_t(uintptr_t(src)), size});
  }
  void copy_out(uint64_t offset, void *dst, uint64_t size) const override {
    transfer({nullptr, uint64_t(uintptr_t(dst)), memory_->raw(), offset, size});
  }
  void fill(uint64_t offset, uint64_t size, uint64_t pattern, uint32_t pattern_bytes) override {
    const auto use = session_->use();
    const std::lock_guard lock(session_->stream_mutex);
    const QdbFill f{memory_->raw(), offset, size, pattern, pattern_bytes, 0};
    session_->stream->fill({&f, 1});
  }
  void release() noexcept override {
    memory_.reset();
    host_ = nullptr;
  }

 private:
  void transfer(const QdbCopy &c) const {
    const auto use = session_->use();
    const std::lock_guard lock(session_->stream_mutex);
    session_->stream->copy({&c, 1});
    session_->stream->sync();
  }
  SessionRef session_;
  std::unique_ptr<plugin::Memory> memory_;
  uint64_t address_, size_;
  void *host_;
};

class SessionBackend final : public Backend {
 public:
  explicit SessionBackend(SessionRef s) : session_(std::move(s)) {
    const plugin::Library &l = session_->instance->library();
    const plugin::Caps &c = session_->instance->caps();
    info_ = {l.arch, l.build_id, c.units, c.caps, c.max_compile_threads, session_->target1, session_->target2};
  }
  const BackendInfo &info() const override { return info_; }

  Artifact compile(const Request &r) override {
    std::vector<plugin::Task> tasks;
    for (const UnitTask &t : r.tasks) tasks.push_back({t.ir, t.symbol, t.name});
    auto a = session_->instance->compile(r.unit, tasks, info_.target, plugin::Options(r.options.begin(), r.options.end()), r.flags);
    return {std::move(a.kind), std::move(a.bytes)};
  }
  Artifact finish(const Artifact &a) override {
    auto f = session_->instance->finish(info_.finish_target, {a.kind, a.bytes});
    return {std::move(f.kind), std::move(f.bytes)};
  }
  std::unique_ptr<Module> load(std::span<const Artifact> list) override {
    std::vector<plugin::Artifact> artifacts;
    for (const Artifact &a : list) artifacts.push_back({a.kind, a.bytes});
    return std::make_unique<SessionModule>(session_, plugin::Module::load(session_->device, artifacts));
  }
  std::shared_ptr<Buffer> alloc(uint64_t bytes) override {
    const auto use = session_->use();
    return std::make_shared<SessionMemory>(session_, bytes);
  }
  void launch(const QdbLaunch *launches, uint32_t n) override {
    const auto use = session_->use();
    const std::lock_guard lock(session_->stream_mutex);
    session_->stream->launch({launches, n});
  }

 private:
  SessionRef session_;
  BackendInfo info_;
};

CompilerConfig config_of(const SessionRef &s) {
  const ContextConfig &c = s->config;
  CompilerConfig out;
  out.options = c.options;
  out.per_offload = c.per_offload;
  out.offline_cache = c.offline_cache;
  out.debug_cache_verify = c.debug_cache_verify;
  out.print_ir = c.print_ir;
  out.dump_ir = c.dump_ir;
  out.load_ir = c.load_ir;
  out.keep_asm = c.keep_asm;
  out.dump_path = c.dump_path;
  out.random_seed = c.random_seed;
  out.launches = &s->launches;
  out.cancelled = [services = s->services.get()] { return services->cancelled.load(std::memory_order_relaxed); };
  return out;
}

}  // namespace
}  // namespace qd::compile

namespace qd {

std::shared_ptr<Executable> compile_kernel(const std::shared_ptr<Session> &session, const ir::Unit &kernel) {
  using namespace compile;
  auto backend = std::make_shared<SessionBackend>(session);
  std::shared_ptr<Arenas> arenas;
  {  // the executables own the arenas: the session must not, or the two would keep each other
    const std::lock_guard lock(session->launch_memory_mutex);
    arenas = std::static_pointer_cast<Arenas>(session->launch_memory.lock());
    if (!arenas) session->launch_memory = arenas = make_arenas(backend, session->config.random_seed, &session->launches);
  }
  Compiler compiler(backend, {session, session->store.get()}, {session, &session->services->pool}, config_of(session), arenas);
  return compiler.compile(kernel);
}

}  // namespace qd

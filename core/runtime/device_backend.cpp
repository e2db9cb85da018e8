// device_backend.cpp: compile::Backend over a Session. Every call holds a Use, so that a compile or launch that runs
// while the runtime is reset ends in "the runtime was reset" and nothing worse.
#include "core/runtime/device_backend.hpp"

namespace qd {
namespace {

class LoadedModule final : public compile::Module, public Resource {
 public:
  LoadedModule(std::shared_ptr<Session> session, std::unique_ptr<plugin::Module> module)
      : session_(std::move(session)), module_(std::move(module)) {
    session_->add(this);
  }
  ~LoadedModule() { session_->remove(this); }
  void release() noexcept override { module_.reset(); }
  QdbEntry *entry(std::string_view symbol) override {
    auto use = session_->use();
    return module_->entry(symbol);
  }

 private:
  std::shared_ptr<Session> session_;
  std::unique_ptr<plugin::Module> module_;
};

class Named {  // tells a tool which kernel is being launched
 public:
  Named(const QdExtNames *names, const char *kernel) : names_(names) {
    if (names_) names_->kernel_begin(kernel);
  }
  ~Named() {
    if (names_) names_->kernel_end();
  }
  Named(const Named &) = delete;
  Named &operator=(const Named &) = delete;

 private:
  const QdExtNames *names_;
};

class SessionBackend : public compile::Backend {
 public:
  explicit SessionBackend(std::shared_ptr<Session> session) : session_(std::move(session)) {
    const plugin::Instance &i = session_->instance();
    info_.arch = i.library().arch;
    info_.build_id = i.library().build_id;
    info_.units = i.caps().units;
    info_.caps = i.caps().caps;
    info_.max_compile_threads = i.caps().max_compile_threads;
    info_.target = session_->device()->target(1);
    if (i.caps().has(QDB_CAP_FINISH)) info_.finish_target = session_->device()->target(2);
  }

  const compile::BackendInfo &info() const override { return info_; }

  compile::Artifact compile(const compile::Request &r) override {
    auto use = session_->use();
    std::vector<plugin::Task> tasks;
    tasks.reserve(r.tasks.size());
    for (const compile::UnitTask &t : r.tasks) tasks.push_back({t.ir, t.symbol, t.name});
    auto made = session_->instance().compile(r.unit, tasks, info_.target, r.options, r.flags, r.cancelled);
    return {std::move(made.kind), std::move(made.bytes)};
  }

  compile::Artifact finish(const compile::Artifact &a) override {
    auto use = session_->use();
    auto made = session_->instance().finish(info_.finish_target, {a.kind, a.bytes});
    return {std::move(made.kind), std::move(made.bytes)};
  }

  std::unique_ptr<compile::Module> load(std::span<const compile::Artifact> artifacts) override {
    auto use = session_->use();
    std::vector<plugin::Artifact> list;
    list.reserve(artifacts.size());
    for (const compile::Artifact &a : artifacts) list.push_back({a.kind, a.bytes});
    return std::make_unique<LoadedModule>(session_, plugin::Module::load(session_->device(), list));
  }

  std::shared_ptr<Buffer> alloc(uint64_t bytes) override {
    auto use = session_->use();
    return make_buffer(session_, bytes);
  }

  uint64_t queue() const override { return session_->queue_number(); }

  void name(std::string_view symbol, std::string_view name) override {
    if (!session_->instance().names()) return;
    auto use = session_->use();
    session_->device()->name(symbol, name);
  }

  void launch(const compile::LaunchNames &names, const QdbLaunch *launches, uint32_t n) override {
    on_stream(names, [&](plugin::Stream &s) { s.launch({launches, n}); });
  }

 protected:
  template <class F>
  void on_stream(const compile::LaunchNames &names, F &&f) {
    auto use = session_->use();
    session_->note(names.kernel);
    const Named range(session_->instance().names(), names.kernel);
    session_->on_stream(f);
  }

 private:
  std::shared_ptr<Session> session_;
  compile::BackendInfo info_;
};

class ProfiledBackend final : public SessionBackend {
 public:
  ProfiledBackend(std::shared_ptr<Session> session, std::shared_ptr<Profiler> profiler)
      : SessionBackend(std::move(session)), profiler_(std::move(profiler)) {}

  void launch(const compile::LaunchNames &names, const QdbLaunch *launches, uint32_t n) override {
    on_stream(names, [&](plugin::Stream &s) { profiler_->launch(s, names, {launches, n}); });
  }

 private:
  std::shared_ptr<Profiler> profiler_;
};

}  // namespace

std::shared_ptr<compile::Backend> make_backend(std::shared_ptr<Session> session, std::shared_ptr<Profiler> profiler) {
  if (profiler) return std::make_shared<ProfiledBackend>(std::move(session), std::move(profiler));
  return std::make_shared<SessionBackend>(std::move(session));
}

}  // namespace qd

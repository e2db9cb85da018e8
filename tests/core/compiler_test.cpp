// compiler_test.cpp: what is compiled, what is taken from the store, and what is told about it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/compile/compiler.hpp"
#include "core/ir/ir.hpp"
#include "tests/core/fake_backend.hpp"

using namespace qd;
using namespace qd::test;
using compile::Compiler;
using compile::CompilerConfig;

namespace {

struct Rig {
  std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>();
  std::shared_ptr<cache::Store> store = cache::make_memory_store(64 << 20);
  std::shared_ptr<ThreadPool> pool = std::make_shared<ThreadPool>(4);
  CompilerConfig config;
  Compiler compiler() const { return Compiler(backend, store, pool, config); }
  std::shared_ptr<Executable> build(const std::string &text) const { return compiler().compile(ir::parse(text)); }
};

}  // namespace

TEST(Compiler, PerOffloadRecompilesTheEditedLoopOnly) {
  Rig rig;
  auto e = rig.build(loops(8));
  EXPECT_EQ(e->observations().constructs_total, 8);
  EXPECT_EQ(e->observations().constructs_recompiled, 8);
  EXPECT_EQ(e->observations().whole_kernel_reason, "");
  EXPECT_EQ(rig.backend->compiles, 8);
  std::string edited = loops(8);
  edited.replace(edited.find("3.25"), 4, "9.75");
  e = rig.build(edited);
  EXPECT_EQ(rig.backend->compiles, 9);
  EXPECT_EQ(e->observations().constructs_total, 8);
  EXPECT_EQ(e->observations().constructs_hit, 7);
  EXPECT_EQ(e->observations().constructs_recompiled, 1);
  EXPECT_EQ(e->observations().tasks_total, 8);
  EXPECT_EQ(e->observations().tasks_hit, 7);
  EXPECT_EQ(e->observations().memory_hits, 7);
  EXPECT_GT(e->observations().artifact_bytes, 0u);
}

// The passes trust what they read: a front end that errs is told so.
TEST(Compiler, MalformedKernelIsRefusedBeforeThePasses) {
  Rig rig;
  const char *text =
      "raw\nfunc @k($c: b1) {\n  %0 = arg.b1 $c\n  when %0 {\n    %2 = const.i32 1\n  }\n  output 0, %2\n}\n";
  try {
    rig.build(text);
    FAIL() << "compiled";
  } catch (const Error &e) {
    EXPECT_EQ(e.kind, Kind::internal);
    EXPECT_NE(std::string(e.what()).find("kernel k is malformed: function 0"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("whose region is closed"), std::string::npos) << e.what();
  }
  EXPECT_EQ(rig.backend->compiles, 0);
}

TEST(Compiler, WholeKernelIsOneCallWithAllTasks) {
  Rig rig;
  rig.config.per_offload = 0;
  const auto e = rig.build(loops(8));
  EXPECT_EQ(rig.backend->compiles, 1);
  EXPECT_EQ(rig.backend->compiled_tasks, 8);
  EXPECT_EQ(e->observations().constructs_total, -1);
  EXPECT_EQ(e->observations().tasks_total, 8);
  EXPECT_EQ(e->observations().tasks_recompiled, 8);
  EXPECT_EQ(e->observations().whole_kernel_reason, "per_offload_cache=False");
  const auto again = rig.build(loops(8));
  EXPECT_EQ(rig.backend->compiles, 1);
  EXPECT_EQ(again->observations().tasks_hit, 8);
}

TEST(Compiler, ReasonsForWholeKernels) {
  compile::BackendInfo info;
  info.units = QDB_UNIT_TASK | QDB_UNIT_KERNEL;
  CompilerConfig c;
  EXPECT_EQ(whole_kernel_reason(info, c), "");
  info.caps = QDB_CAP_KERNEL_DEFAULT;
  EXPECT_EQ(whole_kernel_reason(info, c), "backend prefers whole-kernel caching");
  c.per_offload = 1;
  EXPECT_EQ(whole_kernel_reason(info, c), "");
  c.dump_ir = true;
  EXPECT_EQ(whole_kernel_reason(info, c), "compiler debug dump");
  c.per_offload = 0;
  EXPECT_EQ(whole_kernel_reason(info, c), "per_offload_cache=False");
  c.offline_cache = false;
  EXPECT_EQ(whole_kernel_reason(info, c), "offline_cache=False");
  info.units = QDB_UNIT_KERNEL;
  EXPECT_EQ(whole_kernel_reason(info, c), "backend without task modules");
}

TEST(Compiler, EqualTasksAreCompiledOnce) {
  Rig rig;
  std::string twice = loops(2);
  twice.replace(twice.find("1.25"), 4, "0.25");
  const auto e = rig.build(twice);
  EXPECT_EQ(e->n_tasks(), 2u);
  EXPECT_EQ(rig.backend->compiles, 1);
  rig.build(loops(1, 0, "another_kernel"));
  EXPECT_EQ(rig.backend->compiles, 1);
}

TEST(Compiler, ThreadsThatWantOneKernelCompileItOnce) {
  Rig rig;
  rig.backend->while_compiling = [](const compile::Request &) { std::this_thread::yield(); };
  auto compiler = rig.compiler();
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      compiler.compile(ir::parse(loops(6)));
      ++done;
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(done, 8);
  EXPECT_EQ(rig.backend->compiles, 6);
}

TEST(Compiler, RefusedArtifactIsMadeAgain) {
  Rig rig;
  rig.build(loops(3));
  rig.backend->fail_load_number = 1;
  rig.backend->load_status = QDB_E_ARTIFACT;
  const auto e = rig.build(loops(3));
  EXPECT_EQ(rig.backend->compiles, 6);
  EXPECT_EQ(e->observations().tasks_recompiled, 3);
  EXPECT_EQ(rig.backend->modules_alive, 1);
}

TEST(Compiler, FreshArtifactThatIsRefusedIsAnError) {
  Rig rig;
  rig.backend->refused.insert("qd_");
  EXPECT_THROW(rig.build(loops(1)), Error);
  EXPECT_EQ(rig.backend->compiles, 1);
}

TEST(Compiler, DamagedEntryIsAMiss) {
  Rig rig;
  rig.build(loops(1));
  struct Damaging final : cache::Store {
    std::shared_ptr<cache::Store> inner;
    std::optional<cache::Entry> get(const cache::Key &k) override {
      auto e = inner->get(k);
      if (e) e->payload = cache::Bytes::copy("not what pack() makes");
      return e;
    }
    std::optional<cache::Info> stat(const cache::Key &k) override { return inner->stat(k); }
    void put(const cache::Key &k, const cache::Blob &b, const std::vector<cache::Component> &c) override {
      inner->put(k, b, c);
    }
    void drop(const cache::Key &k) override { inner->drop(k); }
    std::unique_ptr<cache::Claim> claim(const cache::Key &k, const std::function<bool()> &f) override {
      return inner->claim(k, f);
    }
  };
  auto damaging = std::make_shared<Damaging>();
  damaging->inner = rig.store;
  rig.store = damaging;
  rig.build(loops(1));
  EXPECT_EQ(rig.backend->compiles, 2);
}

TEST(Compiler, NothingLeaksWhenLoadNumberKFails) {
  for (int k = 0; k < 5; ++k) {
    Rig rig;
    rig.backend->fail_load_number = k;
    std::vector<std::shared_ptr<Executable>> alive;
    int failures = 0;
    for (int i = 0; i < 5; ++i) {
      try {
        alive.push_back(rig.build(loops(2, 10 * i)));
      } catch (const Error &e) {
        ++failures;
        EXPECT_EQ(e.status, QDB_E_DEVICE_MEMORY);
      }
    }
    EXPECT_EQ(failures, 1);
    EXPECT_EQ(rig.backend->modules_alive, 4);
    EXPECT_EQ(rig.backend->compiles, 10) << "what was compiled before the failure is kept";
    alive.clear();
    EXPECT_EQ(rig.backend->modules_alive, 0);
    EXPECT_EQ(rig.backend->buffers_alive, 0);
  }
}

TEST(Compiler, FinishedCodeIsFoundWithoutTheArtifact) {
  Rig rig;
  rig.backend->facts.caps = QDB_CAP_FINISH;
  rig.build(loops(2));
  EXPECT_EQ(rig.backend->finishes, 2);
  const auto e = rig.build(loops(2));
  EXPECT_EQ(rig.backend->finishes, 2);
  EXPECT_EQ(rig.backend->compiles, 2);
  EXPECT_EQ(e->observations().tasks_hit, 2);
  rig.backend->facts.finish_target = "another driver";
  rig.build(loops(2));
  EXPECT_EQ(rig.backend->compiles, 2) << "a driver update keeps the code";
  EXPECT_EQ(rig.backend->finishes, 4);
}

TEST(Compiler, VerifyFindsCodeThatChanges) {
  Rig rig;
  rig.build(loops(1));
  rig.config.debug_cache_verify = true;
  rig.build(loops(1));
  EXPECT_EQ(rig.backend->compiles, 2) << "compiled again and compared";
  struct Moody final : compile::Backend {
    std::shared_ptr<FakeBackend> inner;
    const compile::BackendInfo &info() const override { return inner->info(); }
    compile::Artifact compile(const compile::Request &r) override {
      auto a = inner->compile(r);
      return {a.kind, cache::Bytes::copy(std::string(a.bytes->view()) + std::to_string(inner->compiles) + "\n")};
    }
    compile::Artifact finish(const compile::Artifact &a) override { return inner->finish(a); }
    std::unique_ptr<compile::Module> load(std::span<const compile::Artifact> l) override { return inner->load(l); }
    std::shared_ptr<Buffer> alloc(uint64_t n) override { return inner->alloc(n); }
    void launch(const compile::LaunchNames &names, const QdbLaunch *l, uint32_t n) override {
      inner->launch(names, l, n);
    }
  };
  auto moody = std::make_shared<Moody>();
  moody->inner = rig.backend;
  Compiler compiler(moody, rig.store, rig.pool, rig.config);
  EXPECT_THROW(compiler.compile(ir::parse(loops(1))), Error);
}

// A store whose files take their time, with the most lookups that ran at once.
struct SlowStore final : cache::Store {
  std::unique_ptr<cache::Store> inner = cache::make_memory_store(64 << 20);
  int milliseconds = 0;
  std::atomic<int> running{0}, most{0};
  struct Lookup {
    SlowStore &s;
    explicit Lookup(SlowStore &store) : s(store) {
      const int now = ++s.running;
      for (int seen = s.most; now > seen && !s.most.compare_exchange_weak(seen, now);) {}
      if (s.milliseconds) std::this_thread::sleep_for(std::chrono::milliseconds(s.milliseconds));
    }
    ~Lookup() { --s.running; }
  };
  std::optional<cache::Entry> get(const cache::Key &k) override {
    const Lookup l(*this);
    return inner->get(k);
  }
  std::optional<cache::Info> stat(const cache::Key &k) override { return inner->stat(k); }
  void put(const cache::Key &k, const cache::Blob &b, const std::vector<cache::Component> &c) override {
    inner->put(k, b, c);
  }
  void drop(const cache::Key &k) override { inner->drop(k); }
  std::unique_ptr<cache::Claim> claim(const cache::Key &k, const std::function<bool()> &c) override {
    return inner->claim(k, c);
  }
};

TEST(Compiler, ManySlowFilesAreReadOnMoreThreadsThanThePoolHas) {
  Rig rig;
  rig.pool = std::make_shared<ThreadPool>(1);
  const auto slow = std::make_shared<SlowStore>();
  rig.store = slow;
  rig.build(loops(40));
  EXPECT_EQ(rig.backend->compiles, 40);
  slow->most = 0;  // so far lookups were quick
  slow->milliseconds = 5;
  const auto e = rig.build(loops(40));
  EXPECT_EQ(rig.backend->compiles, 40);
  EXPECT_EQ(e->observations().tasks_hit, 40);
  EXPECT_GT(slow->most, 8);
  EXPECT_LE(slow->most, 16);
  slow->most = 0;
  std::string edited = loops(40);  // what is missing is compiled on the pool, after a look for all
  edited.replace(edited.find("3.25"), 4, "9.75");
  EXPECT_EQ(rig.build(edited)->observations().tasks_recompiled, 1);
  slow->most = 0;
  rig.build(loops(3));
  EXPECT_EQ(slow->most, 1) << "a few files are not worth it";
}

TEST(Compiler, InterruptStopsWhatRunsAndNotWhatComesLater) {
  Rig rig;
  rig.pool = std::make_shared<ThreadPool>(1);
  Compiler *running = nullptr;
  rig.backend->while_compiling = [&](const compile::Request &r) {
    EXPECT_FALSE(r.cancelled());
    running->interrupt();
    EXPECT_TRUE(r.cancelled());
  };
  auto compiler = rig.compiler();
  running = &compiler;
  try {
    compiler.compile(ir::parse(loops(3)));
    FAIL() << "expected an interruption";
  } catch (const Error &e) { EXPECT_EQ(int(e.kind), int(Kind::interrupted)); }
  EXPECT_EQ(rig.backend->compiles, 1);
  rig.backend->while_compiling = nullptr;
  EXPECT_EQ(compiler.compile(ir::parse(loops(3)))->observations().tasks_hit, 1) << "what was finished is kept";
}

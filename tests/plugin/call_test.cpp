// Calls of a plugin: what its answers become, and what the host's functions do for it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/plugin/load.hpp"

namespace qd::plugin {
namespace {

const Library *library(const std::string &name) {
  ContextConfig config;
  config.plugin_dir = QD_BESIDE;
  config.plugin_path = std::string(QD_MADE) + "/" + name + ".so";
  std::vector<PluginReport> chain;
  const Library *l = load(config, name, chain);
  EXPECT_TRUE(l) << describe(chain);
  return l;
}

std::shared_ptr<Instance> instance(const std::string &name, std::shared_ptr<Services> services = nullptr) {
  if (!services) {
    services = std::make_shared<Services>();
    services->pool = std::make_shared<ThreadPool>(3);
  }
  return Instance::create(*library(name), services, {});
}

Artifact compile(const Instance &i, std::string_view name, const std::function<bool()> &cancelled = {}) {
  Task t{"the ir", "symbol", name};
  return i.compile(QDB_UNIT_TASK, {&t, 1}, "target", {}, 0, cancelled);
}

#define EXPECT_ERROR(call, a_kind, a_status, part)                              \
  try {                                                                         \
    call;                                                                       \
    ADD_FAILURE() << "no error";                                                \
  } catch (const Error &e) {                                                    \
    EXPECT_EQ(e.kind, a_kind) << e.what();                                      \
    EXPECT_EQ(e.status, a_status) << e.what();                                  \
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what(); \
  }

TEST(Call, CompileGivesItsBlob) {
  auto i = instance("mould");
  Artifact a = compile(*i, "plain");
  EXPECT_EQ(a.kind, "ir");
  EXPECT_EQ(a.bytes->view(), "the ir");
  EXPECT_EQ(compile(*i, "parallel").bytes->view(), "the ir");
}

TEST(Call, AnswersBecomeErrors) {
  auto i = instance("mould");
  EXPECT_ERROR(compile(*i, "said"), Kind::compilation, QDB_E_IR_OP,
               "mould: compile of said failed: cannot fold spoons (at here) [mould 42]");
  EXPECT_ERROR(compile(*i, "said twice"), Kind::compilation, QDB_E_IR_OP, "cannot fold spoons; nor forks");
  EXPECT_ERROR(compile(*i, "unsaid"), Kind::compilation, QDB_E_COMPILE, "code generation failed [QDB_E_COMPILE]");
  EXPECT_ERROR(compile(*i, "no slot"), Kind::compilation, QDB_E_COMPILE, "code generation failed");
  EXPECT_ERROR(compile(*i, "unknown status"), Kind::internal, -77, "status -77");
  EXPECT_ERROR(compile(*i, "null blob"), Kind::internal, QDB_E_INTERNAL, "gave nothing back");        // 42
  EXPECT_ERROR(compile(*i, "huge blob"), Kind::memory, QDB_E_HOST_MEMORY, "no memory for the code");  // 43
}

TEST(Call, NoDriver) {  // 1
  EXPECT_ERROR(instance("no_driver"), Kind::runtime, QDB_E_NO_DRIVER, "libmould.so.1: cannot open");
}

TEST(Call, SuccessWithoutAHandle) {  // 42
  EXPECT_ERROR(Device::open(instance("null_handles"), 0), Kind::internal, QDB_E_INTERNAL, "device_open");
  auto d = Device::open(instance("mould"), 0);
  EXPECT_ERROR(Module::load(d, {}), Kind::internal, QDB_E_INTERNAL, "module_load");
}

TEST(Call, ThrowingPlugins) {  // 30
  auto i = instance("throwing");
  EXPECT_ERROR(compile(*i, "x"), Kind::internal, QDB_E_INTERNAL, "compile broke");
  auto d = Device::open(i, 0);
  EXPECT_ERROR(Memory::alloc(d, 8), Kind::memory, QDB_E_HOST_MEMORY, "throwing");
  Artifact a{"ir", cache::Bytes::copy("x")};
  EXPECT_ERROR(Module::load(d, {&a, 1}), Kind::runtime, QDB_E_ARTIFACT, "not mine");
  auto s = Stream::create(d);
  EXPECT_ERROR(s->sync(), Kind::internal, QDB_E_INTERNAL, "");
}

TEST(Call, DevicesModulesAndMemory) {
  auto i = instance("mould");
  EXPECT_EQ(i->device_count(), 1u);
  EXPECT_EQ(std::string(i->device_info(0).name).size(), sizeof(QdbDeviceInfo::name) - 1);
  auto d = Device::open(i, 0);
  EXPECT_EQ(d->target(1), "mould-1");
  Artifact good = compile(*i, "plain"), stale{"ir", cache::Bytes::copy("stale")};
  EXPECT_ERROR(Module::load(d, {&stale, 1}), Kind::runtime, QDB_E_ARTIFACT, "stale");
  auto m = Module::load(d, {&good, 1});
  EXPECT_TRUE(m->entry("symbol"));
  EXPECT_ERROR(m->entry("none"), Kind::runtime, QDB_E_SYMBOL, "no such entry");
  auto memory = Memory::alloc(d, 100);
  EXPECT_EQ(memory->size(), 100u);
  EXPECT_EQ(memory->address() % 64, 0u);
  EXPECT_ERROR(Memory::alloc(d, uint64_t(1) << 50), Kind::memory, QDB_E_DEVICE_MEMORY, "no room");
  auto s = Stream::create(d);
  QdbLaunch l{m->entry("symbol"), nullptr, 0, -1, 0, 0, 0};
  EXPECT_ERROR(s->launch({&l, 1}), Kind::runtime, QDB_E_LAUNCH, "below zero");
}

TEST(Call, Cancel) {
  auto i = instance("mould");
  std::atomic<bool> stop = false;
  std::thread other([&] {
    EXPECT_ERROR(compile(*i, "wait for cancel", [&] { return stop.load(); }), Kind::interrupted, QDB_E_CANCELLED,
                 "stopped");
  });
  stop = true;
  other.join();
}

TEST(Call, DumpAndLoadBack) {
  namespace fs = std::filesystem;
  auto services = std::make_shared<Services>();
  services->dump_path = (fs::temp_directory_path() / ("qd_dump_test" + std::to_string(getpid()))).string() + "/deep/";
  auto i = instance("mould", services);
  std::string file = services->dump_path + "a_task.ll";
  EXPECT_ERROR(compile(*i, "override"), Kind::internal, QDB_E_INTERNAL,
               "gave nothing back");  // nothing asked for: not ready
  compile(*i, "dump");
  EXPECT_TRUE(fs::exists(file));
  std::ofstream(file, std::ios::trunc) << "edited";
  services->load_ir = true;
  EXPECT_EQ(compile(*i, "override").bytes->view(), "edited");
  fs::remove_all(fs::path(services->dump_path).parent_path().parent_path());
}

TEST(Call, AfterQuiesceNothingReachesThePlugin) {
  auto i = instance("mould");
  auto d = Device::open(i, 0);
  i->quiesce(1);
  EXPECT_ERROR(d->sync(), Kind::runtime, QDB_E_FORKED, "parent process");
  EXPECT_ERROR(compile(*i, "plain"), Kind::runtime, QDB_E_FORKED, "spawn");
}

}  // namespace
}  // namespace qd::plugin

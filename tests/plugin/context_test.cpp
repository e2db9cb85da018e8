// A Context over the null plugin: opening, memory, compiling, launching, and above all what is left after it was
// closed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/api/core.hpp"
#include "core/ir/ir.hpp"
#include "qd/qd_backend.h"
#include "tests/support/temporary_folder.hpp"

namespace qd {
namespace {

namespace fs = std::filesystem;

const char *const kernel_text = R"(
func @k($x: buf i32 1) {
  %z = const.i32 0
  %n = shape.i32 $x, 0
  operand %z, %n
  parallel.i32 1, 0 {
    %i = axis.i32 0
    store $x, %i, %i
  }
}
)";

struct ContextTest : testing::Test {
  ContextConfig config;
  test::TemporaryFolder folder;
  ContextTest() {
    config.archs = {"null"};
    config.plugin_dir = QD_BESIDE;
    config.cache_root = folder / "cache";
  }
};

std::vector<uint64_t> words_for(const Executable &e, const Buffer &b) {
  std::vector<uint64_t> words(e.n_words());
  words[QD_ARG_FIRST] = b.address();
  words[QD_ARG_FIRST + 1] = b.size() / 4;
  return words;
}

std::string message_of(const std::function<void()> &f, Kind kind = Kind::runtime) {
  try {
    f();
  } catch (const Error &e) {
    EXPECT_EQ(e.kind, kind);
    return e.what();
  }
  return "no error";
}

TEST_F(ContextTest, OpensTheFirstArchThatWorks) {
  config.archs = {"nobody", "null"};
  auto c = Context::open(config);
  EXPECT_EQ(c->arch(), "null");
  EXPECT_TRUE(c->host_shared());
  EXPECT_EQ(c->device_name(), "null device");
  config.archs = {"nobody", "nothing"};
  std::string m = message_of([&] { Context::open(config); });
  for (const char *part : {"nobody, nothing", "libqd_nobody.so", "libqd_nothing.so", "QD_BACKEND_PATH"})
    EXPECT_NE(m.find(part), m.npos) << m;
}

TEST_F(ContextTest, AMissingDriverIsARefusalToo) {
  config.archs = {"no_driver"};
  config.plugin_path = std::string(QD_MADE) + "/no_driver.so";
  std::string m = message_of([&] { Context::open(config); });
  for (const char *part : {"no_driver.so", "libmould.so.1: cannot open", "driver"})
    EXPECT_NE(m.find(part), m.npos) << m;
}

TEST_F(ContextTest, Buffers) {
  for (bool synchronous : {false, true}) {  // mould says that it is a CPU, null does not
    config.archs = {synchronous ? "mould" : "null"};
    config.plugin_path = synchronous ? std::string(QD_MADE) + "/mould.so" : "";
    auto c = Context::open(config);
    auto b = c->alloc(64);
    EXPECT_EQ(b->size(), 64u);
    EXPECT_EQ(b->address() % 64, 0u);
    char back[64];
    std::memset(back, 1, sizeof back);
    b->copy_out(0, back, 64);
    for (char x : back) ASSERT_EQ(x, 0);
    b->copy_in(3, "hello", 5);
    b->fill(16, 8, 0x11223344, 4);
    b->copy_out(0, back, 64);
    EXPECT_EQ(std::string(back + 3, 5), "hello");
    EXPECT_EQ(back[16], 0x44);
    EXPECT_EQ(back[20], 0x44);
    EXPECT_EQ(back[24], 0);
    EXPECT_GE(c->alloc(0)->size(), 1u);
    EXPECT_NE(message_of([&] { b->copy_in(60, "hello", 5); }, Kind::value).find("64 bytes"), std::string::npos);
    EXPECT_NE(message_of([&] { b->copy_out(~0ull, back, 2); }, Kind::value), "no error");
    EXPECT_NE(message_of([&] { b->fill(0, 6, 0, 4); }, Kind::value), "no error");
    EXPECT_NE(message_of([&] { b->fill(0, 6, 0, 3); }, Kind::value), "no error");
  }
}

TEST_F(ContextTest, CompilesLaunchesAndFindsItAgain) {
  ir::Unit kernel = ir::parse(kernel_text);
  for (int round = 0; round < 2; ++round) {
    auto c = Context::open(config);
    auto e = c->compile(kernel);
    auto b = c->alloc(400);
    auto words = words_for(*e, *b);
    e->launch(words.data());
    c->sync();
    EXPECT_EQ(e->n_tasks(), 1u);
    EXPECT_EQ(e->observations().disk_hits, round);
    EXPECT_FALSE(e->has_reports());
  }
  EXPECT_TRUE(fs::exists(config.cache_root));
}

TEST_F(ContextTest, OfflineCacheOffLeavesNoFolder) {
  config.offline_cache = false;
  auto c = Context::open(config);
  c->compile(ir::parse(kernel_text));
  EXPECT_FALSE(fs::exists(config.cache_root));
}

TEST_F(ContextTest, AfterCloseEverythingAnswersAndNothingCrashes) {
  auto c = Context::open(config);
  auto e = c->compile(ir::parse(kernel_text));
  auto b = c->alloc(400), dropped = c->alloc(8);
  auto words = words_for(*e, *b);
  c->close();
  c->close();
  dropped.reset();
  const std::string reset = "the runtime was reset";
  char byte = 0;
  EXPECT_NE(message_of([&] { e->launch(words.data()); }).find(reset), std::string::npos);
  EXPECT_NE(message_of([&] { b->copy_in(0, &byte, 1); }).find(reset), std::string::npos);
  EXPECT_NE(message_of([&] { b->copy_out(0, &byte, 1); }).find(reset), std::string::npos);
  EXPECT_NE(message_of([&] { b->fill(0, 8, 0, 8); }).find(reset), std::string::npos);
  EXPECT_NE(message_of([&] { c->alloc(8); }).find(reset), std::string::npos);
  EXPECT_NE(message_of([&] { c->sync(); }).find(reset), std::string::npos);
  EXPECT_NE(message_of([&] { c->compile(ir::parse(kernel_text)); }).find(reset), std::string::npos);
  c.reset();
  e.reset();
  b.reset();
}

TEST_F(ContextTest, ObjectsMayOutliveTheContext) {
  auto c = Context::open(config);
  auto b = c->alloc(8);
  auto e = c->compile(ir::parse(kernel_text));
  c.reset();
  EXPECT_NE(message_of([&] { b->fill(0, 8, 0, 8); }), "no error");
}

TEST_F(ContextTest, CloseWhileOtherThreadsWork) {
  for (int round = 0; round < 10; ++round) {
    auto c = Context::open(config);
    auto e = c->compile(ir::parse(kernel_text));
    std::atomic<int> ended = 0, launched = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        try {
          auto b = c->alloc(400);
          auto words = words_for(*e, *b);
          for (;;) {
            e->launch(words.data());
            auto other = c->alloc(16);
            other->fill(0, 16, 1, 1);
            ++launched;
          }
        } catch (const Error &x) { ended += std::string(x.what()).find("the runtime was reset") != std::string::npos; }
      });
    while (launched < 20) std::this_thread::yield();
    c->close();
    for (auto &t : threads) t.join();
    EXPECT_EQ(ended, 4);
  }
}

// Everything that a launch brings back lies in memory that close() frees.
TEST_F(ContextTest, CloseWhileOtherThreadsReadResultsAndReports) {
  const char *reporting = R"(func @r($n: i32) {
  %n = arg.i32 $n
  operand %n
  report 3, 0
  output 0, %n
})";
  for (int round = 0; round < 10; ++round) {
    auto c = Context::open(config);
    auto e = c->compile(ir::parse(reporting));
    std::atomic<int> ended = 0, read = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        std::vector<uint64_t> words(e->n_words(), 5);
        uint64_t sum = 0;
        try {
          for (;; ++read) {
            e->launch(words.data());
            bool failed = false;
            uint32_t dropped = 0;
            if (e->has_reports()) sum += e->take_reports(failed, dropped).size();
            sum += *static_cast<const uint64_t *>(e->result());
          }
        } catch (const Error &x) { ended += std::string(x.what()).find("the runtime was reset") != std::string::npos; }
        EXPECT_NE(sum, ~0ull);
      });
    while (read < 20) std::this_thread::yield();
    c->close();
    for (auto &t : threads) t.join();
    EXPECT_EQ(ended, 4);
  }
}

TEST_F(ContextTest, AForkedChildIsToldSo) {
  auto c = Context::open(config);
  auto e = c->compile(ir::parse(kernel_text));
  auto b = c->alloc(400);
  auto words = words_for(*e, *b);
  pid_t child = fork();
  if (!child) {
    alarm(20);
    c->quiesce(1);
    bool told = message_of([&] { e->launch(words.data()); }) != "no error";
    b.reset();
    e.reset();
    c->close();
    c.reset();
    _exit(told ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  e->launch(words.data());  // the parent goes on
}

TEST(CoreBuildId, IsADigest) {
  EXPECT_EQ(core_build_id().size(), 64u);
  EXPECT_EQ(core_build_id().find('/'), std::string::npos);
}

}  // namespace
}  // namespace qd

// launch_test.cpp: what a launch hands to the plugin.
#include <gtest/gtest.h>

#include <time.h>

#include <array>
#include <atomic>
#include <iostream>
#include <set>

#include "core/compile/compiler.hpp"
#include "core/ir/builder.hpp"
#include "core/ir/ir.hpp"
#include "tests/core/fake_backend.hpp"

using namespace qd;
using namespace qd::test;

namespace {

struct Rig {
  std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>();
  compile::CompilerConfig config;
  std::unique_ptr<compile::Compiler> compiler;
  std::shared_ptr<Executable> build(const std::string &text) {
    if (!compiler)
      compiler = std::make_unique<compile::Compiler>(backend, cache::make_memory_store(1 << 20),
                                                     std::make_shared<ThreadPool>(1), config);
    return compiler->compile(ir::parse(text));
  }
};

const char carried[] = R"(func @carried($x: buf f32 1, $n: i32) {
  %z = const.i32 0
  %n = arg.i32 $n
  %s = load.f32 $x, %z
  operand %z, %n
  parallel.i32 1, 0 {
    %i = axis.i32 0
    store $x, %i, %s
  }
  %h = shape.i32 $x, 0
  %two = const.i32 2
  %m = mul.i32 %h, %two
  operand %n, %m
  parallel.i32 1, 0 {
    %k = axis.i32 0
    store $x, %k, %s
  }
  output 0, %s
})";

const char failing[] = R"(func @failing($n: i32, $x: field i32) {
  %z = const.i32 0
  %n = arg.i32 $n
  operand %z, %n
  parallel.i32 1, 0 {
    %i = axis.i32 0
    operand %i
    report 41, 1
  }
  store $x, %z, %n
})";

double thread_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

}  // namespace

TEST(Launch, TasksThatDrawGetTheLaunchsKey) {
  Rig rig;
  rig.config.random_seed = 7;
  const auto e = rig.build(R"(
func @k($x: buf f32 1) {
  %z = const.i32 0
  %n = const.i32 4
  operand %z, %n
  parallel.i32 1, 0 {
    %i = axis.i32 0
    %r = random.f32
    store $x, %i, %r
  }
})");
  uint64_t words[6] = {0, 0, 0, 0, 0x1000, 4};
  e->launch(words);
  e->launch(words);
  const auto &l = rig.backend->launched;
  ASSERT_EQ(l.size(), 2u);
  EXPECT_EQ(l[0].words[QD_ARG_RANDOM], 7u);
  EXPECT_EQ(l[1].words[QD_ARG_RANDOM], 7u | uint64_t(1) << 32) << "the launch number is the upper half";
}

// Names are beside the code: they reach a launch, and change nothing of what is compiled.
TEST(Launch, TasksCarryTheNamesOfTheirLoops) {
  const auto kernel = [](const char *second) {
    ir::Builder b;
    const uint32_t x = b.param({QD_PARAM_BUFFER, ir::Type::f32, 1, QD_ALIAS_EXTERNAL, 0}, "x");
    const ir::Val zero = b.constant(ir::Type::i32, 0), n = b.emit(ir::Op::shape, ir::Type::i32, {x, 0, 0});
    for (const uint64_t bits : {0x3f800000, 0x40000000}) {
      b.emit_taking(ir::Op::parallel, ir::Type::i32, std::array{zero, n}, {1, 0, 0});
      if (bits == 0x40000000) b.loop() = {second, 0};
      const ir::Val i = b.emit(ir::Op::axis, ir::Type::i32, {0, 0, 0});
      b.emit(ir::Op::store, ir::Type::none, {x, i, b.constant(ir::Type::f32, bits)});
      b.emit(ir::Op::end, ir::Type::none);
    }
    b.emit(ir::Op::store, ir::Type::none, {x, zero, b.constant(ir::Type::f32, 0)});
    return std::move(b).finish("named");
  };
  Rig rig;
  rig.build(carried);  // makes the compiler
  const int compiled = rig.backend->compiled_tasks;
  for (const char *second : {"forces", "positions"}) {
    uint64_t words[6] = {0, 0, 0, 0, 0x1000, 4};
    rig.compiler->compile(kernel(second))->launch(words);
    const auto &names = rig.backend->last_names;
    EXPECT_STREQ(names.kernel, "named");
    ASSERT_EQ(names.tasks.size(), 3u);
    EXPECT_EQ(names.tasks[0].name, "named_0");
    EXPECT_EQ(names.tasks[1].name, "named_1_" + std::string(second));
    EXPECT_EQ(names.tasks[2].name, "named_2");
    EXPECT_TRUE(names.tasks[1].parallel);
    EXPECT_FALSE(names.tasks[2].parallel);
  }
  EXPECT_EQ(rig.backend->compiled_tasks, compiled + 3) << "another name is no other code";
}

// A signal handler launches while the thread's own launch is asked whether to stop.
TEST(Launch, OneInTheMidstOfAnotherHasMemoryOfItsOwn) {
  Rig rig;
  const auto e = rig.build(carried);
  std::vector<uint64_t> results, scratch;
  bool nested = true;
  rig.backend->while_launching = [&](const QdbLaunch *l, uint32_t) {
    const auto *words = static_cast<const uint64_t *>(l[0].args);
    results.push_back(words[QD_ARG_RESULT]), scratch.push_back(words[6]);
    uint64_t mine[7] = {0, 0, 0, 0, 0x1000, 50, 30};
    if (nested && results.size() < 3) e->launch(mine);
    *reinterpret_cast<uint64_t *>(words[QD_ARG_RESULT]) = results.size();
  };
  uint64_t words[7] = {0, 0, 0, 0, 0x1000, 50, 30};
  e->launch(words);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(std::set(results.begin(), results.end()).size(), 3u);
  EXPECT_EQ(std::set(scratch.begin(), scratch.end()).size(), 3u);
  nested = false;
  e->launch(words);
  EXPECT_EQ(results[3], results[0]);
  EXPECT_EQ(*static_cast<const uint64_t *>(e->result()), 4u);
}

TEST(Launch, OneCallWithAllTasks) {
  Rig rig;
  rig.config.random_seed = 7;
  const auto e = rig.build(carried);
  ASSERT_EQ(e->n_words(), 4u + 2 + 1);
  uint64_t words[7] = {0, 0, 0, 0, 0x1000, 50, uint64_t(uint32_t(30))};
  e->launch(words);
  e->launch(words);
  EXPECT_EQ(rig.backend->launch_calls, 2);
  ASSERT_EQ(rig.backend->launched.size(), 8u);
  const auto &l = rig.backend->launched;
  EXPECT_EQ(l[0].begin, 0);
  EXPECT_EQ(l[0].end, 1);
  EXPECT_EQ(l[1].end, 30);
  EXPECT_EQ(l[2].end, 70) << "2 * 50 - 30";
  EXPECT_EQ(l[4].words[QD_ARG_RANDOM], 0u) << "no draws: equal launches have equal blocks";
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(l[i].ordinal, i);
    EXPECT_EQ(l[i].words[QD_ARG_ORDINAL], i);
    EXPECT_EQ(l[i].flags, 0u);
    EXPECT_EQ(l[i].words[QD_ARG_RESULT], l[0].words[QD_ARG_RESULT]);
  }
  *reinterpret_cast<uint64_t *>(l[0].words[QD_ARG_RESULT]) = 41;
  EXPECT_EQ(*static_cast<const uint64_t *>(e->result()), 41u);
  // The array's address and extent reach the tasks that name it, and all use one scratch slot.
  EXPECT_EQ(l[0].words[4], 0x1000u);
  EXPECT_EQ(l[0].words[5], 50u);
  EXPECT_EQ(l[0].words[6], l[1].words[4]);
  EXPECT_EQ(l[3].words[4], l[1].words[4]);
}

TEST(Launch, NegativeExtentIsEmpty) {
  Rig rig;
  const auto e = rig.build(carried);
  uint64_t words[7] = {0, 0, 0, 0, 0x1000, 1, uint64_t(uint32_t(-5))};
  e->launch(words);
  EXPECT_EQ(rig.backend->launched[1].end, 0);
  EXPECT_EQ(rig.backend->launched[2].end, 7) << "2 * 1 - (-5)";
}

TEST(Launch, ReportsAreMappedToTheKernelsSites) {
  Rig rig;
  const auto e = rig.build(failing);
  uint64_t words[6] = {0, 0, 0, 0, 9, 0x2000};
  e->launch(words);
  const auto &l = rig.backend->launched;
  ASSERT_EQ(l.size(), 2u);
  EXPECT_EQ(l[0].flags, 0u);
  EXPECT_EQ(l[1].flags, QDB_LAUNCH_REPORTS) << "asks whether the task before it failed";
  EXPECT_FALSE(e->has_reports());
  auto *h = reinterpret_cast<QdReportHeader *>(l[0].words[QD_ARG_REPORT]);
  struct {
    QdReportRecord r;
    uint64_t value;
    QdReportRecord bare;  // without values
  } record{{0, 0, 3, 1, 0}, 3, {0, 0, 4, 0, 0}};
  std::memcpy(h + 1, &record, sizeof record);
  h->used = sizeof record;
  h->failed = 1;
  ASSERT_TRUE(e->has_reports());
  bool failed = false;
  uint32_t dropped = 9;
  const auto reports = e->take_reports(failed, dropped);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].site, 41u);
  EXPECT_EQ(reports[0].iteration, 3);
  EXPECT_EQ(reports[0].values, std::vector<uint64_t>{3});
  EXPECT_EQ(reports[1].iteration, 4);
  EXPECT_TRUE(reports[1].values.empty());
  EXPECT_TRUE(failed);
  EXPECT_EQ(dropped, 0u);
  EXPECT_FALSE(e->has_reports());
  h->used = sizeof record;  // reserved by a record that did not fit: what lay there before is no record
  h->dropped = 1;
  EXPECT_TRUE(e->take_reports(failed, dropped).empty());
  EXPECT_EQ(dropped, 1u);
  h->failed = 1;
  e->launch(words);
  EXPECT_EQ(h->failed, 0u) << "a launch begins without the failure of the one before";
}

TEST(Launch, ThreadsHaveTheirOwnMemory) {
  Rig rig;
  const auto e = rig.build(carried);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        uint64_t words[7] = {0, 0, 0, 0, uint64_t(0x1000 + t), 50, 30};
        e->launch(words);
      }
    });
  for (auto &t : threads) t.join();
  ASSERT_EQ(rig.backend->launched.size(), 8u * 50 * 4);
  std::map<uint64_t, uint64_t> scratch;  // by the array that a thread passed
  for (size_t i = 0; i < rig.backend->launched.size(); i += 4) {
    const auto &first = rig.backend->launched[i];
    const auto [it, fresh] = scratch.emplace(first.words[4], first.words[6]);
    EXPECT_EQ(it->second, first.words[6]);
  }
  std::set<uint64_t> distinct;
  for (const auto &[array, address] : scratch) distinct.insert(address);
  EXPECT_EQ(distinct.size(), 8u);
}

// Two threads are in launch() at the same time, round after round, so one of them gets the other's block back and frees
// it. Nothing but that hand-over orders the two (the meeting is relaxed), so ThreadSanitizer sees it when it does not.
TEST(Launch, BlocksWanderBetweenThreads) {
  constexpr int rounds = 50;
  Rig rig;
  std::atomic<int> met{0}, wrong{0};
  static thread_local uint64_t mine = 0;
  static thread_local int round = 0;
  rig.backend->while_launching = [&](const QdbLaunch *l, uint32_t) {
    met.fetch_add(1, std::memory_order_relaxed);
    ++round;
    while (met.load(std::memory_order_relaxed) < 2 * round) std::this_thread::yield();
    if (static_cast<const uint64_t *>(l->args)[4] != mine) wrong.fetch_add(1, std::memory_order_relaxed);
  };
  const auto e = rig.build(loops(1));
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= 2; ++t)
    threads.emplace_back([&, t] {
      mine = t;
      uint64_t words[6] = {0, 0, 0, 0, t, t};
      for (int i = 0; i < rounds; ++i) e->launch(words);
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(met, 2 * rounds);
  EXPECT_EQ(wrong, 0) << "a launch saw the arguments of another thread's";
}

TEST(Launch, KernelWithoutTasks) {
  Rig rig;
  const auto e = rig.build("func @empty($n: i32) {\n  %n = arg.i32 $n\n}\n");
  EXPECT_EQ(e->n_tasks(), 0u);
  uint64_t words[5] = {};
  e->launch(words);
  EXPECT_EQ(rig.backend->launch_calls, 0);
  EXPECT_EQ(rig.backend->compiles, 0);
}

TEST(Launch, CostIsPrinted) {
  Rig rig;
  rig.backend->keep_launches = false;
  for (int tasks : {1, 16}) {
    const auto e = rig.build(loops(tasks));
    uint64_t words[6] = {0, 0, 0, 0, 0x1000, 100};
    constexpr int n = 20000;
    double ns = 1e9;  // processor time of this thread, the best of some rounds: other processes play no part
    for (int round = 0; round < 8; ++round) {
      const double before = thread_ns();
      for (int i = 0; i < n; ++i) e->launch(words);
      ns = std::min(ns, (thread_ns() - before) / n);
    }
    std::cout << tasks << " tasks: " << ns << " ns a launch before the plugin\n";
    EXPECT_EQ(rig.backend->buffers_alive, 0) << "such a kernel needs no memory of ours";
  }
}

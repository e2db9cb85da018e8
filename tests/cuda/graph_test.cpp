// graph_test.cpp: a kernel of several tasks becomes a graph: by call counts, and by what the kernels would have got.
#include <gtest/gtest.h>

#include "tests/cuda/harness.hpp"
#include "tests/cuda/tasks.hpp"

namespace qd::test {
namespace {

// Three tasks: two parallel ones around a serial one.
struct Kernel {
  explicit Kernel(Cuda &cuda) : c(cuda), e(c.entries({scale, serial, scale})) {
    fake().record_words(8);
    fake().reset();
  }
  ~Kernel() { fake().record_words(0); }
  QdbStatus run(uint64_t x = 0x1000, int64_t n = 5000) { return run(x, n, n); }
  QdbStatus run(uint64_t x, int64_t first, int64_t n) {
    Launches l{c};
    l.add(e[0], {x, uint64_t(first), uint64_t(first)}, 0, first);
    l.add(e[1], {x, 1}, 0, 1);
    l.add(e[2], {x, uint64_t(n), uint64_t(n)}, 0, n);
    return l.run();
  }
  const FakeLaunch &last(size_t from_end) { return *fake().launch(fake().launches() - from_end); }
  Cuda &c;
  std::vector<QdbEntry *> e;
};

TEST(CudaGraph, one_launch_a_call_after_two_plain_ones) {
  Cuda c;
  Kernel k(c);
  ASSERT_EQ(k.run(), QDB_OK);
  ASSERT_EQ(k.run(), QDB_OK);
  EXPECT_EQ(fake().count("cuLaunchKernel"), 6);
  EXPECT_EQ(fake().count("cuGraphCreate"), 0);
  ASSERT_EQ(k.run(), QDB_OK);
  EXPECT_EQ(fake().count("cuLaunchKernel"), 6);
  EXPECT_EQ(fake().count("cuGraphLaunch"), 1);
  fake().reset();
  ASSERT_EQ(k.run(), QDB_OK);
  EXPECT_STREQ(fake().calls(), "cuCtxGetCurrent\ncuCtxPushCurrent\ncuGraphLaunch\ncuCtxPopCurrent\n");
  ASSERT_EQ(fake().launches(), 3u);
  EXPECT_STREQ(fake().launch(0)->name, "t0");
  EXPECT_STREQ(fake().launch(1)->name, "t1");
  EXPECT_STREQ(fake().launch(2)->name, "t2");
  // The first comes after all that was launched before the graph.
  EXPECT_EQ(fake().launch(0)->after, 0u);
  EXPECT_EQ(fake().launch(1)->after, 0b1u);
  EXPECT_EQ(fake().launch(2)->after, 0b10u);
  for (size_t k = 0; k < 3; k++) EXPECT_EQ(fake().launch(k)->early, k > 0) << k;
}

TEST(CudaGraph, changed_words_and_ranges_are_changed_in_place) {
  Cuda c;
  Kernel k(c);
  for (int call = 0; call < 3; call++) ASSERT_EQ(k.run(), QDB_OK);
  fake().reset();
  ASSERT_EQ(k.run(0x2000), QDB_OK);
  EXPECT_EQ(fake().count("cuGraphExecKernelNodeSetParams"), 3);
  EXPECT_EQ(fake().count("cuGraphLaunch"), 1);
  for (size_t back = 1; back <= 3; back++) EXPECT_EQ(k.last(back).words[QD_ARG_FIRST], 0x2000u);
  ASSERT_EQ(k.run(0x2000, 100), QDB_OK);
  EXPECT_EQ(fake().count("cuGraphExecKernelNodeSetParams"), 5);  // the serial task has no range
  EXPECT_EQ(k.last(1).end, 100);
  EXPECT_EQ(k.last(1).words[QD_ARG_FIRST + 2], 100u);
  EXPECT_EQ(k.last(2).grid, 1u);
  EXPECT_EQ(k.last(3).end, 100);
  EXPECT_EQ(fake().count("cuGraphInstantiateWithFlags"), 0);
  EXPECT_EQ(fake().count("cuLaunchKernel"), 0);
}

TEST(CudaGraph, other_tasks_are_another_graph_and_swinging_ones_are_left_alone) {
  Cuda c;
  Kernel k(c);
  for (int call = 0; call < 3; call++) ASSERT_EQ(k.run(), QDB_OK);
  fake().reset();
  ASSERT_EQ(k.run(0x1000, 0, 5000), QDB_OK);  // the first task has nothing to do
  EXPECT_EQ(fake().launches(), 2u);
  EXPECT_EQ(fake().count("cuGraphExecDestroy"), 1);
  for (int call = 0; call < 4; call++) ASSERT_EQ(k.run(), QDB_OK);
  EXPECT_EQ(fake().count("cuGraphLaunch"), 0);  // twice as many as the first time
  ASSERT_EQ(k.run(), QDB_OK);
  EXPECT_EQ(fake().count("cuGraphLaunch"), 1);
}

TEST(CudaGraph, each_stream_has_its_own) {
  Cuda c;
  Kernel k(c);
  for (int call = 0; call < 3; call++) ASSERT_EQ(k.run(), QDB_OK);
  QdbStream *first = c.stream, *other = nullptr;
  ASSERT_EQ(c.t->stream_create(c.device, &other, &c.err), QDB_OK);
  c.stream = other;
  fake().reset();
  for (int call = 0; call < 3; call++) ASSERT_EQ(k.run(), QDB_OK);
  EXPECT_EQ(fake().count("cuLaunchKernel"), 6);
  EXPECT_EQ(fake().count("cuGraphLaunch"), 1);
  EXPECT_EQ(k.last(1).stream, k.last(4).stream);
  c.stream = first;
  ASSERT_EQ(k.run(), QDB_OK);
  EXPECT_EQ(fake().count("cuGraphLaunch"), 2);
  EXPECT_NE(k.last(1).stream, k.last(4).stream);
  c.t->stream_destroy(other);
  EXPECT_EQ(fake().count("cuGraphExecDestroy"), 1);
}

TEST(CudaGraph, goes_with_its_module) {
  Cuda c;
  {
    Kernel k(c);
    for (int call = 0; call < 3; call++) ASSERT_EQ(k.run(), QDB_OK);
  }
  c.t->module_unload(c.modules.back());
  c.modules.pop_back();
  EXPECT_EQ(fake().count("cuGraphExecDestroy"), 1);
  EXPECT_EQ(fake().count("cuGraphDestroy"), 1);
}

TEST(CudaGraph, a_block_that_travels_through_memory_keeps_the_tasks_plain) {
  Cuda c;
  std::string large = "func @k($x: buf f32 1";
  for (int k = 0; k < 500; k++) large += ", $a" + std::to_string(k) + ": i32";
  large += ") {\n  %0 = const.i32 0\n  %1 = const.f32 1\n  store $x, %0, %1\n}";
  const auto e = c.entries({serial, large});
  fake().reset();
  for (int call = 0; call < 5; call++) {
    Launches l{c};
    l.add(e[0], {0x1000, 1}, 0, 1);
    l.add(e[1], std::vector<uint64_t>(502, 7), 0, 1);
    ASSERT_EQ(l.run(), QDB_OK) << c.err.message;
  }
  EXPECT_EQ(fake().count("cuGraphCreate"), 0);
  EXPECT_EQ(fake().count("cuLaunchKernel"), 10);
}

// Whatever call of the graph fails, the kernel runs as plain launches from then on.
TEST(CudaGraph, what_cannot_be_built_or_changed_is_launched_plainly) {
  for (const char *failing : {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphAddDependencies",
                              "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuGraphExecKernelNodeSetParams"}) {
    Cuda c;
    Kernel k(c);
    fake().fail(failing, 0, 2);
    for (uint64_t call = 0; call < 6; call++) {
      const size_t before = fake().launches();
      ASSERT_EQ(k.run(0x1000 * (call + 1)), QDB_OK) << failing;
      ASSERT_EQ(fake().launches(), before + 3) << failing;
      for (size_t back = 1; back <= 3; back++)
        EXPECT_EQ(k.last(back).words[QD_ARG_FIRST], 0x1000 * (call + 1)) << failing;
    }
    EXPECT_EQ(fake().count("cuGraphCreate"),
              fake().count("cuGraphDestroy") + (std::string(failing) == "cuGraphCreate"));
    EXPECT_EQ(fake().count(failing), 1) << failing;
  }
}

}  // namespace
}  // namespace qd::test

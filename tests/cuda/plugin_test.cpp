// plugin_test.cpp: the cuda plugin over the fake driver: what it asks the driver, in which order, and what becomes of
// errors.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backends/cuda/codegen_abi.h"
#include "backends/cuda/target.hpp"
#include "qd/ext_streams.h"
#include "tests/cuda/harness.hpp"
#include "tests/cuda/tasks.hpp"

namespace qd::test {
namespace {

TEST(CudaPlugin, negotiation_and_compiling_ask_no_driver) {
  HostState state;
  const QdbHello h = hello(state);
  QdbReply reply{};
  reply.struct_size = sizeof reply;
  fake().reset();
  ASSERT_EQ(open_plugin(QD_CUDA_PATH)(&h, &reply), QDB_OK);
  EXPECT_STREQ(reply.arch, "cuda");
  const auto *t = static_cast<const QdbBackend *>(reply.backend);
  QdbInstanceDesc desc{};
  desc.struct_size = sizeof desc;
  QdbInstance *instance = nullptr;
  ASSERT_EQ(t->instance_create(&desc, &instance, nullptr), QDB_OK);
  EXPECT_STREQ(fake().calls(), "");
  t->instance_destroy(instance);
}

TEST(CudaPlugin, launches_in_order_with_geometry_and_arguments) {
  Cuda c;
  const auto e = c.entries({scale, serial, sum});
  fake().record_words(8);
  Launches l{c};
  l.add(e[0], {0x1000, 5000, 5000}, 0, 5000);
  l.add(e[1], {0x1000, 1}, 0, 1);
  l.add(e[2], {0x1000, 9, 0x2000, 1000000}, 0, 1000000);
  ASSERT_EQ(l.run(), QDB_OK) << c.err.message;
  ASSERT_EQ(fake().launches(), 3u);
  const FakeLaunch &a = *fake().launch(0), &b = *fake().launch(1), &s = *fake().launch(2);
  EXPECT_STREQ(a.name, "t0");
  EXPECT_EQ(a.block, 256u);  // 5000 positions: each of four multiprocessors has more than two blocks
  EXPECT_EQ(a.grid, 20u);
  EXPECT_EQ(a.begin, 0);
  EXPECT_EQ(a.end, 5000);
  EXPECT_EQ(a.check, 0);
  EXPECT_EQ(a.words[QD_ARG_FIRST], 0x1000u);
  EXPECT_EQ(b.grid, 1u);
  EXPECT_EQ(b.block, 1u);
  EXPECT_EQ(b.words[QD_ARG_ORDINAL], 1u);
  EXPECT_EQ(s.block, 96u);
  EXPECT_EQ(s.grid, 8u);  // a reduction: what runs at once, two blocks on each of four multiprocessors
  EXPECT_NE(s.scratch, 0u);
  fake().record_words(0);
}

// Parts of a float sum go through memory of the stream, zeroed once.
TEST(CudaPlugin, scratch_is_of_the_stream) {
  Cuda c;
  const auto e = c.entries({sum});
  Launches l{c};
  l.add(e[0], {0x1000, 9, 0x2000, 1000000}, 0, 1000000);
  l.add(e[0], {0x1000, 9, 0x2000, 500}, 0, 500);
  ASSERT_EQ(l.run(), QDB_OK) << c.err.message;
  EXPECT_EQ(fake().count("cuMemsetD8Async"), 1);  // new memory is cleared
  EXPECT_EQ(fake().launch(0)->scratch, fake().launch(1)->scratch);
  fake().reset();
  ASSERT_EQ(l.run(), QDB_OK);
  EXPECT_EQ(fake().count("cuMemsetD8Async"), 0);
}

// More positions than threads: a thread takes four side by side, so a fourth of the blocks is enough.
TEST(CudaPlugin, short_bodies_take_several_positions_a_thread) {
  Cuda c;
  const auto e = c.entries({scale});
  Launches l{c};
  l.add(e[0], {0, 1 << 16, 1 << 16}, 0, 1 << 16);
  ASSERT_EQ(l.run(), QDB_OK);
  EXPECT_EQ(fake().launch(0)->grid, (1u << 16) / 256 / 4);
}

TEST(CudaPlugin, empty_ranges_launch_nothing_and_unknown_ones_ask_the_task) {
  Cuda c;
  const auto e = c.entries({scale});
  Launches l{c};
  l.add(e[0], {0, 0, 0}, 5, 5);
  l.add(e[0], {0, 0, 0}, 0, 1, QDB_LAUNCH_RANGE_UNKNOWN | QDB_LAUNCH_REPORTS);
  ASSERT_EQ(l.run(), QDB_OK);
  ASSERT_EQ(fake().launches(), 1u);
  EXPECT_EQ(fake().launch(0)->end, INT64_MIN);
  EXPECT_EQ(fake().launch(0)->check, 1);
}

TEST(CudaPlugin, a_warm_launch_is_one_call_and_the_context_is_left_alone) {
  Cuda c;
  const auto e = c.entries({scale});
  Launches l{c};
  l.add(e[0], {0, 64, 64}, 0, 64);
  ASSERT_EQ(l.run(), QDB_OK);
  fake().reset();
  ASSERT_EQ(l.run(), QDB_OK);
  EXPECT_STREQ(fake().calls(), "cuCtxGetCurrent\ncuCtxPushCurrent\ncuLaunchKernel t0 early\ncuCtxPopCurrent\n");
}

std::string with_shared(uint32_t count) {
  return "func @k($x: field f32 1, $a: shared f32 " + std::to_string(count) + R"() {
  %0 = const.i32 0
  %n = const.i32 64
  operand %0, %n
  parallel.i32 1, 64 {
    %i = axis.i32 0
    %v = load.f32 $x, %i
    store $a, %i, %v
    barrier 0
    %w = load.f32 $a, %0
    store $x, %i, %w
  }
})";
}

TEST(CudaPlugin, large_shared_memory_comes_with_the_launch) {
  Cuda c;
  const auto e = c.entries({with_shared(12 << 10), with_shared(50000)});  // 48 KiB, 200,000 bytes
  Launches l{c};
  for (QdbEntry *entry : e) l.add(entry, {0x1000, 64}, 0, 64);
  for (int call = 0; call < 3; call++) ASSERT_EQ(l.run(), QDB_OK) << c.err.message;
  EXPECT_EQ(fake().count("cuFuncSetAttribute"), 1);
  EXPECT_NE(std::string(fake().calls()).find("cuFuncSetAttribute 8 200000\n"), std::string::npos);
  EXPECT_EQ(fake().count("cuGraphLaunch"), 1);
  for (size_t k = 0; k < 6; k++) EXPECT_EQ(fake().launch(k)->shared, k % 2 ? 200000u : 0u) << k;
}

TEST(CudaPlugin, more_shared_memory_than_the_device_has_is_refused) {
  Cuda c;
  std::string artifact;
  EXPECT_EQ(c.compile({with_shared(60000)}, {}, artifact), QDB_E_UNSUPPORTED);
  EXPECT_NE(c.err.message.find("need 240000 bytes, a block has at most 232448"), std::string::npos) << c.err.message;
}

// Run with QD_FAKE_SM=86: a device with 99 KiB.
TEST(CudaSmallDevice, says_what_a_block_of_it_has) {
  if (!std::getenv("QD_FAKE_SM")) GTEST_SKIP() << "of another device";
  Cuda c;
  QdbDeviceInfo info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(c.t->device_info(c.instance, 0, &info, &c.err), QDB_OK);
  EXPECT_EQ(info.max_block_shared, 99u << 10);
  EXPECT_EQ(info.clock_khz, 1980000u);
  const auto e = c.entries({with_shared(20000), with_shared(50000)});
  Launches l{c};
  l.add(e[0], {0x1000, 64}, 0, 64);
  ASSERT_EQ(l.run(), QDB_OK) << c.err.message;
  l.add(e[1], {0x1000, 64}, 0, 64);
  EXPECT_EQ(l.run(), QDB_E_UNSUPPORTED);
  EXPECT_NE(c.err.message.find("need 200000 bytes, a block of this device has at most 101376"), std::string::npos)
      << c.err.message;
}

TEST(CudaPlugin, a_task_that_does_not_run_is_not_looked_up) {
  Cuda c;
  const auto e = c.entries({scale, serial});
  Launches l{c};
  l.add(e[1], {0, 1}, 0, 1);
  ASSERT_EQ(l.run(), QDB_OK);
  EXPECT_EQ(fake().count("cuModuleLoadData"), 2);
  EXPECT_EQ(fake().count("cuModuleGetFunction"), 1);
}

TEST(CudaPlugin, equal_code_is_loaded_once) {
  Cuda c;
  std::string artifact, native;
  ASSERT_EQ(c.compile({scale}, {}, artifact), QDB_OK);
  ASSERT_EQ(c.finish(artifact, native), QDB_OK);
  QdbModule *a = nullptr, *b = nullptr;
  ASSERT_EQ(c.load_native(native, a), QDB_OK);
  ASSERT_EQ(c.load_native(native, b), QDB_OK);
  EXPECT_EQ(fake().count("cuModuleLoadData"), 1);
}

TEST(CudaPlugin, memory_is_zeroed_copied_and_filled) {
  Cuda c;
  QdbMem *m = nullptr;
  constexpr uint64_t size = 10u << 20;  // more than the pinned buffers hold
  ASSERT_EQ(c.t->mem_alloc(c.device, size, &m, &c.err), QDB_OK);
  std::string host(size, 'x'), back(size, 'y');
  const auto address = [](std::string &s) { return uint64_t(reinterpret_cast<uintptr_t>(s.data())); };
  const QdbCopy out{nullptr, address(back), m, 0, size};
  ASSERT_EQ(c.t->copy(c.stream, &out, sizeof out, 1, &c.err), QDB_OK);
  EXPECT_EQ(back, std::string(size, '\0'));
  for (size_t k = 0; k < size; k++) host[k] = char(k * 31 >> 7);
  const QdbCopy in{m, 0, nullptr, address(host), size};
  ASSERT_EQ(c.t->copy(c.stream, &in, sizeof in, 1, &c.err), QDB_OK);
  ASSERT_EQ(c.t->copy(c.stream, &out, sizeof out, 1, &c.err), QDB_OK);
  EXPECT_TRUE(back == host);
  for (const uint32_t width : {1u, 2u, 4u, 8u}) {
    const uint64_t pattern = 0x1122334455667788ull & (width == 8 ? ~0ull : (1ull << 8 * width) - 1);
    const QdbFill f{m, 16, 1000, pattern, width, 0};
    ASSERT_EQ(c.t->fill(c.stream, &f, sizeof f, 1, &c.err), QDB_OK);
    const QdbCopy part{nullptr, address(back), m, 0, 1024};
    ASSERT_EQ(c.t->copy(c.stream, &part, sizeof part, 1, &c.err), QDB_OK);
    for (uint64_t k = 16; k < 1016; k++)
      ASSERT_EQ(uint8_t(back[k]), uint8_t(pattern >> 8 * ((k - 16) % width))) << width << " " << k;
    EXPECT_EQ(back[1016], host[1016]);
  }
  c.t->mem_free(m);
}

TEST(CudaPlugin, memory_comes_in_whole_words) {
  Cuda c;
  QdbMem *m = nullptr;
  ASSERT_EQ(c.t->mem_alloc(c.device, 61, &m, &c.err), QDB_OK);
  EXPECT_NE(std::string(fake().calls()).find("cuMemAllocAsync 64\n"), std::string::npos) << fake().calls();
  QdbMemInfo info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(c.t->mem_info(m, &info, &c.err), QDB_OK);
  EXPECT_EQ(info.size, 61u);
  c.t->mem_free(m);
}

// The host does not wait for a device that works: streams do, those that come later too.
TEST(CudaPlugin, allocation_is_in_the_order_of_streams) {
  Cuda c;
  QdbMem *m = nullptr;
  fake().reset();
  ASSERT_EQ(c.t->mem_alloc(c.device, 64, &m, &c.err), QDB_OK);
  EXPECT_EQ(fake().count("cuStreamSynchronize"), 0);
  EXPECT_EQ(fake().count("cuEventRecord"), 1);
  EXPECT_EQ(fake().count("cuStreamWaitEvent"), 1);
  QdbStream *other = nullptr;
  ASSERT_EQ(c.t->stream_create(c.device, &other, &c.err), QDB_OK);
  EXPECT_EQ(fake().count("cuStreamWaitEvent"), 2);
  c.t->mem_free(m);
  EXPECT_EQ(fake().count("cuStreamWaitEvent"), 4);  // a free waits for both
  c.t->stream_destroy(other);
}

TEST(CudaPlugin, short_memory_waits_for_frees_and_is_tried_again) {
  Cuda c;
  QdbMem *m = nullptr;
  fake().reset();
  fake().fail("cuMemAllocAsync", 0, 2);
  ASSERT_EQ(c.t->mem_alloc(c.device, 64, &m, &c.err), QDB_OK);
  EXPECT_EQ(fake().count("cuStreamSynchronize"), 1);
  c.t->mem_free(m);
}

TEST(CudaPlugin, a_refused_text_or_code_is_compiled_again) {
  Cuda c;
  std::string artifact, native;
  ASSERT_EQ(c.compile({scale}, {}, artifact), QDB_OK);
  fake().fail("cuLinkAddData", 0, 218);
  EXPECT_EQ(c.finish(artifact, native), QDB_E_ARTIFACT);
  EXPECT_EQ(fake().count("cuLinkDestroy"), 1);
  fake().reset();
  ASSERT_EQ(c.finish(artifact, native), QDB_OK);
  QdbModule *m = nullptr;
  fake().fail("cuModuleLoadData", 0, 200);
  EXPECT_EQ(c.load_native(native, m), QDB_E_ARTIFACT);
  fake().reset();
  EXPECT_EQ(c.load_native(native, m), QDB_OK);
  EXPECT_EQ(c.finish("damaged", native), QDB_E_ARTIFACT);
  EXPECT_EQ(c.finish(artifact, native, "elf"), QDB_E_ARTIFACT);
}

TEST(CudaPlugin, errors_of_launches_name_class_code_and_task) {
  Cuda c;
  const auto e = c.entries({scale});
  Launches l{c};
  l.add(e[0], {0, 64, 64}, 0, 64);
  const std::pair<int, QdbStatus> rows[] = {
      {700, QDB_E_DEVICE_LOST}, {719, QDB_E_DEVICE_LOST}, {701, QDB_E_LAUNCH}, {2, QDB_E_DEVICE_MEMORY}};
  for (const auto &[code, status] : rows) {
    fake().reset();
    fake().fail("cuLaunchKernel", 0, code);
    EXPECT_EQ(l.run(), status) << code;
    EXPECT_NE(c.err.message.find("(" + std::to_string(code)), std::string::npos) << c.err.message;
    EXPECT_EQ(c.err.where, "t0");
  }
}

// A module, memory, copies both ways through pinned memory, streams, events, launches, a graph: the first status that
// is an error. `mem` may be left to free.
QdbStatus everything(Cuda &c, const std::string &artifact, QdbMem *&mem) {
  std::string native;
  QdbModule *module = nullptr;
  QdbStatus status = c.finish(artifact, native);
  const auto then = [&](auto &&step) {
    if (status >= 0) status = step();
  };
  then([&] { return c.load_native(native, module); });
  then([&] { return c.t->mem_alloc(c.device, 1 << 20, &mem, &c.err); });
  std::string host(1 << 20, 'x');
  const auto address = uint64_t(reinterpret_cast<uintptr_t>(host.data()));
  const QdbCopy in{mem, 0, nullptr, address, host.size()}, out{nullptr, address, mem, 0, host.size()};
  const QdbFill fill{mem, 0, 16, 0x123456789, 8, 0};
  then([&] { return c.t->copy(c.stream, &in, sizeof in, 1, &c.err); });
  then([&] { return c.t->copy(c.stream, &out, sizeof out, 1, &c.err); });
  then([&] { return c.t->fill(c.stream, &fill, sizeof fill, 1, &c.err); });
  const QdbStr names[] = {str("t0"), str("t1")};
  QdbEntry *e[2] = {};
  for (int k = 0; k < 2; k++) then([&] { return c.t->module_entry(module, &names[k], &e[k], &c.err); });
  for (int call = 0; call < 4; call++)
    then([&] {
      Launches l{c};
      l.add(e[0], {0, 64, 64}, 0, 64);
      l.add(e[1], {0, uint64_t(call), 0, 64}, 0, 64);
      return l.run();
    });
  QdbStream *other = nullptr;
  QdbEvent *event = nullptr, *timers[2] = {};
  uint64_t ns = 0;
  const QdbStr name = str(QD_EXT_STREAMS_NAME);
  const auto *x = static_cast<const QdExtStreams *>(c.t->extension(c.instance, &name, QD_EXT_STREAMS_VERSION));
  then([&] { return c.t->stream_create(c.device, &other, &c.err); });
  then([&] { return x->event_create(c.device, &event, &c.err); });
  then([&] { return x->event_record(event, c.stream, &c.err); });
  then([&] { return x->event_wait(event, other, &c.err); });
  then([&] { return x->event_sync(event, &c.err); });
  for (QdbEvent *&timer : timers) then([&] { return x->timer_create(c.device, &timer, &c.err); });
  for (QdbEvent *timer : timers) then([&] { return x->event_record(timer, c.stream, &c.err); });
  then([&] { return x->timer_elapsed(timers[0], timers[1], &ns, &c.err); });
  then([&] { return x->after_native(c.stream, 77, &c.err); });
  then([&] { return x->before_native(c.stream, 77, &c.err); });
  then([&] { return c.t->stream_sync(other, &c.err); });
  then([&] { return c.t->device_sync(c.device, &c.err); });
  for (QdbEvent *e : {event, timers[0], timers[1]})
    if (x) x->event_destroy(e);
  c.t->stream_destroy(other);
  return status;
}

constexpr int most_calls = 400;

const std::string &two_tasks() {
  static const std::string made = [] {
    Cuda c;
    std::string artifact;
    c.check(c.compile({scale, sum}, {}, artifact));
    return artifact;
  }();
  return made;
}

// Whatever call fails first: an error, no crash, and no device memory left behind; what may be done without is.
TEST(CudaPlugin, any_call_may_fail) {
  int failed = 0, n = 0;
  for (bool reached = true; reached && n < most_calls; n++) {
    uint64_t live = 0;
    {
      const std::string &artifact = two_tasks();
      Cuda c;
      live = fake().live();
      fake().fail("", n, n % 2 ? 2 : 700);
      QdbMem *mem = nullptr;
      const QdbStatus status = everything(c, artifact, mem);
      reached = !fake().armed();
      fake().reset();
      c.t->mem_free(mem);
      failed += status < 0;
      EXPECT_TRUE(status >= 0 || !c.err.message.empty()) << "call " << n;
    }
    EXPECT_EQ(fake().live(), live) << "call " << n;
  }
  EXPECT_LT(n, most_calls);
  EXPECT_GT(failed, 50);
}

// A device that is lost answers nothing any more: still an error each time, and everything can be given back.
TEST(CudaPlugin, a_device_may_be_lost_at_any_call) {
  int lost = 0, n = 0;
  for (QdbStatus status = -1; status < 0 && n < most_calls; n++) {
    const std::string &artifact = two_tasks();
    Cuda c;
    fake().lose(n, 719);
    QdbMem *mem = nullptr;
    status = everything(c, artifact, mem);
    lost += status < 0;
    EXPECT_TRUE(status >= 0 || c.err.message.find("a kernel failed") != std::string::npos) << n << c.err.message;
    c.t->mem_free(mem);
    for (QdbModule *m : c.modules) c.t->module_unload(m);
    c.modules.clear();
    fake().reset();
  }
  EXPECT_LT(n, most_calls);
  EXPECT_GT(lost, 50);
}

TEST(CudaTarget, levels_and_generations) {
  EXPECT_EQ(cuda::code_target(52), 0u);
  EXPECT_EQ(cuda::code_target(60), 60u);
  EXPECT_EQ(cuda::code_target(87), 86u);
  EXPECT_EQ(cuda::code_target(90), 90u);
  EXPECT_EQ(cuda::code_target(130), 121u);
  const auto a = cuda::target_of(90, 12080, 1), b = cuda::target_of(90, 13000, 1);
  EXPECT_EQ(0, std::memcmp(&a, &b, sizeof a));  // a driver update keeps the text
  const auto d = cuda::target_of(90, 12080, 2), e = cuda::target_of(90, 13000, 2);
  EXPECT_NE(0, std::memcmp(&d, &e, sizeof d));
}

}  // namespace
}  // namespace qd::test

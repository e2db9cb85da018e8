// control_test.cpp: control flow, calls, memory, reports, random draws and ranges of the reference backend, against values worked
// out by hand; and the promises that plugin.hpp makes for every backend (error slots, fork, counts, damaged artifacts).
#include <gtest/gtest.h>

#include <functional>

#include "qd/philox.hpp"
#include "tests/support/plugin_host.hpp"
#include "tests/support/unit_writer.hpp"

namespace qd::test {
namespace {

constexpr Type none = Type::none, b1 = Type::b1, i32 = Type::i32, i64 = Type::i64, f16 = Type::f16, f32 = Type::f32, f64 = Type::f64;

struct ReferenceControl : testing::Test {
  Backend b{QD_REFERENCE_PATH};
  UnitWriter w;
  uint64_t address(const void *p) { return reinterpret_cast<uintptr_t>(p); }
  uint64_t run(std::vector<uint64_t> args = {}, int64_t begin = 0, int64_t end = 1, uint32_t flags = 0) {
    b.check(b.launch(b.load(w.bytes()), args, begin, end, flags));
    return b.results[0];
  }
};

TEST_F(ReferenceControl, WhenTakesOneArm) {
  const uint32_t p = w.scalar(b1);
  const uint32_t v = w.add(Op::var, i32, w.constant(i32, 0));
  const uint32_t c = w.add(Op::arg, b1, p);
  const uint32_t one = w.constant(i32, 1), two = w.constant(i32, 2), three = w.constant(i32, 3);
  w.add(Op::when, none, c);
  w.add(Op::set, none, v, one);
  w.add(Op::other);
  w.add(Op::set, none, v, two);
  w.add(Op::end);
  w.add(Op::when, none, c);  // without an alternative
  w.add(Op::set, none, v, w.add(Op::add, i32, w.add(Op::get, i32, v), three));
  w.add(Op::end);
  w.add(Op::output, none, 0, w.add(Op::get, i32, v));
  EXPECT_EQ(run({1}), 4u);
  EXPECT_EQ(run({0}), 2u);
}

TEST_F(ReferenceControl, LoopsNestAndSkipWhenEmpty) {  // sum of i * j over i in [-2, 3), j in [i, 3)
  const uint32_t lo = w.constant(i32, uint32_t(-2)), hi = w.constant(i32, 3), v = w.add(Op::var, i32, w.constant(i32, 0));
  const uint32_t i = w.add(Op::loop, i32, lo, hi);
  const uint32_t j = w.add(Op::loop, i32, i, hi);
  w.add(Op::set, none, v, w.add(Op::add, i32, w.add(Op::get, i32, v), w.add(Op::mul, i32, i, j)));
  w.add(Op::end);
  w.add(Op::loop, i32, hi, i);  // empty
  w.add(Op::set, none, v, hi);
  w.add(Op::end);
  w.add(Op::end);
  w.add(Op::output, none, 0, w.add(Op::get, i32, v));
  int want = 0;
  for (int x = -2; x < 3; x++)
    for (int y = x; y < 3; y++) want += x * y;
  EXPECT_EQ(int32_t(run()), want);
}

TEST_F(ReferenceControl, LeaveEndsTheLabelItCounts) {  // first n with n*n > 50, found from inside a block inside a repeat
  const uint32_t v = w.add(Op::var, i32, w.constant(i32, 0)), one = w.constant(i32, 1), limit = w.constant(i32, 50);
  w.add(Op::repeat);
  w.add(Op::set, none, v, w.add(Op::add, i32, w.add(Op::get, i32, v), one));
  w.add(Op::block);
  const uint32_t n = w.add(Op::get, i32, v);
  w.add(Op::when, none, w.add(Op::le, b1, w.add(Op::mul, i32, n, n), limit));
  w.add(Op::leave, none, 0);  // the block: go on
  w.add(Op::end);
  w.add(Op::leave, none, 1);  // the repeat
  w.add(Op::end);
  w.add(Op::end);
  w.add(Op::output, none, 0, w.add(Op::get, i32, v));
  EXPECT_EQ(run(), 8u);
}

TEST_F(ReferenceControl, LeaveOfALoopEndsIt) {
  const uint32_t v = w.add(Op::var, i32, w.constant(i32, 0)), zero = w.constant(i32, 0), ten = w.constant(i32, 10), four = w.constant(i32, 4);
  const uint32_t i = w.add(Op::loop, i32, zero, ten);
  w.add(Op::set, none, v, i);
  w.add(Op::when, none, w.add(Op::eq, b1, i, four));
  w.add(Op::leave, none, 0);
  w.add(Op::end);
  w.add(Op::end);
  w.add(Op::output, none, 0, w.add(Op::get, i32, v));
  EXPECT_EQ(run(), 4u);
}

// out[position] = x * 100 + y over a grid of [1, 3) x [-1, 2), with the rows counted by an atomic.
void grid(UnitWriter &w) {
  const uint32_t out = w.buffer(i32), seen = w.buffer(i32, 0, QD_ALIAS_SCRATCH);
  const uint32_t one = w.constant(i32, 1), three = w.constant(i32, 3), minus = w.constant(i32, uint32_t(-1)), two = w.constant(i32, 2);
  const uint32_t hundred = w.constant(i32, 100), zero = w.constant(i32, 0);
  w.operands({one, three, minus, two});
  w.add(Op::parallel, i32, 2);
  const uint32_t x = w.add(Op::axis, i32, 0), y = w.add(Op::axis, i32, 1);
  const uint32_t at = w.add(Op::atomic_add, i32, seen, zero, one);
  w.add(Op::store, none, out, at, w.add(Op::add, i32, w.add(Op::mul, i32, x, hundred), y));
  w.add(Op::end);
}

TEST_F(ReferenceControl, ParallelRunsTheRangeLastAxisFastest) {
  grid(w);
  QdbEntry *e = b.load(w.bytes());
  int32_t out[6] = {}, seen = 0;
  b.check(b.launch(e, {address(out), 6, address(&seen)}, 1, 5));
  EXPECT_EQ(seen, 4);
  EXPECT_EQ(std::vector<int32_t>(out, out + 6), (std::vector<int32_t>{100, 101, 199, 200, 0, 0}));
  b.check(b.launch(e, {address(out), 6, address(&seen)}, 3, 3));
  EXPECT_EQ(seen, 4);
}

TEST_F(ReferenceControl, UnknownRangeIsFoundFromTheBounds) {
  grid(w);
  int32_t out[6] = {}, seen = 0;
  run({address(out), 6, address(&seen)}, 0, 0, QDB_LAUNCH_RANGE_UNKNOWN);
  EXPECT_EQ(std::vector<int32_t>(out, out + 6), (std::vector<int32_t>{99, 100, 101, 199, 200, 201}));
  EXPECT_EQ(b.launch(b.load(w.bytes()), {address(out), 6, address(&seen)}, 0, 7), QDB_E_INVALID);
}

TEST_F(ReferenceControl, EmptyAxisMakesAnEmptyGrid) {
  const uint32_t out = w.buffer(i64), n = w.scalar(i64);
  const uint32_t zero = w.constant(i64, 0), hi = w.add(Op::arg, i64, n), big = w.constant(i64, uint64_t(1) << 62);
  w.operands({zero, big, zero, big, zero, hi});
  w.add(Op::parallel, i64, 3);
  w.add(Op::store, none, out, w.constant(i64, 0), w.add(Op::axis, i64, 2));
  w.add(Op::end);
  int64_t memory = 7;
  QdbEntry *e = b.load(w.bytes());
  b.check(b.launch(e, {address(&memory), 1, uint64_t(-5)}, 0, 0, QDB_LAUNCH_RANGE_UNKNOWN));
  EXPECT_EQ(memory, 7);
  EXPECT_EQ(b.launch(e, {address(&memory), 1, 5}, 0, 0, QDB_LAUNCH_RANGE_UNKNOWN), QDB_E_LAUNCH);  // 5 * 2^124 points
}

TEST_F(ReferenceControl, FunctionsReturnSeveralResultsAndRecurse) {  // fib(n) and n * 2
  const uint32_t n = w.scalar(i32);
  const uint32_t f = w.function(1, 2);
  const uint32_t x = w.add(Op::farg, i32, 0), r = w.add(Op::var, i32, x), one = w.constant(i32, 1), two = w.constant(i32, 2);
  w.add(Op::when, none, w.add(Op::lt, b1, one, x));
  const uint32_t p = w.add(Op::sub, i32, x, one), q = w.add(Op::sub, i32, x, two);
  w.operands({p});
  const uint32_t call1 = w.add(Op::call, none, f);
  w.operands({q});
  const uint32_t call2 = w.add(Op::call, none, f);
  w.add(Op::set, none, r, w.add(Op::add, i32, w.add(Op::result, i32, call1, 0), w.add(Op::result, i32, call2, 0)));
  w.add(Op::end);
  const uint32_t got = w.add(Op::get, i32, r), twice = w.add(Op::add, i32, x, x);
  w.operands({got, twice});
  w.add(Op::ret);
  w.select(0);
  const uint32_t a = w.add(Op::arg, i32, n);
  w.operands({a});
  const uint32_t c = w.add(Op::call, none, f);
  w.add(Op::output, none, 0, w.add(Op::result, i32, c, 0));
  w.add(Op::output, none, 511, w.add(Op::result, i32, c, 1));
  EXPECT_EQ(run({15}), 610u);
  EXPECT_EQ(b.results[511], 30u);
}

TEST_F(ReferenceControl, EndlessRecursionIsAnError) {
  const uint32_t f = w.function(0, 0);
  w.add(Op::call, none, f);
  w.add(Op::ret);
  w.select(0);
  w.add(Op::call, none, f);
  EXPECT_EQ(b.launch(b.load(w.bytes()), {}), QDB_E_LAUNCH);
  EXPECT_NE(b.err.message.find("function 1: more than 10000 calls"), std::string::npos) << b.err.message;
  UnitWriter good;
  good.add(Op::output, none, 0, good.constant(i32, 9));
  w = good;
  EXPECT_EQ(run(), 9u);  // the stream is usable afterwards
}

TEST_F(ReferenceControl, LocalArraysAreFreshZeroAndChecked) {
  const uint32_t p = w.scalar(i32), v = w.add(Op::var, i64, w.constant(i64, 0));
  const uint32_t index = w.add(Op::arg, i32, p), zero = w.constant(i32, 0), three = w.constant(i32, 3), five = w.constant(i64, 5);
  w.add(Op::loop, i32, zero, three);
  const uint32_t a = w.add(Op::array, i64, 4);
  const uint32_t old = w.add(Op::array_get, i64, a, index);
  w.add(Op::array_set, none, a, index, w.add(Op::add, i64, old, five));
  w.add(Op::set, none, v, w.add(Op::add, i64, w.add(Op::get, i64, v), w.add(Op::array_get, i64, a, index)));
  w.add(Op::end);
  w.add(Op::output, none, 0, w.add(Op::get, i64, v));
  EXPECT_EQ(run({3}), 15u);
  EXPECT_EQ(b.launch(b.load(w.bytes()), {4}), QDB_E_LAUNCH);
  EXPECT_NE(b.err.message.find("index 4 of a local array of 4 elements"), std::string::npos) << b.err.message;
  EXPECT_EQ(b.launch(b.load(w.bytes()), {uint32_t(-1)}), QDB_E_LAUNCH);
}

TEST_F(ReferenceControl, CompareSwapSelectShape) {
  const uint32_t buf = w.buffer(i32, 2);
  const uint32_t extent = w.add(Op::shape, i32, buf, 1), index = w.constant(i64, 1), want = w.constant(i32, 7), next = w.constant(i32, 9);
  w.operands({want});
  const uint32_t old = w.add(Op::atomic_cas, i32, buf, index, next);
  const uint32_t hit = w.add(Op::eq, b1, old, want);
  w.add(Op::output, none, 0, w.add(Op::select, i32, hit, extent, next));
  int32_t memory[2] = {1, 7};
  EXPECT_EQ(run({address(memory), 2, 33}), 33u);
  EXPECT_EQ(memory[1], 9);
  EXPECT_EQ(run({address(memory), 2, 33}), 9u);
  EXPECT_EQ(memory[1], 9);
  EXPECT_EQ(memory[0], 1);
}

TEST_F(ReferenceControl, ReportsAreWrittenCountedAndStopLaterTasks) {
  const uint32_t lo = w.constant(i32, 0), hi = w.constant(i32, 3), value = w.constant(i32, uint32_t(-1));
  w.operands({lo, hi});
  w.add(Op::parallel, i32, 1);
  const uint32_t x = w.add(Op::axis, i32, 0);
  w.operands({x, value});
  w.add(Op::report, none, 5, 1);
  w.add(Op::end);
  alignas(8) char memory[sizeof(QdReportHeader) + 90] = {};
  b.report = reinterpret_cast<QdReportHeader *>(memory);
  b.report->capacity = 90;  // two records of 40 bytes
  b.ordinal = 3;
  run({}, 0, 3);
  EXPECT_EQ(b.report->failed, 1u);
  EXPECT_EQ(b.report->dropped, 1u);
  EXPECT_EQ(b.report->used, 120u);
  QdReportRecord second;
  std::memcpy(&second, memory + sizeof(QdReportHeader) + 40, sizeof second);
  EXPECT_EQ(second.task, 3u);
  EXPECT_EQ(second.site, 5u);
  EXPECT_EQ(second.iteration, 1);
  EXPECT_EQ(second.n_values, 2u);
  uint64_t values[2];
  std::memcpy(values, memory + sizeof(QdReportHeader) + 40 + sizeof second, sizeof values);
  EXPECT_EQ(values[0], 1u);
  EXPECT_EQ(values[1], 0xffffffffu);
  run({}, 0, 3, QDB_LAUNCH_REPORTS);
  EXPECT_EQ(b.report->used, 120u);  // skipped
  run({}, 0, 3);
  EXPECT_EQ(b.report->used, 240u);
}

TEST(Philox, PublishedVectors) {
  const auto check = [](uint64_t key, PhiloxBlock in, PhiloxBlock want) {
    const PhiloxBlock out = philox4x32(key, in);
    for (int i = 0; i < 4; i++) EXPECT_EQ(out.word[i], want.word[i]) << i;
  };
  check(0, {{0, 0, 0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  check(~0ull, {{~0u, ~0u, ~0u, ~0u}}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  check(0x299f31d0a4093822, {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST_F(ReferenceControl, RandomCountsDrawsPerIteration) {  // key 0, ordinal 0, iteration 0, draw 0 is the first published vector
  const uint32_t out = w.buffer(f64), lo = w.constant(i32, 0), hi = w.constant(i32, 2), two = w.constant(i32, 2), one = w.constant(i32, 1);
  w.operands({lo, hi});
  w.add(Op::parallel, i32, 1);
  const uint32_t at = w.add(Op::mul, i32, w.add(Op::axis, i32, 0), two);
  w.add(Op::store, none, out, at, w.add(Op::cast, f64, w.add(Op::random, f32)));
  w.add(Op::store, none, out, w.add(Op::add, i32, at, one), w.add(Op::random, f64));
  w.add(Op::end);
  double memory[4];
  run({address(memory), 4}, 0, 2);
  EXPECT_EQ(memory[0], double(0x6627e8d5u >> 8) / 16777216);
  const auto draw = [](PhiloxBlock counter) {
    const PhiloxBlock o = philox4x32(0, counter);
    return o.word[0] | uint64_t(o.word[1]) << 32;
  };
  EXPECT_EQ(memory[1], double(draw({{0, 0, 0, 1}}) >> 11) / 9007199254740992.0);
  EXPECT_EQ(memory[2], double(uint32_t(draw({{0, 1, 0, 0}})) >> 8) / 16777216);
  EXPECT_EQ(memory[3], double(draw({{0, 1, 0, 1}}) >> 11) / 9007199254740992.0);
}

TEST_F(ReferenceControl, RandomIntegersAndHalf) {
  w.add(Op::output, none, 0, w.add(Op::random, Type::i8));
  w.add(Op::output, none, 1, w.add(Op::random, b1));
  w.add(Op::output, none, 2, w.add(Op::random, i64));
  w.add(Op::output, none, 3, w.add(Op::cast, f64, w.add(Op::random, f16)));
  EXPECT_EQ(run(), 0xd5u);
  EXPECT_EQ(b.results[1], philox_draw(0, 0, 0, 1) & 1);
  EXPECT_EQ(b.results[2], philox_draw(0, 0, 0, 2));
  double half;
  std::memcpy(&half, &b.results[3], 8);
  EXPECT_EQ(half, double(uint32_t(philox_draw(0, 0, 0, 3)) >> 21) / 2048);
}

TEST_F(ReferenceControl, EndlessLoopsCanBeCancelled) {
  w.add(Op::repeat);
  w.add(Op::end);
  b.err.polls_before_cancel = -1;
  QdbEntry *e = b.load(w.bytes());
  b.err.polls_before_cancel = 2;
  EXPECT_EQ(b.launch(e, {}), QDB_E_CANCELLED);
}

TEST_F(ReferenceControl, LaunchStopsAtTheFirstError) {
  const uint32_t p = w.scalar(i32), index = w.add(Op::arg, i32, p), a = w.add(Op::array, i32, 1);
  w.add(Op::output, none, 0, w.add(Op::array_get, i32, a, index));
  w.add(Op::output, none, 1, index);
  QdbEntry *e = b.load(w.bytes());
  EXPECT_EQ(b.launch(e, {1}), QDB_E_LAUNCH);
  EXPECT_EQ(b.results[1], 0u);
  EXPECT_EQ(b.launch(e, {}), QDB_E_INVALID);  // too few argument words
}

// --- what the SDK promises for every backend ---------------------------------------------------------------------------

TEST_F(ReferenceControl, BadUnitsAnswerWithTheRecord) {
  w.add(Op::add, i32, 0, 0);
  QdbArtifactOut out;
  EXPECT_EQ(b.compile(w.bytes(), out), QDB_E_INVALID);
  EXPECT_NE(b.err.message.find("function 0, record 0 (add): operand a is %0"), std::string::npos) << b.err.message;
  EXPECT_EQ(b.err.where, "test");
}

TEST_F(ReferenceControl, NullSlotsAndHandlesAreFine) {
  EXPECT_EQ(b.t->launch(b.stream, nullptr, 0, 1, nullptr), QDB_E_INVALID);
  EXPECT_EQ(b.t->stream_sync(nullptr, nullptr), QDB_E_INVALID);
  EXPECT_EQ(b.t->mem_alloc(b.device, 0, nullptr, nullptr), QDB_E_INVALID);
  b.t->mem_free(nullptr), b.t->module_unload(nullptr), b.t->stream_destroy(nullptr), b.t->device_close(nullptr), b.t->instance_destroy(nullptr);
  QdbDevice *d = nullptr;
  EXPECT_EQ(b.t->device_open(b.instance, 1, &d, nullptr), QDB_E_NO_DEVICE);
}

TEST_F(ReferenceControl, OutOfMemoryOfTheHostIsAnAnswer) {
  b.state.fail_blobs = true;
  QdbBlob *blob = nullptr;
  EXPECT_EQ(b.t->target_of_device(b.device, 1, &blob, &b.err), QDB_E_HOST_MEMORY);
  b.state.fail_blobs = false;
  QdbMem *mem = nullptr;
  EXPECT_EQ(b.t->mem_alloc(b.device, ~0ull, &mem, &b.err), QDB_E_DEVICE_MEMORY);
}

TEST_F(ReferenceControl, DamagedArtifactsAreRecompiled) {
  w.add(Op::output, none, 0, w.constant(i32, 9));
  QdbArtifactOut out;
  b.check(b.compile(w.bytes(), out));
  std::string good(out.blob->data, out.blob->size);
  host_table()->blob_release(&b.state, out.blob);
  EXPECT_EQ(b.state.live_blobs, 0);
  for (size_t i = 0; i < good.size(); i++)
    for (const int bit : {0, 7}) {  // any flip is refused or still a valid unit: never a crash
      std::string bad = good;
      bad[i] = char(bad[i] ^ 1 << bit);
      const QdbArtifact a{str("ir"), {bad.data(), bad.size()}};
      QdbModule *m = nullptr;
      const QdbStatus status = b.t->module_load(b.device, &a, sizeof a, 1, &m, &b.err);
      EXPECT_TRUE(status == QDB_OK || status == QDB_E_ARTIFACT) << i;
      if (status == QDB_OK) b.t->module_unload(m);
    }
  for (size_t n = 0; n < good.size(); n++) {
    const QdbArtifact a{str("ir"), {good.data(), n}};
    QdbModule *m = nullptr;
    EXPECT_EQ(b.t->module_load(b.device, &a, sizeof a, 1, &m, nullptr), QDB_E_ARTIFACT) << n;
  }
}

TEST_F(ReferenceControl, MemoryIsZeroedCopiedFilledAndBounded) {
  QdbMem *mem = nullptr;
  b.check(b.t->mem_alloc(b.device, 64, &mem, &b.err));
  QdbMemInfo info{};
  info.struct_size = sizeof info;
  b.check(b.t->mem_info(mem, &info, &b.err));
  EXPECT_EQ(info.size, 64u);
  EXPECT_EQ(info.address % 64, 0u);
  const auto *data = static_cast<const uint8_t *>(info.host);
  for (int i = 0; i < 64; i++) EXPECT_EQ(data[i], 0);
  const QdbFill fill{mem, 4, 12, 0x44332211, 4, 0};
  b.check(b.t->fill(b.stream, &fill, sizeof fill, 1, &b.err));
  EXPECT_EQ(data[3], 0);
  EXPECT_EQ(data[4], 0x11);
  EXPECT_EQ(data[15], 0x44);
  EXPECT_EQ(data[16], 0);
  uint32_t word = 0;
  const QdbCopy copy{nullptr, address(&word), mem, 8, 4};
  b.check(b.t->copy(b.stream, &copy, sizeof copy, 1, &b.err));
  EXPECT_EQ(word, 0x44332211u);
  const QdbCopy outside{mem, 61, nullptr, address(&word), 4};
  EXPECT_EQ(b.t->copy(b.stream, &outside, sizeof outside, 1, &b.err), QDB_E_INVALID);
  const QdbFill odd{mem, 0, 6, 0, 4, 0};
  EXPECT_EQ(b.t->fill(b.stream, &odd, sizeof odd, 1, &b.err), QDB_E_INVALID);
  b.t->mem_free(mem);
}

TEST_F(ReferenceControl, CountsCount) {
  w.add(Op::output, none, 0, w.constant(i32, 9));
  run();
  EXPECT_EQ(b.count(&QdTestCounts::compile_calls), 1u);
  EXPECT_EQ(b.count(&QdTestCounts::tasks_compiled), 1u);
  EXPECT_EQ(b.count(&QdTestCounts::load_calls), 1u);
  EXPECT_EQ(b.count(&QdTestCounts::tasks_launched), 1u);
  EXPECT_EQ(b.count(&QdTestCounts::live_objects), 3u);  // device, stream, module
}

TEST(Sdk, ForkedInstancesAnswerForked) {
  Backend b(QD_REFERENCE_PATH);
  QdbInstanceDesc desc{};
  desc.struct_size = sizeof desc;
  static QdbInstance *forked = nullptr;  // static: what leaks on purpose stays reachable
  b.check(b.t->instance_create(&desc, &forked, &b.err));
  b.t->instance_quiesce(forked, 1);
  uint32_t n = 0;
  EXPECT_EQ(b.t->device_count(forked, &n, &b.err), QDB_E_FORKED);
  EXPECT_EQ(b.t->device_count(b.instance, &n, &b.err), QDB_OK);
  b.t->instance_destroy(forked);
}

TEST(Sdk, NegotiationRefusesWithAReason) {
  const QdbNegotiateFn negotiate = open_plugin(QD_NULL_PATH);
  HostState state;
  const auto ask = [&](const std::function<void(QdbHello &)> &change, std::string &reason) {
    QdbHello h = hello(state);
    change(h);
    QdbReply r{};
    r.struct_size = sizeof r;
    const QdbStatus status = negotiate(&h, &r);
    reason = r.reason;
    return status;
  };
  std::string reason;
  EXPECT_EQ(ask([](QdbHello &) {}, reason), QDB_OK);
  EXPECT_EQ(ask([](QdbHello &h) { h.flags = QDB_HELLO_PROBE, h.host_table = nullptr; }, reason), QDB_OK);
  EXPECT_EQ(ask([](QdbHello &h) { h.major_min = h.major_max = 2; }, reason), QDB_E_ABI);
  EXPECT_EQ(reason, "the host speaks plugin ABI 2 to 2, this plugin speaks 1");
  EXPECT_EQ(ask([](QdbHello &h) { h.magic = 0; }, reason), QDB_E_ABI);
  EXPECT_EQ(ask([](QdbHello &h) { h.struct_size = 16; }, reason), QDB_E_ABI);
  EXPECT_EQ(ask([](QdbHello &h) { h.host_table = nullptr; }, reason), QDB_E_ABI);
  EXPECT_EQ(negotiate(nullptr, nullptr), QDB_E_ABI);
}

TEST(Sdk, ShorterStructsOfOlderHostsAreNotOverrun) {
  Backend b(QD_NULL_PATH);
  QdbCaps caps;
  std::memset(&caps, 0xee, sizeof caps);
  caps.struct_size = QDB_END(QdbCaps, caps);
  b.check(b.t->caps(b.instance, &caps, &b.err));
  EXPECT_EQ(caps.struct_size, QDB_END(QdbCaps, caps));
  EXPECT_TRUE(caps.caps & QDB_CAP_OFFLINE);
  EXPECT_EQ(caps.ir_major, 0xeeeeeeeeu);
  caps.struct_size = sizeof caps + 64;
  b.check(b.t->caps(b.instance, &caps, &b.err));
  EXPECT_EQ(caps.struct_size, sizeof caps);
}

TEST(Null, RunsNothingButTakesEverything) {
  Backend b(QD_NULL_PATH);
  UnitWriter w;
  w.add(Op::output, none, 0, w.constant(i32, 9));
  b.check(b.launch(b.load(w.bytes()), {}));
  EXPECT_EQ(b.results[0], 0u);
  EXPECT_EQ(b.count(&QdTestCounts::tasks_launched), 1u);
}

}  // namespace
}  // namespace qd::test

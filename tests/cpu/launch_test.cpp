// launch_test.cpp: grids of every shape, reductions, ranges the plugin finds itself, reports, cancelling, determinism.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include "tests/cpu/harness.hpp"

namespace qd::test {
namespace {

// Element (i, j, k) counts its visits and remembers its position.
const char *visit3 = R"(func @visit($v: buf i32 3, $lo: i32) {
  %0 = const.i32 0
  %1 = shape.i32 $v, 0
  %2 = shape.i32 $v, 1
  %3 = shape.i32 $v, 2
  %4 = arg.i32 $lo
  %5 = add.i32 %1, %4
  %6 = add.i32 %2, %4
  %7 = add.i32 %3, %4
  %8 = const.i32 1
  operand %4, %5, %4
  operand %6, %4, %7
  parallel.i32 3, 0 {
    %11 = axis.i32 0
    %12 = axis.i32 1
    %13 = axis.i32 2
    %14 = sub.i32 %11, %4
    %15 = sub.i32 %12, %4
    %16 = sub.i32 %13, %4
    %17 = mul.i32 %14, %2
    %18 = add.i32 %17, %15
    %19 = mul.i32 %18, %3
    %20 = add.i32 %19, %16
    %21 = load.i32 $v, %20
    %22 = add.i32 %21, %8
    store $v, %20, %22
  }
})";

TEST(CpuLaunch, VisitsEveryPointOnceWhateverTheCut) {
  Cpu cpu;
  QdbEntry *entry = cpu.text(visit3);
  for (const auto &[a, b, c] :
       {std::array{1, 1, 1}, {5, 7, 3}, {2, 300, 70}, {400, 3, 61}, {1, 1, 5000}, {70000, 1, 1}})
    for (const int lo : {0, -5, 9}) {
      const int64_t n = int64_t(a) * b * c;
      std::vector<int32_t> v(static_cast<size_t>(n));
      const std::vector<uint64_t> args{word(v.data()), uint64_t(a), uint64_t(b), uint64_t(c), bits(int32_t(lo))};
      cpu.run(entry, args, n);
      cpu.run(entry, args, n / 2, 0);  // two halves that meet in the middle of a row
      cpu.run(entry, args, n, n / 2);
      EXPECT_TRUE(std::all_of(v.begin(), v.end(), [](int x) { return x == 2; })) << a << " " << b << " " << c;
      cpu.check(cpu.launch(entry, args, 0, 0, QDB_LAUNCH_RANGE_UNKNOWN));
      EXPECT_EQ(std::accumulate(v.begin(), v.end(), int64_t(0)), 3 * n);
    }
  std::vector<int32_t> none(1);
  cpu.check(cpu.launch(entry, {word(none.data()), 0, 4, 4, 0}, 0, 0, QDB_LAUNCH_RANGE_UNKNOWN));
  cpu.run(entry, {word(none.data()), 0, 4, 4, 0}, 0);
  EXPECT_EQ(none[0], 0);
}

std::string reduction(const std::string &type, const std::string &op, const std::string &guard) {
  return "func @r($x: buf " + type + " 1, $s: buf " + type +
         " 1, $at: i32) {\n"
         "  %0 = const.i32 0\n  %1 = shape.i32 $x, 0\n  %2 = arg.i32 $at\n  %3 = const." +
         type +
         " 3\n  operand %0, %1\n"
         "  parallel.i32 1, 0 {\n    %4 = axis.i32 0\n    %5 = load." +
         type + " $x, %4\n" + (guard.empty() ? "" : "    %6 = lt." + type + " %5, %3\n    when %6 {\n") +
         "    %7 = " + op + "." + type + " $s, %2, %5\n" + (guard.empty() ? "" : "    }\n") + "  }\n}";
}

template <class T, class F>
void check_reduction(const char *type, const char *op, T start, F step, double tolerance) {
  Cpu cpu;
  const int64_t n = 1 << 18;
  std::vector<T> x(static_cast<size_t>(n)), s(3, start);
  for (int64_t i = 0; i < n; i++) x[size_t(i)] = T(double((i * 7919) % 1001) / 500 - 0.75) + T(i % 3);
  T want = start;
  for (const T v : x) want = T(step(double(want), double(v)));
  QdbEntry *entry = cpu.text(reduction(type, op, ""));
  cpu.run(entry, {word(x.data()), uint64_t(n), word(s.data()), 3, 1}, n);
  EXPECT_NEAR(double(s[1]), double(want), tolerance * std::fabs(double(want))) << type << " " << op;
  EXPECT_EQ(s[0], start);
  EXPECT_EQ(s[2], start);
  const T first = s[1];
  for (int k = 0; k < 4; k++) {
    s[1] = start;
    cpu.run(entry, {word(x.data()), uint64_t(n), word(s.data()), 3, 1}, n);
    EXPECT_EQ(s[1], first) << "a second launch gives another sum";
  }
}

TEST(CpuReduction, FloatsAndIntegers) {
  const auto add = [](double a, double b) { return a + b; };
  const auto low = [](double a, double b) { return std::fmin(a, b); };
  const auto high = [](double a, double b) { return std::fmax(a, b); };
  check_reduction<double>("f64", "atomic_add", 1.5, add, 1e-12);
  check_reduction<float>("f32", "atomic_min", 1e9f, low, 0);
  check_reduction<double>("f64", "atomic_max", -1e9, high, 0);
  check_reduction<float>("f32", "atomic_max", NAN > 0 ? 0.f : -1e9f, high, 0);
  check_reduction<int32_t>("i32", "atomic_add", 7, add, 0);
  check_reduction<int64_t>("i64", "atomic_add", -7, add, 0);
  check_reduction<int32_t>("i32", "atomic_max", -100, high, 0);
}

TEST(CpuReduction, SumOfManyFloatsIsAccurate) {
  Cpu cpu;
  const int64_t n = 1 << 22;
  std::vector<float> x(static_cast<size_t>(n));
  double want = 0;
  for (int64_t i = 0; i < n; i++) want += x[size_t(i)] = 0.1f + float(i % 10) * 0.01f;
  float s[3] = {};
  cpu.run(cpu.text(reduction("f32", "atomic_add", "")), {word(x.data()), uint64_t(n), word(s), 3, 1}, n);
  EXPECT_NEAR(double(s[1]), want, want * 2e-6);  // one after another they would be off by a thousandth
}

TEST(CpuReduction, GuardedUpdateThatNeverRunsTouchesNothing) {
  Cpu cpu;
  const int64_t n = 1 << 18;
  std::vector<double> x(static_cast<size_t>(n), 5.0);
  QdbEntry *entry = cpu.text(reduction("f64", "atomic_add", "when"));
  cpu.run(entry, {word(x.data()), uint64_t(n), 8, 3, bits(int32_t(1 << 30))}, n);  // an address that nobody may touch
  double s[3] = {1, 2, 3};
  x[77] = 2.5;
  cpu.run(entry, {word(x.data()), uint64_t(n), word(s), 3, 1}, n);
  EXPECT_EQ(s[1], 4.5);
}

TEST(CpuReduction, SameOnAnyNumberOfWorkers) {
  // The cut depends on range and cost alone, so a pool that is busy with other submitters changes nothing.
  Cpu cpu;
  const int64_t n = 1 << 20;
  std::vector<float> x(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; i++) x[size_t(i)] = std::sin(float(i));
  QdbEntry *entry = cpu.text(reduction("f32", "atomic_add", ""));
  float alone[3] = {};
  cpu.run(entry, {word(x.data()), uint64_t(n), word(alone), 3, 1}, n);
  std::vector<std::thread> threads;
  std::atomic<int> different{0};
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      QdbErr err;
      for (int k = 0; k < 5; k++) {
        float s[3] = {};
        std::vector<uint64_t> block{0, 0, 0, 0, word(x.data()), uint64_t(n), word(s), 3, 1};
        const QdbLaunch l{entry, block.data(), block.size() * 8, 0, n, 0, 0};
        if (cpu.t->launch(cpu.stream, &l, sizeof l, 1, &err) != QDB_OK || s[1] != alone[1]) different++;
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(different.load(), 0);
}

const char *checked_loop = R"(func @c($x: buf i32 1) {
  %0 = const.i32 0
  %1 = shape.i32 $x, 0
  %2 = const.i32 50000
  %3 = const.i32 1
  operand %0, %1
  parallel.i32 1, 0 {
    %6 = axis.i32 0
    block {
      %8 = eq.i32 %6, %2
      when %8 {
        operand %6, %3
        report 4, 1
        leave 0
      }
      store $x, %6, %3
    }
  }
})";

TEST(CpuLaunch, ReportsAndSkipsWhatFollowsAFailure) {
  Cpu cpu;
  QdbEntry *entry = cpu.text(checked_loop);
  const int64_t n = 100000;
  std::vector<int32_t> x(static_cast<size_t>(n));
  std::vector<uint64_t> memory(64);
  cpu.report = reinterpret_cast<QdReportHeader *>(memory.data());
  cpu.report->capacity = 400, cpu.ordinal = 3;
  cpu.run(entry, {word(x.data()), uint64_t(n)}, n);
  EXPECT_EQ(cpu.report->failed, 1u);
  EXPECT_EQ(cpu.report->used, sizeof(QdReportRecord) + 16);
  const auto *r = reinterpret_cast<const QdReportRecord *>(cpu.report + 1);
  EXPECT_EQ(r->site, 4u);
  EXPECT_EQ(r->iteration, 50000);
  EXPECT_EQ(r->n_values, 2u);
  EXPECT_EQ(r->task, 3u);
  EXPECT_EQ(reinterpret_cast<const uint64_t *>(r + 1)[0], 50000u);
  EXPECT_EQ(std::accumulate(x.begin(), x.end(), 0), n - 1);
  std::fill(x.begin(), x.end(), 0);
  cpu.check(cpu.launch(entry, {word(x.data()), uint64_t(n)}, 0, n, QDB_LAUNCH_REPORTS));
  EXPECT_EQ(std::accumulate(x.begin(), x.end(), 0), 0) << "a task ran after a failure";
}

TEST(CpuLaunch, ALongLaunchCanBeStopped) {
  Cpu cpu;
  QdbEntry *entry = cpu.text(checked_loop);
  const int64_t n = 1 << 24;
  std::vector<int32_t> x(static_cast<size_t>(n));
  cpu.err.polls_before_cancel = 2;
  EXPECT_EQ(cpu.launch(entry, {word(x.data()), uint64_t(n)}, 0, n), QDB_E_CANCELLED);
  EXPECT_LT(std::accumulate(x.begin(), x.end(), int64_t(0)), n - 1);
}

// Loops that nothing ends: in serial code, in one position, in all positions on all threads, in a function; and counted
// loops inside each other.
const char *wait = "repeat {\n %v = load.i32 $x, %z\n %c = ne.b1 %v, %z\n when %c {\n leave 0\n }\n }\n";
const char *count = "loop.i32 %z, %many {\n %s = loop.i32 %z, %few {\n %o = atomic_add.i32 $x, %one, %s\n }\n }\n";

std::string endless(const std::string &body, const char *positions) {
  const std::string head =
      "func @endless($x: buf i32 1) {\n %z = const.i32 0\n %one = const.i32 1\n %many = const.i32 2000000000\n "
      "%few = const.i32 100000\n ";
  if (!positions) return head + body + "}";
  return head + "%n = const.i32 " + positions + "\n operand %z, %n\n parallel.i32 1, 0 {\n " + body + "}\n}";
}

TEST(CpuLaunch, ALoopWithoutEndCanBeStopped) {
  for (const char *body : {wait, count})
    for (const char *positions : {static_cast<const char *>(nullptr), "1", "5000"}) {
      Cpu cpu;
      QdbEntry *entry = cpu.text(endless(body, positions));
      std::vector<int32_t> x(2);
      cpu.err.polls_before_cancel = 3;
      EXPECT_EQ(cpu.launch(entry, {word(x.data()), 2}, 0, positions ? std::atoi(positions) : 1), QDB_E_CANCELLED)
          << body << (positions ? positions : "serial");
      x[0] = 1;
      if (body == wait) cpu.run(entry, {word(x.data()), 2}, 1);  // ends by itself, and the threads are free
    }
}

// A counted loop without another inside is where programs spend their time: it must not get slower.
TEST(CpuCodegen, OnlyLoopsThatMayBeLongAskWhetherToStop) {
  Cpu cpu;
  const auto asks = [&](const std::string &text) {
    return cpu.artifact({ir::to_wire(ir::parse(text))}).find("qd_cpu_poll") != std::string::npos;
  };
  const std::string sum = "%s = loop.i32 %z, %many {\n %v = load.i32 $x, %s\n store $x, %z, %v\n }\n";
  EXPECT_FALSE(asks(visit3)) << "three axes";
  EXPECT_FALSE(asks(endless(sum, nullptr)));
  EXPECT_FALSE(asks(endless(sum, "5000"))) << "the loop around is of a part of the grid";
  EXPECT_TRUE(asks(endless(count, "5000")));
  EXPECT_TRUE(asks(endless(wait, "1")));
}

TEST(CpuCodegen, EqualInputGivesEqualBytes) {
  Cpu cpu;
  const std::string unit = ir::to_wire(ir::parse(visit3)), other = ir::to_wire(ir::parse(checked_loop));
  const std::string first = cpu.artifact({unit, other});
  EXPECT_EQ(cpu.artifact({unit, other}), first);
  std::string from_thread;
  std::thread([&] {
    Cpu again;
    again.artifact({other});
    from_thread = again.artifact({unit, other});
  }).join();
  EXPECT_EQ(from_thread, first);
}

TEST(CpuCodegen, DumpingChangesNoByte) {
  Cpu cpu;
  const std::string unit = ir::to_wire(ir::parse(visit3));
  EXPECT_EQ(cpu.artifact({unit}, {}, QDB_COMPILE_KEEP_ASM | QDB_COMPILE_DUMP_IR), cpu.artifact({unit}));
}

TEST(CpuCodegen, UnknownTargetBytesAreRefused) {
  Cpu cpu;
  const std::string unit = ir::to_wire(ir::parse(visit3));
  const QdbTask task{{unit.data(), unit.size()}, str("t"), str("t")};
  QdbCompileReq req{};
  req.struct_size = sizeof req, req.unit = QDB_UNIT_TASK, req.tasks = &task, req.n_tasks = 1,
  req.task_stride = sizeof task;
  req.option_stride = sizeof(QdbOption), req.target = {"abc", 3};
  QdbArtifactOut out{};
  out.struct_size = sizeof out;
  EXPECT_EQ(cpu.t->compile(cpu.instance, &req, &out, &cpu.err), QDB_E_INVALID);
  EXPECT_NE(cpu.err.message.find("target bytes"), std::string::npos) << cpu.err.message;
}

std::string file(const char *path) {
  std::ifstream f(path, std::ios::binary);
  std::stringstream s;
  s << f.rdbuf();
  return s.str();
}

TEST(CpuObjects, ThePluginIsSmallAndKnowsNoLlvm) {
  const std::string plugin = file(QD_CPU_PATH), codegen = file(QD_CPU_CODEGEN_PATH);
  EXPECT_EQ(plugin.find("libLLVM"), std::string::npos);
  EXPECT_EQ(plugin.find("_ZN4llvm"), std::string::npos);
  EXPECT_EQ(codegen.find("libLLVM-22.so"), std::string::npos) << "LLVM must be inside";
  EXPECT_NE(codegen.find("qdx_cpu_codegen"), std::string::npos);
}

}  // namespace
}  // namespace qd::test

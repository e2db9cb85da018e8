// micro.cpp: the cpu backend alone, below the core: compile time and run time of small tasks, checked against plain
// C++.
//   micro [name...]      microseconds a launch (best of 15), compile time and size of the object
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>

#include "tests/cpu/harness.hpp"

using namespace qd::test;

namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of the calling thread: what a compile costs on a machine that does other things too.
double cpu_us() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e6 + double(t.tv_nsec) * 1e-3;
}

constexpr int64_t N = 1 << 22, G = 1024, B = 2048;

struct Case {
  const char *name, *ir;
  std::vector<uint64_t> args;
  int64_t range;
  std::function<double()> error;
};

const char *saxpy = R"(func @saxpy($x: buf f32 1, $y: buf f32 1, $a: f32) {
  %0 = const.i32 0
  %1 = shape.i32 $x, 0
  %2 = arg.f32 $a
  operand %0, %1
  parallel.i32 1, 0 {
    %4 = axis.i32 0
    %5 = load.f32 $x, %4
    %6 = mul.f32 %5, %2
    %7 = load.f32 $y, %4
    %8 = add.f32 %6, %7
    store $y, %4, %8
  }
})";
const char *math = R"(func @math($x: buf f32 1, $y: buf f32 1) {
  %0 = const.i32 0
  %1 = shape.i32 $x, 0
  %2 = const.f32 1
  operand %0, %1
  parallel.i32 1, 0 {
    %4 = axis.i32 0
    %5 = load.f32 $x, %4
    %6 = sin.f32 %5
    %7 = neg.f32 %5
    %8 = exp.f32 %7
    %9 = mul.f32 %6, %8
    %10 = add.f32 %5, %2
    %11 = sqrt.f32 %10
    %12 = add.f32 %9, %11
    store $y, %4, %12
  }
})";
const char *stencil = R"(func @stencil($x: buf f32 2, $y: buf f32 2) {
  %0 = const.i32 1
  %1 = shape.i32 $x, 0
  %2 = shape.i32 $x, 1
  %3 = sub.i32 %1, %0
  %4 = sub.i32 %2, %0
  %5 = const.f32 0.25
  operand %0, %3, %0
  operand %4
  parallel.i32 2, 0 {
    %7 = axis.i32 0
    %8 = axis.i32 1
    %9 = sub.i32 %7, %0
    %10 = mul.i32 %9, %2
    %11 = add.i32 %10, %8
    %12 = load.f32 $x, %11
    %13 = add.i32 %7, %0
    %14 = mul.i32 %13, %2
    %15 = add.i32 %14, %8
    %16 = load.f32 $x, %15
    %17 = mul.i32 %7, %2
    %18 = sub.i32 %8, %0
    %19 = add.i32 %17, %18
    %20 = load.f32 $x, %19
    %21 = add.i32 %8, %0
    %22 = add.i32 %17, %21
    %23 = load.f32 $x, %22
    %24 = add.f32 %12, %16
    %25 = add.f32 %24, %20
    %26 = add.f32 %25, %23
    %27 = mul.f32 %26, %5
    %28 = add.i32 %17, %8
    store $y, %28, %27
  }
})";
const char *sum = R"(func @sum($x: buf f32 1, $s: buf f32 0) {
  %0 = const.i32 0
  %1 = shape.i32 $x, 0
  operand %0, %1
  parallel.i32 1, 0 {
    %4 = axis.i32 0
    %5 = load.f32 $x, %4
    %6 = atomic_add.f32 $s, %0, %5
  }
})";
const char *nbody = R"(func @nbody($x: buf f32 2, $y: buf f32 2) {
  %0 = const.i32 0
  %1 = shape.i32 $x, 0
  %2 = const.f32 0.01
  %3 = const.i32 3
  %4 = const.i32 1
  %5 = const.i32 2
  %6 = const.f32 0
  %7 = const.f32 1
  operand %0, %1
  parallel.i32 1, 0 {
    %10 = axis.i32 0
    %11 = mul.i32 %10, %3
    %12 = load.f32 $x, %11
    %13 = add.i32 %11, %4
    %14 = load.f32 $x, %13
    %15 = add.i32 %11, %5
    %16 = load.f32 $x, %15
    %17 = var.f32 %6
    %18 = var.f32 %6
    %19 = var.f32 %6
    %20 = loop.i32 %0, %1 {
      %21 = mul.i32 %20, %3
      %22 = load.f32 $x, %21
      %23 = add.i32 %21, %4
      %24 = load.f32 $x, %23
      %25 = add.i32 %21, %5
      %26 = load.f32 $x, %25
      %27 = sub.f32 %22, %12
      %28 = sub.f32 %24, %14
      %29 = sub.f32 %26, %16
      %30 = mul.f32 %27, %27
      %31 = mul.f32 %28, %28
      %32 = mul.f32 %29, %29
      %33 = add.f32 %30, %2
      %34 = add.f32 %33, %31
      %35 = add.f32 %34, %32
      %36 = sqrt.f32 %35
      %37 = fdiv.f32 %7, %36
      %38 = mul.f32 %37, %37
      %39 = mul.f32 %38, %37
      %40 = mul.f32 %27, %39
      %41 = get.f32 %17
      %42 = add.f32 %41, %40
      set %17, %42
      %43 = mul.f32 %28, %39
      %44 = get.f32 %18
      %45 = add.f32 %44, %43
      set %18, %45
      %46 = mul.f32 %29, %39
      %47 = get.f32 %19
      %48 = add.f32 %47, %46
      set %19, %48
    }
    %50 = get.f32 %17
    store $y, %11, %50
    %51 = get.f32 %18
    store $y, %13, %51
    %52 = get.f32 %19
    store $y, %15, %52
  }
})";
const char *wrap = R"(func @wrap($x: buf f32 1, $y: buf f32 1) {
  %0 = const.i32 0
  %1 = shape.i32 $x, 0
  %2 = const.i32 1
  operand %0, %1
  parallel.i32 1, 0 {
    %4 = axis.i32 0
    %5 = add.i32 %4, %2
    %6 = floormod.i32 %5, %1
    %7 = load.f32 $x, %6
    store $y, %4, %7
  }
})";
const char *tiny = R"(func @tiny($x: buf f32 1) {
  %0 = const.i32 0
  %1 = const.i32 1
  %2 = const.f32 1
  operand %0, %1
  parallel.i32 1, 0 {
    %4 = axis.i32 0
    store $x, %4, %2
  }
})";

// The best of some compiles; the artifact is kept in the folder QD_KEEP.
double compile_us(Cpu &cpu, const Case &c, std::string &artifact) {
  const std::string unit = qd::ir::to_wire(qd::ir::parse(c.ir));
  double best = 1e30;
  for (int k = 0; k < 5; k++) {
    const double t0 = cpu_us();
    artifact = cpu.artifact({unit});
    best = std::min(best, cpu_us() - t0);
  }
  if (const char *dir = std::getenv("QD_KEEP"))
    std::ofstream(std::string(dir) + "/" + c.name + ".pack", std::ios::binary) << artifact;
  return best;
}

double run_us(Cpu &cpu, const Case &c, QdbEntry *entry) {
  double best = 1e30;
  const int reps = c.range < 100 ? 10000 : 5;
  for (int k = 0; k < 15; k++) {
    const double t0 = now_us();
    for (int q = 0; q < reps; q++) cpu.run(entry, c.args, c.range);
    best = std::min(best, (now_us() - t0) / reps);
  }
  return best;
}

void measure(Cpu &cpu, const Case &c) {
  std::string artifact;
  const double compile = compile_us(cpu, c, artifact);
  QdbEntry *entry = cpu.entry_of(artifact);
  cpu.run(entry, c.args, c.range);
  const double error = c.error();
  std::printf("%-10s %10.3f %10.2f %8zu %10.1e\n", c.name, run_us(cpu, c, entry), compile / 1000, artifact.size(),
              error);
}

}  // namespace

int main(int argc, char **argv) {
  Cpu cpu;
  std::vector<float> x(N), y(N), z(N);
  uint32_t r = 1;
  for (auto &v : x) v = float(r = r * 1664525u + 1013904223u) * 0x1p-32f;
  float total = 0;
  const auto worst = [](int64_t n, auto error_at) {
    double w = 0;
    for (int64_t i = 0; i < n; i++) w = std::max(w, std::fabs(double(error_at(i))));
    return w;
  };
  const Case cases[] = {
      {"saxpy",
       saxpy,
       {word(x.data()), N, word(y.data()), N, bits(0.f)},
       N,
       [&] { return worst(N, [&](int64_t i) { return y[i]; }); }},
      {"math",
       math,
       {word(x.data()), N, word(y.data()), N},
       N,
       [&] {
         return worst(N, [&](int64_t i) {
           const double v = x[i];
           return y[i] - (std::sin(v) * std::exp(-v) + std::sqrt(v + 1));
         });
       }},
      {"stencil",
       stencil,
       {word(x.data()), G, G, word(y.data()), G, G},
       (G - 2) * (G - 2),
       [&] {
         return worst((G - 2) * (G - 2), [&](int64_t k) {
           const int64_t i = (k / (G - 2) + 1) * G + k % (G - 2) + 1;
           return y[i] - .25 * (double(x[i - 1]) + x[i + 1] + x[i - G] + x[i + G]);
         });
       }},
      {"sum",
       sum,
       {word(x.data()), N, word(&total)},
       N,
       [&] {
         double s = 0;
         for (float v : x) s += v;
         return (total - s) / s;
       }},
      {"nbody",
       nbody,
       {word(x.data()), B, 3, word(y.data()), B, 3},
       B,
       [&] {
         return worst(9, [&](int64_t i) {
           double f = 0;
           for (int64_t j = 0; j < B; j++) {
             double d[3], q = 1e-2;
             for (int c = 0; c < 3; c++) d[c] = double(x[3 * j + c]) - x[3 * i + c], q += d[c] * d[c];
             f += d[0] / (q * std::sqrt(q));
           }
           return (y[3 * i] - f) / f;
         });
       }},
      {"wrap",
       wrap,
       {word(x.data()), N, word(y.data()), N},
       N,
       [&] { return worst(N, [&](int64_t i) { return y[i] - x[(i + 1) % N]; }); }},
      {"tiny", tiny, {word(z.data()), 1}, 1, [&] { return z[0] - 1; }},
  };
  std::printf("%-10s %10s %10s %8s %10s\n", "task", "us", "compile ms", "bytes", "error");
  for (const Case &c : cases) {
    if (argc > 1 && std::none_of(argv + 1, argv + argc, [&](const char *a) { return !std::strcmp(a, c.name); }))
      continue;
    std::fill(y.begin(), y.end(), 0.f);
    total = 0;
    measure(cpu, c);
  }
}

// math_test.cpp: real functions of vectorised loops against long double, over the whole sensible range: errors in units
// of the last place. With fast math a few; without it what the C library gives.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/cpu/harness.hpp"

namespace qd::test {
namespace {

struct Case {
  const char *name;
  int operands;
  long double (*exact)(long double, long double);
  double low, high;      // of x, sampled both evenly and by exponent
  double ulp_fast, ulp;  // f32 and f64 alike
};

const Case cases[] = {
    {"sin", 1, [](long double x, long double) { return sinl(x); }, -1e5, 1e5, 4, 1},
    {"sin", 1, [](long double x, long double) { return sinl(x); }, -3e37, 3e37, 4, 1},
    {"cos", 1, [](long double x, long double) { return cosl(x); }, -1e5, 1e5, 4, 1},
    {"tan", 1, [](long double x, long double) { return tanl(x); }, -1e4, 1e4, 4, 1},
    {"asin", 1, [](long double x, long double) { return asinl(x); }, -1, 1, 4, 1},
    {"acos", 1, [](long double x, long double) { return acosl(x); }, -1, 1, 4, 1},
    {"tanh", 1, [](long double x, long double) { return tanhl(x); }, -50, 50, 4, 2},
    {"exp", 1, [](long double x, long double) { return expl(x); }, -80, 80, 4, 1},
    {"log", 1, [](long double x, long double) { return logl(x); }, 1e-30, 1e30, 4, 1},
    {"rsqrt", 1, [](long double x, long double) { return 1 / sqrtl(x); }, 1e-30, 1e30, 4, 2},
    {"sqrt", 1, [](long double x, long double) { return sqrtl(x); }, 0, 1e30, 2, 0.6},
    {"atan2", 2, [](long double x, long double y) { return atan2l(x, y); }, -100, 100, 4, 1.5},
    {"pow", 2, [](long double x, long double y) { return powl(x, y); }, 1e-3, 30, 4, 1},
};

std::string kernel(const Case &c, const std::string &type) {
  return "func @m($x: buf " + type + " 1, $y: buf " + type + " 1, $z: buf " + type +
         " 1) {\n"
         "  %0 = const.i32 0\n  %1 = shape.i32 $x, 0\n  operand %0, %1\n  parallel.i32 1, 0 {\n    %4 = axis.i32 0\n"
         "    %5 = load." +
         type + " $x, %4\n    %6 = load." + type + " $y, %4\n    %7 = " + c.name + "." + type + " %5" +
         (c.operands == 2 ? ", %6" : "") + "\n    store $z, %4, %7\n  }\n}";
}

template <class T>
std::vector<T> samples(const Case &c, std::mt19937 &rng, size_t n) {
  std::vector<T> v(n);
  std::uniform_real_distribution<double> even(0, 1);
  for (size_t i = 0; i < n; i++) {
    const double t = even(rng), top = std::max(std::fabs(c.low), std::fabs(c.high));
    double x = c.low + (c.high - c.low) * t;
    if (i % 2) x = std::copysign(top * std::exp2(-40 * t), c.low < 0 && i % 4 == 1 ? -1.0 : 1.0);
    v[i] = T(std::min(std::max(x, c.low), c.high));
  }
  return v;
}

template <class T>
double worst_ulp(const Case &c, Cpu &cpu, QdbEntry *entry, size_t n) {
  std::mt19937 rng(5);
  const auto x = samples<T>(c, rng, n), y = samples<T>(c, rng, n);
  std::vector<T> z(n);
  cpu.run(entry, {word(x.data()), n, word(y.data()), n, word(z.data()), n}, int64_t(n));
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    const long double want = c.exact(x[i], y[i]);
    const T near = T(want);
    if (std::isinf(near) || std::fabs(near) < std::numeric_limits<T>::min()) continue;
    const long double ulp = std::nextafter(std::fabs(near), std::numeric_limits<T>::infinity()) - std::fabs(near);
    const double error = double(fabsl((long double)z[i] - want) / ulp);
    if (!(error <= worst)) worst = error;
    if (!(error <= 16))
      return ADD_FAILURE() << c.name << " of " << x[i] << ", " << y[i] << ": " << z[i] << ", expected " << near, error;
  }
  return worst;
}

TEST(CpuMath, WithinAFewUlp) {
  Cpu cpu;
  std::vector<std::string> units;
  for (const Case &c : cases)
    for (const char *type : {"f32", "f64"}) units.push_back(ir::to_wire(ir::parse(kernel(c, type))));
  for (const bool fast : {true, false}) {
    const std::string bytes = cpu.artifact(units, fast ? Options{} : precise);
    size_t k = 0;
    for (const Case &c : cases)
      for (const bool f64 : {false, true}) {
        QdbEntry *entry = cpu.entry_of(bytes, "task" + std::to_string(k++));
        const size_t n = 20011;
        const double worst = f64 ? worst_ulp<double>(c, cpu, entry, n) : worst_ulp<float>(c, cpu, entry, n);
        EXPECT_LE(worst, fast ? c.ulp_fast : c.ulp) << c.name << (f64 ? ".f64" : ".f32") << (fast ? " fast" : "");
        std::printf("%-6s %s %-5s %.2f ulp\n", c.name, f64 ? "f64" : "f32", fast ? "fast" : "", worst);
      }
  }
}

TEST(CpuMath, FastMathKeepsInfinitiesAndNaN) {
  Cpu cpu;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  struct Special {
    const char *op;
    float x, want;
  };
  for (const Special &s :
       {Special{"rsqrt", 0, inf}, {"rsqrt", inf, 0}, {"rsqrt", nan, nan}, {"rsqrt", -1, nan}, {"sqrt", 0, 0},
        {"sqrt", inf, inf},       {"sqrt", -1, nan}, {"exp", inf, inf},   {"exp", -inf, 0},   {"exp", nan, nan},
        {"exp", 200, inf},        {"exp", -200, 0},  {"log", 0, -inf},    {"log", inf, inf},  {"log", -1, nan},
        {"log", nan, nan},        {"sin", inf, nan}, {"cos", nan, nan},   {"tanh", inf, 1},   {"tanh", -inf, -1},
        {"asin", 2, nan},         {"acos", -2, nan}}) {
    const Case c{s.op, 1, nullptr, 0, 0, 0, 0};
    const std::vector<float> x(67, s.x);
    std::vector<float> z(67, 7.f);
    cpu.run(cpu.text(kernel(c, "f32")), {word(x.data()), 67, word(x.data()), 67, word(z.data()), 67}, 67);
    for (const float v : z)
      ASSERT_TRUE(std::isnan(s.want) ? std::isnan(v) : v == s.want) << s.op << " of " << s.x << ": " << v;
  }
}

// LLVM would call a function of the compiler's run-time library for them, which is on no list.
TEST(CpuMath, PowersWhoseExponentsWereIntegers) {
  Cpu cpu;
  const std::vector<float> x{7, -7, 0.5f, 1.5f, 2, 10};
  const std::vector<int32_t> y{2, 3, -2, 3, 0, -1};
  const std::vector<float> want{49, -343, 4, 3.375f, 1, 0.1f};
  for (const char *cast : {"cast", "ucast"}) {
    std::vector<float> z(x.size());
    cpu.run(cpu.text("func @m($x: buf f32 1, $y: buf i32 1, $z: buf f32 1) {\n"
                     "  %0 = const.i32 0\n  %1 = shape.i32 $x, 0\n  operand %0, %1\n  parallel.i32 1, 0 {\n"
                     "    %4 = axis.i32 0\n    %5 = load.f32 $x, %4\n    %6 = load.i32 $y, %4\n    %7 = " +
                     std::string(cast) + ".f32 %6\n    %8 = pow.f32 %5, %7\n    store $z, %4, %8\n  }\n}"),
            {word(x.data()), x.size(), word(y.data()), y.size(), word(z.data()), z.size()}, int64_t(x.size()));
    for (size_t i = 0; i < x.size(); i++)
      if (cast[0] == 'c' || y[i] >= 0) {
        EXPECT_FLOAT_EQ(z[i], want[i]) << x[i] << " to " << y[i];
      }
  }
}

}  // namespace
}  // namespace qd::test

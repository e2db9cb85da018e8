// measure.cpp: qd_conformance --plugin SO --measure COUNT: the largest error of each approximate row over that many
// random operands, as a table for the documentation. It judges nothing.
#include <cmath>
#include <cstdio>

#include "tests/conformance/accuracy.hpp"
#include "tests/conformance/operands.hpp"
#include "tests/conformance/suite.hpp"

namespace qd::conformance {
namespace {

std::string text(Op op, Type t, bool binary) {
  const std::string type(ir::info(t).name);
  std::string s =
      "raw\nfunc @p($x: buf " + type + " 1, $y: buf " + type + " 1, $z: buf " + type + " 1) {\n" +
      "%zero = const.i32 0\n%n = shape.i32 $x, 0\noperand %zero, %n\nparallel.i32 1, 0 {\n%i = axis.i32 0\n" +
      "%x = load." + type + " $x, %i\n";
  if (binary) s += "%y = load." + type + " $y, %i\n";
  return s + "%v = " + std::string(ir::info(op).name) + "." + type + " %x" + (binary ? ", %y" : "") +
         "\nstore $z, %i, %v\n}\n}\n";
}

double largest_error(Executor &plugin, Op op, Type t, size_t count, bool fast) {
  const bool binary = ir::info(op).sig != "v";
  const Bits x = random_bits(t, count, 21), y = random_bits(t, count, 22);
  Memory m;
  const auto bind = [&](const char *name, const Bits &v) { m.arrays[name] = {t, {int64_t(v.size())}, pack(t, v)}; };
  bind("x", x), bind("y", y), bind("z", Bits(count, 0));
  plugin.run({unit_of(text(op, t, binary))}, m);
  const Bits z = unpack(t, m.arrays["z"].bytes);
  double worst = 0;
  for (size_t i = 0; i < count; ++i) worst = std::max(worst, error_of({op, t, t, x[i], y[i], z[i], 0}, fast));
  return worst;
}

}  // namespace

void run_measure(Executor &plugin, size_t count, bool fast) {
  std::printf("| operation | f16 | f32 | f64 |\n|---|---|---|---|\n");
  for (uint16_t k = 0; k < uint16_t(Op::count); ++k) {
    if (allowed_ulp(Op(k), Type::f32, true) == 0) continue;
    std::printf("| `%s` |", std::string(ir::info(Op(k)).name).c_str());
    for (const Type t : {Type::f16, Type::f32, Type::f64})
      std::printf(" %.2f |", largest_error(plugin, Op(k), t, count, fast));
    std::printf("\n");
  }
}

}  // namespace qd::conformance

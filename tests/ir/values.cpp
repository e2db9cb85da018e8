// values.cpp: see values.hpp. Reading and writing go through the IR's own constants, so there is one number syntax.
#include "tests/ir/values.hpp"

#include <cmath>
#include <stdexcept>

#include "core/ir/ir.hpp"
#include "core/ir/constants.hpp"
#include "qd/fold.hpp"

namespace qd::ir::testing {
namespace {

double as_double(Type t, uint64_t bits) {
  if (t == Type::f64) return std::bit_cast<double>(bits);
  if (t == Type::f32) return double(std::bit_cast<float>(uint32_t(bits)));
  fold::half h;
  h.bits = uint16_t(bits);
  return double(float(h));
}

}  // namespace

uint64_t parse_value(Type t, const std::string &word) {
  try {
    const Unit u = parse("raw\nfunc @v() {\n%0 = const." + std::string(info(t).name) + " " + word + "\n}\n");
    return const_bits(u.code()[0]);
  } catch (const std::exception &e) { throw std::runtime_error("in a header: " + std::string(e.what()).substr(8)); }
}

std::string show_value(Type t, uint64_t bits) {
  Unit u;
  u.funcs.push_back({{{Op::const_, t, 0, {uint32_t(bits), uint32_t(bits >> 32), 0}}}, 0, 0});
  const std::string text = print(u);
  const size_t from = text.find("const.") + 7 + info(t).name.size();
  return text.substr(from, text.find('\n', from) - from);
}

bool agrees(Type t, uint64_t found, uint64_t expected, double tolerance) {
  if (found == expected || (is_nan_bits(t, found) && is_nan_bits(t, expected))) return true;
  if (!is_float(t) || tolerance == 0) return false;
  const double x = as_double(t, found), y = as_double(t, expected);
  return std::fabs(x - y) <= tolerance * std::max(1.0, std::fabs(y));
}

}  // namespace qd::ir::testing

// operands.cpp: see operands.hpp.
#include "tests/conformance/operands.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "core/ir/constants.hpp"

namespace qd::conformance {
namespace {

unsigned width(Type t) { return 8u * ir::info(t).bytes; }

uint64_t quiet(Type t, uint64_t bits) {
  if (!ir::is_nan_bits(t, bits)) return bits;
  return bits | (t == Type::f16 ? 0x200 : t == Type::f32 ? 0x400000 : uint64_t(1) << 51);
}

void add_integers(Type t, Bits &out) {
  for (unsigned k = 0; k < width(t); k = k < 8 || k + 2 >= width(t) ? k + 1 : k + 4)
    for (const uint64_t v : {uint64_t(1) << k, (uint64_t(1) << k) - 1, (uint64_t(1) << k) + 1}) {
      out.push_back(v);
      out.push_back(0 - v);
    }
  for (const int v : {3, 5, 7, 10, 100, 127, 10007}) out.push_back(uint64_t(int64_t(v)));
}

void add_floats(Type t, Bits &out) {
  const unsigned fraction = t == Type::f16 ? 10 : t == Type::f32 ? 23 : 52;
  const uint64_t unit = uint64_t(1) << fraction, infinity = ir::width_mask(t) / 2 + 1 - unit;
  Bits positive = {0, 1, unit / 2, unit - 1, unit, unit + 1, infinity - 1, infinity, infinity | unit / 2};
  for (const double v : {1.0, 0.5, 2.0, 3.0, 1.5, 2.5, 0.75, 3.141592653589793, 1.5707963267948966, 2.718281828459045, 10.0, 0.1,
                         127.0, 128.0, 255.0, 256.0, 32767.0, 32768.0, 65504.0, 65536.0, 16777217.0, 2147483647.0, 2147483648.0,
                         4294967296.0, 9007199254740993.0, 9223372036854775808.0, 18446744073709551616.0, 1e-3, 1e-5, 88.0, 104.0,
                         700.0, 1e10, 1e-30, 1e30, 1e300})
    positive.push_back(ir::convert_constant(t, v));
  for (const uint64_t v : positive) out.push_back(v), out.push_back(v | (ir::width_mask(t) / 2 + 1));
}

Bits everything(Type t) {
  Bits all;
  for (uint64_t v = 0; v <= ir::width_mask(t); ++v) all.push_back(quiet(t, v));
  return all;
}

bool is_small(Type t, unsigned bits) { return t == Type::b1 || width(t) <= bits; }

}  // namespace

Bits edges(Type t) {
  Bits out;
  if (t == Type::b1) return {0, 1};
  if (ir::is_float(t)) add_floats(t, out);
  else add_integers(t, out);
  for (uint64_t &v : out) v &= ir::width_mask(t);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Bits random_bits(Type t, size_t n, uint32_t seed) {
  std::mt19937_64 rng(seed);
  Bits out(n);
  for (uint64_t &v : out) {
    const uint64_t r = rng();
    const double moderate = std::ldexp(double(int64_t(r)), -int(40 + rng() % 30));
    v = ir::is_float(t) && rng() % 2 ? ir::convert_constant(t, moderate) : quiet(t, r & ir::width_mask(t));
  }
  return out;
}

Bits unary_operands(Type t) {
  if (is_small(t, 16)) return everything(t);
  Bits out = edges(t);
  const Bits more = random_bits(t, 8000, 1);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

Pairs binary_operands(Type t) {
  Pairs p;
  const Bits few = is_small(t, 8) ? everything(t) : edges(t);
  for (const uint64_t x : few)
    for (const uint64_t y : few) p.x.push_back(x), p.y.push_back(y);
  if (is_small(t, 8)) return p;
  const Bits x = random_bits(t, 4000, 2), y = random_bits(t, 4000, 3);
  p.x.insert(p.x.end(), x.begin(), x.end());
  p.y.insert(p.y.end(), y.begin(), y.end());
  return p;
}

std::string pack(Type t, const Bits &v) {
  const size_t bytes = ir::info(t).bytes;
  std::string out(v.size() * bytes, '\0');
  for (size_t i = 0; i < v.size(); ++i) std::memcpy(out.data() + i * bytes, &v[i], bytes);
  return out;
}

Bits unpack(Type t, const std::string &memory) {
  const size_t bytes = ir::info(t).bytes;
  Bits out(memory.size() / bytes);
  for (size_t i = 0; i < out.size(); ++i) std::memcpy(&out[i], memory.data() + i * bytes, bytes);
  return out;
}

}  // namespace qd::conformance

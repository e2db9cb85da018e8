// arithmetic_rows.hpp: expected results of every row of ops.def that has a meaning, worked out by hand (never by running fold.hpp),
// with the edges that rows promise: wrapping, division by zero, saturation, NaN, masked shifts.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/support/unit_writer.hpp"

namespace qd::test {

// A value of a row: an integer (also of b1), a float, or, for f16, the bits.
struct Num {
  int64_t i = 0;
  double f = 0;
  constexpr Num() = default;
  constexpr Num(int v) : i(v), f(v) {}
  constexpr Num(long v) : i(v), f(double(v)) {}
  constexpr Num(unsigned v) : i(v), f(v) {}
  constexpr Num(unsigned long v) : i(int64_t(v)), f(double(v)) {}
  constexpr Num(double v) : i(0), f(v) {}
};

inline uint64_t bits_of(Type t, Num n) {
  uint64_t w = 0;
  if (t == Type::f32) {
    const float v = float(n.f);
    std::memcpy(&w, &v, sizeof v);
  } else if (t == Type::f64) {
    std::memcpy(&w, &n.f, sizeof n.f);
  } else {  // f16 as bits
    const uint32_t bytes = view::info(t).bytes;
    w = uint64_t(n.i) & (bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1);
  }
  return w;
}

struct Row {
  Op op;
  Type type;    // of the operands
  Type result;  // of the record
  Num x, y, want;
};

inline constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr long min64 = std::numeric_limits<long>::min(), max64 = std::numeric_limits<long>::max();
inline constexpr int min32 = std::numeric_limits<int>::min(), max32 = std::numeric_limits<int>::max();
inline constexpr Type b1 = Type::b1, i8 = Type::i8, i16 = Type::i16, i32 = Type::i32, i64 = Type::i64, f16 = Type::f16, f32 = Type::f32,
                      f64 = Type::f64;

inline const Row arithmetic_rows[] = {
    // sum, difference, product; f16 in bits: 1 = 0x3c00, 1.5 = 0x3e00, 2 = 0x4000, 2.5 = 0x4100, 65504 = 0x7bff
    {Op::add, i8, i8, 127, 1, -128}, {Op::add, i16, i16, -32768, -1, 32767}, {Op::add, i32, i32, max32, 1, min32},
    {Op::add, i64, i64, max64, 2, min64 + 1}, {Op::add, f32, f32, 0.1, 0.2, double(0.1f + 0.2f)}, {Op::add, f64, f64, 0.1, 0.2, 0.30000000000000004},
    {Op::add, f64, f64, inf, -inf, nan}, {Op::add, f16, f16, 0x3c00, 0x3e00, 0x4100}, {Op::add, f16, f16, 0x7bff, 0x7bff, 0x7c00},
    {Op::sub, i8, i8, -128, 1, 127}, {Op::sub, i32, i32, 3, 5, -2}, {Op::sub, i64, i64, min64, 1, max64}, {Op::sub, f32, f32, 1.0, 3.5, -2.5},
    {Op::sub, f16, f16, 0x4100, 0x3e00, 0x3c00}, {Op::sub, f64, f64, 1e300, -1e300, 2e300},
    {Op::mul, i8, i8, 16, 16, 0}, {Op::mul, i16, i16, 300, 300, 24464}, {Op::mul, i16, i16, -1, -1, 1}, {Op::mul, i32, i32, 65536, 65537, 65536},
    {Op::mul, i64, i64, 3, -7, -21}, {Op::mul, f32, f32, 1e30, 1e30, inf}, {Op::mul, f64, f64, 0.0, inf, nan}, {Op::mul, f16, f16, 0x3e00, 0x4000, 0x4200},
    // quotients and remainders
    {Op::fdiv, f32, f32, 1.0, 3.0, double(1.0f / 3.0f)}, {Op::fdiv, f64, f64, -1.0, 0.0, -inf}, {Op::fdiv, f64, f64, 0.0, 0.0, nan},
    {Op::fdiv, f16, f16, 0x4200, 0x4000, 0x3e00},
    {Op::idiv, i32, i32, -7, 2, -3}, {Op::idiv, i32, i32, 7, -2, -3}, {Op::idiv, i32, i32, 5, 0, 0}, {Op::idiv, i32, i32, min32, -1, min32},
    {Op::idiv, i8, i8, -128, -1, -128}, {Op::idiv, i64, i64, min64, -1, min64}, {Op::idiv, i16, i16, 100, 7, 14},
    {Op::udiv, i8, i8, -1, 2, 127}, {Op::udiv, i32, i32, -1, 16, 0x0fffffff}, {Op::udiv, i64, i64, -1, 2, max64}, {Op::udiv, i32, i32, 9, 0, 0},
    {Op::irem, i32, i32, -7, 2, -1}, {Op::irem, i32, i32, 7, -2, 1}, {Op::irem, i32, i32, 7, 0, 0}, {Op::irem, i32, i32, min32, -1, 0},
    {Op::irem, i64, i64, -9, 5, -4},
    {Op::urem, i8, i8, -1, 16, 15}, {Op::urem, i32, i32, -2, 10, 4}, {Op::urem, i32, i32, 3, 0, 0}, {Op::urem, i64, i64, -1, 10, 5},
    {Op::floordiv, i32, i32, -7, 2, -4}, {Op::floordiv, i32, i32, 7, -2, -4}, {Op::floordiv, i32, i32, -8, 2, -4}, {Op::floordiv, i32, i32, 7, 0, 0},
    {Op::floordiv, i32, i32, min32, -1, min32}, {Op::floordiv, i8, i8, -1, 127, -1}, {Op::floordiv, i64, i64, 9, 4, 2},
    {Op::floormod, i32, i32, -7, 2, 1}, {Op::floormod, i32, i32, 7, -2, -1}, {Op::floormod, i32, i32, 8, 2, 0}, {Op::floormod, i32, i32, 5, 0, 0},
    {Op::floormod, i32, i32, min32, -1, 0}, {Op::floormod, i64, i64, -1, 10, 9},
    {Op::neg, i32, i32, 5, 0, -5}, {Op::neg, i8, i8, -128, 0, -128}, {Op::neg, f32, f32, 1.5, 0, -1.5}, {Op::neg, f64, f64, 0.0, 0, -0.0},
    {Op::neg, f16, f16, 0x3c00, 0, 0xbc00},
    {Op::abs, i32, i32, -5, 0, 5}, {Op::abs, i32, i32, min32, 0, min32}, {Op::abs, i64, i64, 7, 0, 7}, {Op::abs, f32, f32, -2.5, 0, 2.5},
    {Op::abs, f64, f64, -0.0, 0, 0.0}, {Op::abs, f16, f16, 0xbc00, 0, 0x3c00},
    {Op::min, i32, i32, -1, 1, -1}, {Op::min, i8, i8, 127, -128, -128}, {Op::min, f32, f32, nan, 2.0, 2.0}, {Op::min, f64, f64, 1.0, nan, 1.0},
    {Op::min, f64, f64, nan, nan, nan}, {Op::min, f16, f16, 0x4000, 0x3c00, 0x3c00},
    {Op::max, i32, i32, -1, 1, 1}, {Op::max, i64, i64, min64, max64, max64}, {Op::max, f32, f32, nan, 2.0, 2.0}, {Op::max, f64, f64, -inf, -1.0, -1.0},
    {Op::umin, i32, i32, -1, 1, 1}, {Op::umin, i8, i8, -128, 127, 127}, {Op::umax, i32, i32, -1, 1, -1}, {Op::umax, i64, i64, 5, 6, 6},
    // bits
    {Op::and_, i32, i32, 0xf0f0, 0xff00, 0xf000}, {Op::and_, b1, b1, 1, 0, 0}, {Op::and_, b1, b1, 1, 1, 1}, {Op::or_, i8, i8, 0x50, 0x0f, 0x5f},
    {Op::or_, b1, b1, 0, 1, 1}, {Op::or_, b1, b1, 0, 0, 0}, {Op::xor_, i64, i64, -1, 1, -2}, {Op::xor_, b1, b1, 1, 1, 0},
    {Op::not_, i32, i32, 0, 0, -1}, {Op::not_, i8, i8, 0x0f, 0, 0xf0}, {Op::not_, b1, b1, 1, 0, 0}, {Op::not_, b1, b1, 0, 0, 1},
    {Op::shl, i32, i32, 1, 31, min32}, {Op::shl, i32, i32, 1, 33, 2}, {Op::shl, i8, i8, 1, 9, 2}, {Op::shl, i64, i64, 3, 62, min64 / 2},
    {Op::shr, i32, i32, -1, 28, 15}, {Op::shr, i8, i8, -128, 7, 1}, {Op::shr, i64, i64, -1, 63, 1}, {Op::shr, i32, i32, 8, 35, 1},
    {Op::sar, i32, i32, -8, 1, -4}, {Op::sar, i8, i8, -128, 7, -1}, {Op::sar, i64, i64, min64, 63, -1}, {Op::sar, i16, i16, 16, 18, 4},
    {Op::popcnt, i32, i32, -1, 0, 32}, {Op::popcnt, i8, i8, 0x55, 0, 4}, {Op::popcnt, i64, i64, min64, 0, 1},
    {Op::clz, i32, i32, 1, 0, 31}, {Op::clz, i32, i32, 0, 0, 32}, {Op::clz, i8, i8, 1, 0, 7}, {Op::clz, i64, i64, -1, 0, 0},
    {Op::ctz, i32, i32, 8, 0, 3}, {Op::ctz, i32, i32, 0, 0, 32}, {Op::ctz, i16, i16, 0, 0, 16}, {Op::ctz, i64, i64, min64, 0, 63},
    // comparison
    {Op::eq, i32, b1, 3, 3, 1}, {Op::eq, f32, b1, nan, nan, 0}, {Op::eq, f64, b1, 0.0, -0.0, 1}, {Op::eq, b1, b1, 1, 0, 0}, {Op::eq, f16, b1, 0x8000, 0, 1},
    {Op::ne, i32, b1, 3, 4, 1}, {Op::ne, f32, b1, nan, nan, 1}, {Op::ne, f64, b1, 2.0, 2.0, 0}, {Op::ne, b1, b1, 1, 0, 1},
    {Op::lt, i32, b1, -1, 1, 1}, {Op::lt, i32, b1, 1, 1, 0}, {Op::lt, f32, b1, nan, 1.0, 0}, {Op::lt, f64, b1, -inf, inf, 1},
    {Op::lt, f16, b1, 0x3c00, 0x4000, 1},
    {Op::le, i8, b1, -128, 127, 1}, {Op::le, i32, b1, 1, 1, 1}, {Op::le, f32, b1, 1.0, nan, 0}, {Op::le, f64, b1, 2.0, 1.0, 0},
    {Op::ult, i32, b1, -1, 1, 0}, {Op::ult, i8, b1, 1, -1, 1}, {Op::ult, i64, b1, 4, 4, 0}, {Op::ule, i32, b1, 4, 4, 1}, {Op::ule, i64, b1, -1, 0, 0},
    // conversion
    {Op::cast, i32, i64, -1, 0, -1}, {Op::cast, i64, i8, 0x1ff, 0, -1}, {Op::cast, i32, f32, -3, 0, -3.0}, {Op::cast, f32, i32, -2.9, 0, -2},
    {Op::cast, f32, i32, 1e20, 0, max32}, {Op::cast, f64, i64, -1e30, 0, min64}, {Op::cast, f64, i32, nan, 0, 0}, {Op::cast, f64, i8, 200.0, 0, 127},
    {Op::cast, f64, f32, 0.1, 0, double(0.1f)}, {Op::cast, f32, f64, 0.5, 0, 0.5}, {Op::cast, i32, b1, 2, 0, 1}, {Op::cast, f64, b1, nan, 0, 1},
    {Op::cast, f32, b1, -0.0, 0, 0}, {Op::cast, b1, i32, 1, 0, 1}, {Op::cast, b1, f64, 1, 0, 1.0}, {Op::cast, f32, f16, 65519.0, 0, 0x7bff},
    {Op::cast, f32, f16, 65520.0, 0, 0x7c00}, {Op::cast, f32, f16, 5.9604644775390625e-08, 0, 1}, {Op::cast, f16, f32, 0x0001, 0, 5.9604644775390625e-08},
    {Op::cast, i32, f16, 2049, 0, 0x6800}, {Op::cast, f16, i32, 0xc100, 0, -2}, {Op::cast, i64, f32, 16777217, 0, 16777216.0},
    {Op::ucast, i8, i32, -1, 0, 255}, {Op::ucast, i32, f64, -1, 0, 4294967295.0}, {Op::ucast, f64, i8, 200.0, 0, 200}, {Op::ucast, f64, i32, -5.0, 0, 0},
    {Op::ucast, f32, i32, 3e9, 0, 3000000000u}, {Op::ucast, f64, i64, 1e30, 0, -1}, {Op::ucast, b1, i64, 1, 0, 1}, {Op::ucast, i64, f64, -1, 0, 18446744073709551616.0},
    {Op::bitcast, f32, i32, 1.0, 0, 0x3f800000}, {Op::bitcast, i64, f64, 0x4000000000000000, 0, 2.0}, {Op::bitcast, i16, f16, 0x3c00, 0, 0x3c00},
    {Op::bitcast, b1, b1, 1, 0, 1}, {Op::bitcast, f64, i64, -0.0, 0, min64},
    // real functions; those marked Inexact are compared with a tolerance
    {Op::floor, f32, f32, -1.5, 0, -2.0}, {Op::floor, f64, f64, 1.5, 0, 1.0}, {Op::floor, f16, f16, 0xbe00, 0, 0xc000},
    {Op::ceil, f32, f32, -1.5, 0, -1.0}, {Op::ceil, f64, f64, 1.2, 0, 2.0}, {Op::trunc, f32, f32, -1.7, 0, -1.0}, {Op::trunc, f64, f64, 1.7, 0, 1.0},
    {Op::roundeven, f32, f32, 2.5, 0, 2.0}, {Op::roundeven, f64, f64, 3.5, 0, 4.0}, {Op::roundeven, f64, f64, -0.5, 0, -0.0},
    {Op::sqrt, f32, f32, 2.0, 0, 1.41421354}, {Op::sqrt, f64, f64, 2.0, 0, 1.4142135623730951}, {Op::sqrt, f64, f64, -1.0, 0, nan}, {Op::sqrt, f16, f16, 0x4400, 0, 0x4000},
    {Op::rsqrt, f64, f64, 4.0, 0, 0.5}, {Op::rsqrt, f32, f32, 16.0, 0, 0.25},
    {Op::sin, f64, f64, 0.5, 0, 0.479425538604203}, {Op::sin, f32, f32, 0.5, 0, 0.479425538604203}, {Op::cos, f64, f64, 0.5, 0, 0.8775825618903728},
    {Op::tan, f64, f64, 0.5, 0, 0.5463024898437905}, {Op::asin, f64, f64, 0.5, 0, 0.5235987755982989}, {Op::acos, f64, f64, 0.5, 0, 1.0471975511965979},
    {Op::atan2, f64, f64, 1.0, -1.0, 2.356194490192345}, {Op::atan2, f32, f32, 1.0, 2.0, 0.4636476090008061}, {Op::tanh, f64, f64, 0.5, 0, 0.46211715726000973},
    {Op::exp, f64, f64, 1.0, 0, 2.718281828459045}, {Op::log, f64, f64, 10.0, 0, 2.302585092994046}, {Op::pow, f64, f64, 2.0, 0.5, 1.4142135623730951},
    {Op::pow, f32, f32, 3.0, 4.0, 81.0},
    {Op::ipow, i32, i32, 3, 4, 81}, {Op::ipow, i32, i32, 2, 0, 1}, {Op::ipow, i32, i32, 2, -1, 1}, {Op::ipow, i32, i32, 3, 21, 1870418611},
    {Op::ipow, i8, i8, 2, 7, -128}, {Op::ipow, i64, i64, -2, 3, -8},
    {Op::frexp_frac, f64, f64, 8.0, 0, 0.5}, {Op::frexp_frac, f64, f64, -3.0, 0, -0.75}, {Op::frexp_frac, f64, f64, 0.0, 0, 0.0}, {Op::frexp_frac, f64, f64, inf, 0, inf},
    {Op::frexp_frac, f32, f32, 0.375, 0, 0.75}, {Op::frexp_exp, f64, i32, 8.0, 0, 4}, {Op::frexp_exp, f32, i32, 0.375, 0, -1}, {Op::frexp_exp, f64, i32, nan, 0, 0},
    {Op::frexp_exp, f64, i32, 0.0, 0, 0},
    // atomics: x is the element, y the operand, `want` the new element
    {Op::atomic_add, i32, i32, max32, 1, min32}, {Op::atomic_add, f32, f32, 1.5, 2.0, 3.5}, {Op::atomic_add, f64, f64, 1.0, -1.0, 0.0}, {Op::atomic_add, i8, i8, 100, 100, -56},
    {Op::atomic_mul, i32, i32, 3, -4, -12}, {Op::atomic_mul, f64, f64, 0.5, 3.0, 1.5}, {Op::atomic_min, i32, i32, -1, 1, -1}, {Op::atomic_min, f32, f32, nan, 1.0, 1.0},
    {Op::atomic_max, i32, i32, -1, 1, 1}, {Op::atomic_max, f64, f64, 2.0, nan, 2.0}, {Op::atomic_umin, i32, i32, -1, 1, 1}, {Op::atomic_umax, i32, i32, -1, 1, -1},
    {Op::atomic_and, i32, i32, 12, 10, 8}, {Op::atomic_and, b1, b1, 1, 0, 0}, {Op::atomic_or, i64, i64, 12, 10, 14}, {Op::atomic_or, b1, b1, 0, 1, 1},
    {Op::atomic_xor, i16, i16, 12, 10, 6}, {Op::atomic_xor, b1, b1, 1, 1, 0},
    {Op::atomic_xchg, f32, f32, 1.0, 2.0, 2.0}, {Op::atomic_xchg, i8, i8, 1, 2, 2}, {Op::atomic_xchg, b1, b1, 1, 0, 0},
};

}  // namespace qd::test

// fold.hpp: the functions that the `meaning` column of ops.def is written in. Everything here is total: no operand makes
// it trap or undefined, and integers are computed without sign so that wrapping is defined. Compile users of this file
// with -ffp-contract=off.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace qd::fold {

// IEEE binary16 in memory; arithmetic is done in float and rounded once, which is exact for + - * / and sqrt.
struct half {
  uint16_t bits = 0;
  half() = default;
  explicit half(float v);
  operator float() const;
};

inline half::half(float v) {
  const uint32_t f = std::bit_cast<uint32_t>(v);
  const uint32_t sign = f >> 16 & 0x8000u, magnitude = f & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    bits = uint16_t(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  } else if (magnitude >= 0x477ff000u) {  // rounds to at least 2^16: infinity
    bits = uint16_t(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 aligns the fraction, rounding is the adder's
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  } else {
    bits = uint16_t(sign | ((magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13));
  }
}

inline half::operator float() const {
  const uint32_t sign = uint32_t(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float v = float(magnitude) * 0x1p-24f;
  return sign ? -v : v;
}

template <class T> inline constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, half>;
template <class T> struct unsign { using type = T; };
template <class T> requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) struct unsign<T> { using type = std::make_unsigned_t<T>; };
template <class T> using unsigned_t = typename unsign<T>::type;
template <class T> using wide_t = std::conditional_t<std::is_same_v<T, half>, float, T>;  // type to compute in

// Unsigned arithmetic in at least 32 bits, so that integer promotion cannot bring a sign back.
template <class T> using arith_t = std::conditional_t<(sizeof(T) < 4), uint32_t, unsigned_t<T>>;

template <class T, class F> T f1(T x, F f) { return T(f(wide_t<T>(x))); }
template <class T, class F> T f2(T x, T y, F f) { return T(f(wide_t<T>(x), wide_t<T>(y))); }

template <class T> T add(T x, T y) {
  if constexpr (is_float<T>) return T(wide_t<T>(x) + wide_t<T>(y));
  else return T(arith_t<T>(x) + arith_t<T>(y));
}
template <class T> T sub(T x, T y) {
  if constexpr (is_float<T>) return T(wide_t<T>(x) - wide_t<T>(y));
  else return T(arith_t<T>(x) - arith_t<T>(y));
}
template <class T> T mul(T x, T y) {
  if constexpr (is_float<T>) return T(wide_t<T>(x) * wide_t<T>(y));
  else return T(arith_t<T>(x) * arith_t<T>(y));
}
template <class T> T neg(T x) {
  if constexpr (is_float<T>) return T(-wide_t<T>(x));
  else return T(arith_t<T>(0) - arith_t<T>(x));
}
template <class T> T abs(T x) {
  if constexpr (is_float<T>) return T(std::fabs(wide_t<T>(x)));
  else return x < 0 ? neg(x) : x;
}
template <class T> T fdiv(T x, T y) { return T(wide_t<T>(x) / wide_t<T>(y)); }  // IEEE: x/0 is an infinity or NaN

template <class T> bool overflows(T x, T y) { return y == T(-1) && x == std::numeric_limits<T>::min(); }
template <class T> T idiv(T x, T y) { return y == 0 ? T(0) : overflows(x, y) ? x : T(x / y); }
template <class T> T irem(T x, T y) { return y == 0 || overflows(x, y) ? T(0) : T(x % y); }
template <class T> T udiv(T x, T y) { return y == 0 ? T(0) : T(unsigned_t<T>(x) / unsigned_t<T>(y)); }
template <class T> T urem(T x, T y) { return y == 0 ? T(0) : T(unsigned_t<T>(x) % unsigned_t<T>(y)); }
template <class T> T floordiv(T x, T y) {
  const T r = irem(x, y);
  return y != 0 && r != 0 && (r < 0) != (y < 0) ? T(idiv(x, y) - 1) : idiv(x, y);
}
template <class T> T floormod(T x, T y) {
  const T r = irem(x, y);
  return r != 0 && (r < 0) != (y < 0) ? T(r + y) : r;
}

template <class T> T min(T x, T y) {
  if constexpr (is_float<T>) return T(std::fmin(wide_t<T>(x), wide_t<T>(y)));
  else return y < x ? y : x;
}
template <class T> T max(T x, T y) {
  if constexpr (is_float<T>) return T(std::fmax(wide_t<T>(x), wide_t<T>(y)));
  else return x < y ? y : x;
}

template <class T> T bit_not(T x) {
  if constexpr (std::is_same_v<T, bool>) return !x;
  else return T(~x);
}
template <class T> uint32_t amount(T y) { return uint32_t(unsigned_t<T>(y)) & uint32_t(sizeof(T) * 8 - 1); }
template <class T> T shl(T x, T y) { return T(arith_t<T>(unsigned_t<T>(x)) << amount(y)); }
template <class T> T shr(T x, T y) { return T(unsigned_t<T>(x) >> amount(y)); }
template <class T> T sar(T x, T y) { return T(x >> amount(y)); }

template <class T> bool eq(T x, T y) { return wide_t<T>(x) == wide_t<T>(y); }
template <class T> bool lt(T x, T y) { return wide_t<T>(x) < wide_t<T>(y); }
template <class T> bool le(T x, T y) { return wide_t<T>(x) <= wide_t<T>(y); }

// Saturating float to integer. The bounds are powers of two, exact in every float type wide enough to reach them.
template <class R, class F> R saturate(F v) {
  if (v != v) return R(0);
  const double d = double(v), low = double(std::numeric_limits<R>::min());
  const double top = std::ldexp(1.0, std::numeric_limits<R>::digits);
  return d < low ? std::numeric_limits<R>::min() : d >= top ? std::numeric_limits<R>::max() : R(d);
}
template <class R, bool Unsigned, class T> R cast(T x) {
  using Src = std::conditional_t<Unsigned, unsigned_t<T>, T>;
  using Dst = std::conditional_t<Unsigned, unsigned_t<R>, R>;
  if constexpr (std::is_same_v<R, bool>) return wide_t<T>(x) != wide_t<T>(T{});
  else if constexpr (is_float<T> && is_float<R>) return R(wide_t<R>(wide_t<T>(x)));
  else if constexpr (is_float<T>) return R(saturate<Dst>(wide_t<T>(x)));
  else if constexpr (std::is_same_v<R, half>) return std::is_same_v<T, bool> || sizeof(T) <= 2 ? half(float(Src(x))) : half(float(double(Src(x))));
  else return R(Dst(Src(x)));
}
template <class R, class T> R bitcast(T x) {
  R r{};
  std::memcpy(static_cast<void *>(&r), &x, std::min(sizeof r, sizeof x));
  return r;
}

template <class T> T ipow(T x, T y) {
  T r = 1;
  for (; y > 0; y = T(y >> 1), x = mul(x, x))
    if (y & 1) r = mul(r, x);
  return r;
}
template <class T> T frexp_frac(T x) {
  int e = 0;
  const auto v = wide_t<T>(x);
  return std::isfinite(v) ? T(std::frexp(v, &e)) : x;
}
template <class R, class T> R frexp_exp(T x) {
  int e = 0;
  const auto v = wide_t<T>(x);
  if (std::isfinite(v)) std::frexp(v, &e);
  return R(e);
}

}  // namespace qd::fold

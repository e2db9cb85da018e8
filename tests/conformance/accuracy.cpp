// accuracy.cpp: see accuracy.hpp. The exact value is rounded from long double, whose 64-bit significand leaves an error
// below 0.001 ulp even for f64.
#include "tests/conformance/accuracy.hpp"

#include <cmath>
#include <cstdio>
#include <optional>

#include "core/ir/constants.hpp"
#include "qd/fold.hpp"
#include "tests/ir/values.hpp"

namespace qd::conformance {
namespace {

constexpr Bound bounds[] = {
#define ACCURACY(op, h, s, d, fh, fs, fd) {Op::op, {h, s, d}, {fh, fs, fd}},
#include "tests/conformance/accuracy.def"
};

struct Format {
  int digits, min_exponent;  // of the significand; of the smallest normal number as frexp counts
};
Format format(Type t) {
  return t == Type::f16 ? Format{11, -13} : t == Type::f32 ? Format{24, -125} : Format{53, -1021};
}

long double real(Type t, uint64_t bits) {
  if (t == Type::f64) return std::bit_cast<double>(bits);
  if (t == Type::f32) return std::bit_cast<float>(uint32_t(bits));
  fold::half h;
  h.bits = uint16_t(bits);
  return float(h);
}

std::optional<long double> exact(Op op, long double x, long double y) {
  switch (op) {
    case Op::fdiv: return x / y;
    case Op::sqrt: return sqrtl(x);
    case Op::rsqrt: return 1 / sqrtl(x);
    case Op::sin: return sinl(x);
    case Op::cos: return cosl(x);
    case Op::tan: return tanl(x);
    case Op::asin: return asinl(x);
    case Op::acos: return acosl(x);
    case Op::atan2: return atan2l(x, y);
    case Op::tanh: return tanhl(x);
    case Op::exp: return expl(x);
    case Op::log: return logl(x);
    case Op::pow: return powl(x, y);
    default: return std::nullopt;
  }
}

// Error of `found` in units in the last place of t at `truth`; infinity counts as the next power of two.
long double ulps(Type t, long double found, long double truth) {
  const Format f = format(t);
  const long double top = ldexpl(1, 3 - f.min_exponent);
  if (std::isinf(found)) found = copysignl(top, found);
  if (fabsl(truth) > top) truth = copysignl(top, truth);
  int e = 0;
  frexpl(truth, &e);
  return fabsl(found - truth) / ldexpl(1, std::max(e, f.min_exponent) - f.digits);
}

bool is_zero(Type t, uint64_t bits) { return (bits & (ir::width_mask(t) >> 1)) == 0; }

}  // namespace

double allowed_ulp(Op op, Type result, bool fast) {
  if (!ir::is_float(result)) return 0;
  for (const Bound &b : bounds)
    if (b.op == op) return (fast ? b.fast : b.exact)[int(result) - int(Type::f16)];
  return 0;
}

bool is_right(const Result &r, bool fast) {
  const double bound = allowed_ulp(r.op, r.to, fast);
  if (bound == 0 && r.found == r.want) return true;
  if (!ir::is_float(r.to)) return false;
  if (ir::is_nan_bits(r.to, r.found) || ir::is_nan_bits(r.to, r.want))
    return ir::is_nan_bits(r.to, r.found) && ir::is_nan_bits(r.to, r.want);
  const bool open_sign = fast || r.op == Op::min || r.op == Op::max;
  if (is_zero(r.to, r.found) && is_zero(r.to, r.want)) return open_sign || r.found == r.want;
  if (bound == 0) return false;
  const auto truth = exact(r.op, real(r.from, r.x), real(r.from, r.y));
  const bool tiny = truth && fabsl(*truth) < ldexpl(1, format(r.to).min_exponent - 1);
  if (fast && tiny && is_zero(r.to, r.found)) return true;
  return truth && ulps(r.to, real(r.to, r.found), *truth) <= bound;
}

double error_of(const Result &r, bool fast) {
  const auto truth = exact(r.op, real(r.from, r.x), real(r.from, r.y));
  const auto subnormal = [&](Type t, long double v) {
    return v != 0 && fabsl(v) < ldexpl(1, format(t).min_exponent - 1);
  };
  if (!truth || std::isnan(*truth) || ir::is_nan_bits(r.to, r.found)) return 0;
  const bool pole = std::isinf(*truth) && (is_zero(r.from, r.x) || is_zero(r.from, r.y));  // its sign is open
  if (fast &&
      (pole || subnormal(r.to, *truth) || subnormal(r.from, real(r.from, r.x)) || subnormal(r.from, real(r.from, r.y))))
    return 0;
  return double(ulps(r.to, real(r.to, r.found), *truth));
}

std::string describe(const Result &r) {
  using ir::testing::show_value;
  std::string s = std::string(info(r.op).name) + "." + std::string(info(r.from).name) + " -> " +
                  std::string(info(r.to).name) + " of " + show_value(r.from, r.x);
  if (info(r.op).sig.size() > 1) s += ", " + show_value(r.from, r.y);
  s += ": found " + show_value(r.to, r.found) + ", reference " + show_value(r.to, r.want);
  if (const auto truth = exact(r.op, real(r.from, r.x), real(r.from, r.y)); truth && ir::is_float(r.to)) {
    char error[32];
    std::snprintf(error, sizeof error, " (%.3Lg ulp)", ulps(r.to, real(r.to, r.found), *truth));
    s += error;
  }
  return s;
}

std::string accuracy_table() {
  std::string s =
      "| operation | f16 | f32 | f64 | f16, fast | f32, fast | f64, fast |\n|---|---|---|---|---|---|---|\n";
  for (const Bound &b : bounds) {
    s += "| `" + std::string(info(b.op).name) + "` |";
    for (const auto &mode : {b.exact, b.fast})
      for (int k = 0; k < 3; ++k) {
        char cell[16];
        std::snprintf(cell, sizeof cell, " %g |", mode[k]);
        s += cell;
      }
    s += "\n";
  }
  return s;
}

}  // namespace qd::conformance

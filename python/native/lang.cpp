// lang.cpp: applies a row of lang_ops.def: convert the operands by its rule, refuse what it can't take, pick the
// operation by class. Operators that the IR has no single operation for are composed at the end.
#include "lang.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/support/error.hpp"
#include "qd/fold.hpp"

namespace qd::py {
namespace {

using ir::Op;

enum class Rule : uint8_t { Arith, Promote, Real, Left, Wide, Order, Equal, Swapped, Logic, Count, Keep, Exponent };
enum class Needs : uint8_t { Any, Integral, RealOnly };

inline constexpr Op identity = Op::count;
inline constexpr Op composed = Op(uint16_t(Op::count) + 1);
inline constexpr Op never = Op(uint16_t(Op::count) + 2);

struct Row {
  std::string_view name;
  const char *symbol;
  Rule rule;
  Needs needs;
  Op op[4];  // signed, unsigned, real, bool
};

// The operations of ops.def by name beside the three marks above, so that the table can write either.
namespace col {
#define OP(name, ...) inline constexpr Op name = Op::name;
#include "qd/ops.def"
inline constexpr Op identity = py::identity, composed = py::composed, never = py::never;
}  // namespace col

constexpr Row binary_rows[] = {
#define BINARY(name, symbol, rule, needs, s, u, r, b) \
  {#name, symbol, Rule::rule, Needs::needs, {col::s, col::u, col::r, col::b}},
#include "lang_ops.def"
};
constexpr Row unary_rows[] = {
#define UNARY(name, symbol, rule, needs, s, u, r) \
  {#name, symbol, Rule::rule, Needs::needs, {col::s, col::u, col::r, col::u}},
#include "lang_ops.def"
};
constexpr Row atomic_rows[] = {
#define ATOMIC(name, needs, s, u, r, b) \
  {#name, "atomic_" #name, Rule::Keep, Needs::needs, {col::s, col::u, col::r, col::b}},
#include "lang_ops.def"
};

Op pick(const Row &row, DT t) {
  const DTypeInfo &i = info(t);
  return row.op[i.real ? 2 : t == DT::u1 ? 3 : i.sign ? 0 : 1];
}

ir::Val emit(Lang &l, Op op, DT t, ir::Val x, ir::Val y = 0) { return l.b.emit(op, info(t).type, {x, y, 0}); }

std::string quoted(DT t) { return std::string("'") + info(t).name + "'"; }

[[noreturn]] void refuse(const Row &row, DT x, DT y) {
  throw LangError{"QuadrantsTypeError", std::string("unsupported operand type(s) for '") + row.symbol +
                                            "': " + quoted(x) + " and " + quoted(y)};
}

void require(const Row &row, DT x) {
  const bool ok = row.needs == Needs::Any || is_real(x) == (row.needs == Needs::RealOnly);
  if (ok) return;
  const char *kind = row.needs == Needs::RealOnly ? "real" : "integral";
  throw LangError{"QuadrantsTypeError", std::string("'") + row.symbol + "' takes " + kind + " inputs only, however " +
                                            quoted(x) + " is provided"};
}

// The type in which an operator works on operands of types x and y.
DT working_type(const Lang &l, Rule rule, DT x, DT y) {
  switch (rule) {
    case Rule::Real: return promote(is_real(x) ? x : l.default_fp, is_real(y) ? y : l.default_fp);
    case Rule::Left: return arithmetic(x);
    case Rule::Wide: return x == DT::f64 || y == DT::f64 ? DT::f64 : DT::f32;
    case Rule::Logic: return DT::u1;
    case Rule::Promote:
    case Rule::Equal: return promote(x, y);
    default: return arithmetic(promote(x, y));
  }
}

bool gives_bool(Rule r) { return r == Rule::Order || r == Rule::Equal || r == Rule::Swapped; }

Typed power_by_squaring(Lang &l, Typed x, uint64_t n) {  // n >= 1
  std::optional<ir::Val> r;
  for (ir::Val square = x.v;; square = emit(l, Op::mul, x.t, square, square)) {
    if (n & 1) r = r ? emit(l, Op::mul, x.t, *r, square) : square;
    if (!(n >>= 1)) return {*r, x.t};
  }
}

constexpr uint64_t max_unrolled_exponent = 32;

Typed real_power(Lang &l, Typed x, int64_t n) {
  if (n == 0) return real_constant(l, 1, x.t);
  const Typed p = power_by_squaring(l, x, uint64_t(std::abs(n)));
  return n > 0 ? p : Typed{emit(l, Op::fdiv, x.t, real_constant(l, 1, x.t).v, p.v), x.t};
}

// Integer power in a type wide enough for both; narrowing afterwards is exact because products wrap.
Typed integer_power(Lang &l, Typed x, Typed y) {
  if (const auto n = known_int(l, y)) {
    if (*n < 0 && info(y.t).sign)
      throw LangError{"QuadrantsTypeError", "Negative exponent in pow(int, int) is not allowed."};
    if (*n == 0) return int_constant(l, 1, x.t);
    if (uint64_t(*n) <= max_unrolled_exponent) return power_by_squaring(l, x, uint64_t(*n));
  }
  const bool y_needs_more = !info(y.t).sign && info(y.t).bytes >= info(x.t).bytes;  // its top bit is no sign
  const int bytes = std::min<int>(8, std::max<int>(info(x.t).bytes, info(y.t).bytes * (y_needs_more ? 2 : 1)));
  const DT wide = bytes == 8 ? DT::i64 : bytes == 4 ? DT::i32 : bytes == 2 ? DT::i16 : DT::i8;
  const Typed p{emit(l, Op::ipow, wide, convert(l, x, wide).v, convert(l, y, wide).v), wide};
  return convert(l, p, x.t);
}

Typed power(Lang &l, Typed x, Typed y) {
  if (!is_real(y.t)) {
    x = convert(l, x, arithmetic(x.t));
    if (!is_real(x.t)) return integer_power(l, x, y);
    const auto n = known_int(l, y);
    if (n && *n >= -int64_t(max_unrolled_exponent) && *n <= int64_t(max_unrolled_exponent)) return real_power(l, x, *n);
    return {emit(l, Op::pow, x.t, x.v, convert(l, y, x.t).v), x.t};
  }
  const DT t = promote(x.t, y.t);
  x = convert(l, x, t);
  if (const auto n = known_real(l, y); n && *n == std::trunc(*n) && std::fabs(*n) <= double(max_unrolled_exponent))
    return real_power(l, x, int64_t(*n));
  return {emit(l, Op::pow, t, x.v, convert(l, y, t).v), t};
}

// x - f(x / y) * y with f floor (Python's sign rule) or trunc (C's), and floor(x / y), on reals of type t.
Typed compose_real(Lang &l, Bin op, ir::Val x, ir::Val y, DT t) {
  const ir::Val quotient = emit(l, Op::fdiv, t, x, y);
  const ir::Val whole = emit(l, op == Bin::raw_mod ? Op::trunc : Op::floor, t, quotient);
  if (op == Bin::floordiv) return {whole, t};
  return {emit(l, Op::sub, t, x, emit(l, Op::mul, t, whole, y)), t};
}

// Nearest integer, halves away from zero. x - trunc(x) is exact, so no value is rounded twice; NaN and infinities stay.
Typed round_half_away(Lang &l, Typed x) {
  const ir::Val t = emit(l, Op::trunc, x.t, x.v);
  const ir::Val distance = emit(l, Op::abs, x.t, emit(l, Op::sub, x.t, x.v, t));
  const ir::Val half = real_constant(l, 0.5, x.t).v, zero = real_constant(l, 0, x.t).v;
  const ir::Val negative = l.b.emit(Op::lt, ir::Type::b1, {x.v, zero, 0});
  const ir::Val step =
      l.b.emit(Op::select, info(x.t).type, {negative, real_constant(l, -1, x.t).v, real_constant(l, 1, x.t).v});
  const ir::Val away = l.b.emit(Op::le, ir::Type::b1, {half, distance, 0});
  return {l.b.emit(Op::select, info(x.t).type, {away, emit(l, Op::add, x.t, t, step), t}), x.t};
}

}  // namespace

Typed binary(Lang &l, Bin op, Typed x, Typed y) {
  const Row &row = binary_rows[size_t(op)];
  if (row.needs == Needs::Integral && (is_real(x.t) || is_real(y.t))) refuse(row, x.t, y.t);
  if (op == Bin::pow) return power(l, x, y);
  const DT t = working_type(l, row.rule, x.t, y.t);
  x = convert(l, x, t);
  y = convert(l, y, t);
  if (row.rule == Rule::Swapped) std::swap(x, y);
  const Op code = pick(row, t);
  if (code == composed) return compose_real(l, op, x.v, y.v, t);
  QD_ASSERT(code < Op::count);
  if (gives_bool(row.rule)) return {l.b.emit(code, ir::Type::b1, {x.v, y.v, 0}), DT::u1};
  return {emit(l, code, t, x.v, y.v), t};
}

Typed unary(Lang &l, Un op, Typed x) {
  const Row &row = unary_rows[size_t(op)];
  require(row, x.t);
  switch (row.rule) {
    case Rule::Arith: x = convert(l, x, arithmetic(x.t)); break;
    case Rule::Count: x = convert(l, x, arithmetic(x.t)); break;
    case Rule::Real: x = is_real(x.t) ? x : convert(l, x, l.default_fp); break;
    case Rule::Logic: x = as_bool(l, x); break;
    default: break;
  }
  const Op code = pick(row, x.t);
  if (code == identity) return x;
  if (code == composed) return round_half_away(l, x);
  QD_ASSERT(code < Op::count);
  if (row.rule == Rule::Exponent) return {emit(l, code, DT::i32, x.v), DT::i32};
  const Typed r{emit(l, code, x.t, x.v), x.t};
  return row.rule == Rule::Count ? convert(l, r, DT::i32) : r;
}

std::optional<Un> find_unary(std::string_view name) {
  for (size_t i = 0; i < std::size(unary_rows); ++i)
    if (unary_rows[i].name == name) return Un(i);
  return std::nullopt;
}

Typed convert(Lang &l, Typed x, DT to) {
  if (x.t == to) return x;
  const DTypeInfo &from = info(x.t), &dest = info(to);
  if (from.type == dest.type) return {x.v, to};
  const bool from_unsigned = !from.real && !from.sign && x.t != DT::u1;
  const bool to_unsigned = !dest.real && !dest.sign && to != DT::u1;
  // Narrowing integers and truth values are the same either way; always `cast`, so that equal code is equal.
  const bool no_sign = from.real ? to_unsigned : from_unsigned && (dest.real || dest.bytes > from.bytes);
  return {emit(l, no_sign ? Op::ucast : Op::cast, to, x.v), to};
}

Typed bit_cast(Lang &l, Typed x, DT to) {
  const DTypeInfo &from = info(x.t), &dest = info(to);
  if (from.bytes != dest.bytes || (x.t == DT::u1) != (to == DT::u1))
    throw LangError{"QuadrantsTypeError", "bit_cast needs two types of the same size, found " + quoted(x.t) + " (" +
                                              std::to_string(from.bytes) + " bytes) and " + quoted(to) + " (" +
                                              std::to_string(dest.bytes) + " bytes)"};
  if (from.type == dest.type) return {x.v, to};
  return {emit(l, Op::bitcast, to, x.v), to};
}

Typed as_bool(Lang &l, Typed x) { return convert(l, x, DT::u1); }

Typed as_index(Lang &l, Typed x) {
  if (x.t == DT::i32 || x.t == DT::i64) return x;
  if (is_real(x.t))
    throw LangError{"QuadrantsTypeError", "indices must be integers, however " + quoted(x.t) + " is provided"};
  if (info(x.t).bytes < 4) return convert(l, x, DT::i32);
  const auto n = known_int(l, x);
  if (x.t == DT::u32 && n && *n <= INT32_MAX) return convert(l, x, DT::i32);
  return convert(l, x, DT::i64);
}

Typed select(Lang &l, Typed cond, Typed x, Typed y) {
  if (is_real(cond.t))
    throw LangError{"QuadrantsTypeError",
                    "'select' takes an integral condition, however " + quoted(cond.t) + " is provided; use `x != 0`"};
  const DT t = promote(x.t, y.t);
  cond = as_bool(l, cond);
  x = convert(l, x, t);
  y = convert(l, y, t);
  return {l.b.emit(Op::select, info(t).type, {cond.v, x.v, y.v}), t};
}

Typed int_constant(Lang &l, int64_t x, DT t) {
  if (is_real(t)) return real_constant(l, info(t).sign ? double(x) : double(uint64_t(x)), t);
  const int bits = t == DT::u1 ? 1 : info(t).bytes * 8;
  const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  return {l.b.constant(info(t).type, uint64_t(x) & mask), t};
}

Typed real_constant(Lang &l, double x, DT t) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  if (t == DT::f32) bits = std::bit_cast<uint32_t>(float(x));
  if (t == DT::f16) bits = fold::half(float(x)).bits;
  return {l.b.constant(info(t).type, bits), t};
}

std::optional<int64_t> known_int(const Lang &l, Typed x) {
  uint64_t bits;
  if (is_real(x.t) || !l.b.constant_value(x.v, bits)) return std::nullopt;
  const int shift = 64 - info(x.t).bytes * 8;
  return info(x.t).sign ? int64_t(bits << shift) >> shift : int64_t(bits << shift >> shift);
}

std::optional<double> known_real(const Lang &l, Typed x) {
  uint64_t bits;
  if (!is_real(x.t) || !l.b.constant_value(x.v, bits)) return std::nullopt;
  if (x.t == DT::f64) return std::bit_cast<double>(bits);
  if (x.t == DT::f32) return std::bit_cast<float>(uint32_t(bits));
  fold::half h;
  h.bits = uint16_t(bits);
  return double(float(h));
}

Typed atomic(Lang &l, std::string_view name, uint32_t param, DT t, ir::Val index, Typed x) {
  for (const Row &row : atomic_rows) {
    if (row.name != name) continue;
    if (row.needs == Needs::Integral && (is_real(t) || is_real(x.t))) refuse(row, t, x.t);
    x = convert(l, x, t);
    Op code = pick(row, t);
    if (code == never) refuse(row, t, x.t);
    if (code == composed) {  // sub: only addition is atomic everywhere
      if (t == DT::u1) refuse(row, t, x.t);
      x.v = emit(l, Op::neg, t, x.v);
      code = Op::atomic_add;
    }
    return {l.b.emit(code, info(t).type, {param, index, x.v}), t};
  }
  throw LangError{"ValueError",
                  "no atomic operation '" + std::string(name) + "': expected add sub mul min max and or xor exchange"};
}

}  // namespace qd::py

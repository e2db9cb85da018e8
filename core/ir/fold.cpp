// fold.cpp: constant values, made of the `meaning` column of ops.def: the table is read once for each operand type, and
// for operations whose result type is written (casts) once more for each result type. Nothing here knows an operation
// by name, but for the two places where a row leaves a choice: the zero that min and max give, and the bits of a NaN.
#include "qd/fold.hpp"
#include "core/ir/constants.hpp"

namespace qd::ir {
namespace {

template <Type>
struct cpp;
template <>
struct cpp<Type::b1> {
  using type = bool;
};
template <>
struct cpp<Type::i8> {
  using type = int8_t;
};
template <>
struct cpp<Type::i16> {
  using type = int16_t;
};
template <>
struct cpp<Type::i32> {
  using type = int32_t;
};
template <>
struct cpp<Type::i64> {
  using type = int64_t;
};
template <>
struct cpp<Type::f16> {
  using type = fold::half;
};
template <>
struct cpp<Type::f32> {
  using type = float;
};
template <>
struct cpp<Type::f64> {
  using type = double;
};

template <class T>
T decode(uint64_t bits) {
  T v{};
  if constexpr (std::is_same_v<T, bool>) v = bits & 1;
  else std::memcpy(static_cast<void *>(&v), &bits, sizeof v);
  return v;
}
template <class T>
uint64_t encode(T v) {
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

template <class T>
constexpr bool fits(Class c) {
  constexpr bool is_bool = std::is_same_v<T, bool>, is_real = fold::is_float<T>;
  switch (c) {
    case Class::Any: return true;
    case Class::Num: return !is_bool;
    case Class::Int: return !is_bool && !is_real;
    case Class::Float: return is_real;
    case Class::Bits: return !is_real;
  }
  return false;
}

struct NoValue {};

// Rows with a written result type when R is a type of its own, all others when R is void.
template <class T, class R_>
std::optional<uint64_t> value_of(Op op, [[maybe_unused]] T x, [[maybe_unused]] T y) {
  using R [[maybe_unused]] = std::conditional_t<std::is_void_v<R_>, T, R_>;
  using U [[maybe_unused]] = fold::unsigned_t<T>;
  switch (op) {
#define NOVALUE \
  NoValue {}
#define OP(name, sig, cls, res, eff, flags, meaning, doc)                                     \
  case Op::name:                                                                              \
    if constexpr (Effect::eff == Effect::Pure && !((flags)&Inexact) && fits<T>(Class::cls) && \
                  (Result::res == Result::Given) == !std::is_void_v<R_>) {                    \
      const auto r = meaning;                                                                 \
      if constexpr (std::is_same_v<decltype(r), const NoValue>) return std::nullopt;          \
      else return encode(r);                                                                  \
    }                                                                                         \
    return std::nullopt;
#include "qd/ops.def"
#undef NOVALUE
    case Op::count: break;
  }
  return std::nullopt;
}

template <class F>
auto with_type(Type t, F f) {
  switch (t) {
    case Type::b1: return f.template operator()<bool>();
    case Type::i8: return f.template operator()<int8_t>();
    case Type::i16: return f.template operator()<int16_t>();
    case Type::i32: return f.template operator()<int32_t>();
    case Type::i64: return f.template operator()<int64_t>();
    case Type::f16: return f.template operator()<fold::half>();
    case Type::f32: return f.template operator()<float>();
    case Type::f64: return f.template operator()<double>();
    default: return decltype(f.template operator()<bool>()){};
  }
}

}  // namespace

bool is_nan_bits(Type t, uint64_t bits) {
  switch (t) {
    case Type::f16: return (bits & 0x7fff) > 0x7c00;
    case Type::f32: return (bits & 0x7fffffff) > 0x7f800000;
    case Type::f64: return (bits & ~(uint64_t(1) << 63)) > uint64_t(0x7ff) << 52;
    default: return false;
  }
}

std::optional<uint64_t> fold(Op op, Type from, Type result, uint64_t x, uint64_t y) {
  // Of two zeros min and max give either, so a folded one could differ from a computed one.
  if ((op == Op::min || op == Op::max) && is_float(from) && (x ^ y) == (width_mask(from) >> 1) + 1 &&
      (x << 1 & width_mask(from)) == 0)
    return std::nullopt;
  auto bits = info(op).result == Result::Given
                  ? with_type(from,
                              [&]<class T>() {
                                return with_type(
                                    result, [&]<class R>() { return value_of<T, R>(op, decode<T>(x), decode<T>(y)); });
                              })
                  : with_type(from, [&]<class T>() { return value_of<T, void>(op, decode<T>(x), decode<T>(y)); });
  // IEEE leaves the sign and payload of a NaN that an operation makes open; a bitcast makes none.
  if (bits && op != Op::bitcast && is_nan_bits(result, *bits)) return std::nullopt;
  return bits;
}

uint64_t convert_constant(Type type, int64_t v) {
  return with_type(type, [&]<class R>() { return encode(fold::cast<R, false>(v)); });
}
uint64_t convert_constant(Type type, double v) {
  return with_type(type, [&]<class R>() { return encode(fold::cast<R, false>(v)); });
}

}  // namespace qd::ir

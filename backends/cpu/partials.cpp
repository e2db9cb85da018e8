// partials.cpp: see partials.hpp. A partial that still is the identity was never added to and is skipped: its element
// may not even exist (a guarded update that never ran). Float sums are taken in double and rounded once.
#include "backends/cpu/partials.hpp"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cmath>
#include <cstring>

#include "qd/fold.hpp"
#include "qd/ir_tables.hpp"

namespace qd::cpu {
namespace {

using view::Op;
using view::Type;

template <class T>
T from_bits(uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

// Partials have type P, elements type E (they differ for f16 only).
template <class P>
bool untouched(Op op, uint64_t bits) {
  const P v = from_bits<P>(bits);
  if constexpr (std::is_floating_point_v<P>) {
    if (op == Op::atomic_add) return v == 0 && std::signbit(v);
    return op == Op::atomic_mul ? v == 1 : v != v;
  } else {
    using U = std::make_unsigned_t<P>;
    switch (op) {
      case Op::atomic_mul: return v == 1;
      case Op::atomic_min: return v == std::numeric_limits<P>::max();
      case Op::atomic_max: return v == std::numeric_limits<P>::min();
      case Op::atomic_umin:
      case Op::atomic_and: return U(v) == std::numeric_limits<U>::max();
      default: return v == 0;
    }
  }
}

template <class T>
T integer_step(Op op, T x, T y) {
  switch (op) {
    case Op::atomic_add: return fold::add(x, y);
    case Op::atomic_mul: return fold::mul(x, y);
    case Op::atomic_min: return fold::min(x, y);
    case Op::atomic_max: return fold::max(x, y);
    case Op::atomic_umin: return T(std::min(std::make_unsigned_t<T>(x), std::make_unsigned_t<T>(y)));
    case Op::atomic_umax: return T(std::max(std::make_unsigned_t<T>(x), std::make_unsigned_t<T>(y)));
    case Op::atomic_and: return T(x & y);
    case Op::atomic_or: return T(x | y);
    default: return T(x ^ y);
  }
}

double float_step(Op op, double x, double y) {
  switch (op) {
    case Op::atomic_add: return x + y;
    case Op::atomic_mul: return x * y;
    case Op::atomic_min: return std::fmin(x, y);
    default: return std::fmax(x, y);
  }
}

template <class P, class E>
void combine_slot(Op op, const QdxCpuPartial *p, uint32_t stride, int64_t chunks) {
  bool any = false;
  using Wide = std::conditional_t<std::is_floating_point_v<P>, double, P>;
  Wide sum{};
  for (int64_t c = 0; c < chunks; c++) {
    const uint64_t bits = p[c * stride].bits;
    if (untouched<P>(op, bits)) continue;
    const Wide v = Wide(from_bits<P>(bits));
    if (!any) sum = v;
    else if constexpr (std::is_floating_point_v<P>) sum = float_step(op, sum, v);
    else sum = integer_step<P>(op, sum, v);
    any = true;
  }
  if (!any) return;
  auto *element = reinterpret_cast<E *>(p->address);
  E old;
  std::memcpy(&old, element, sizeof old);
  if constexpr (std::is_same_v<E, fold::half>) old = E(float(float_step(op, double(float(old)), sum)));
  else if constexpr (std::is_floating_point_v<E>) old = E(float_step(op, double(old), sum));
  else old = integer_step<E>(op, old, sum);
  std::memcpy(element, &old, sizeof old);
}

// Truth values are bytes of 0 or 1; as partials they are one bit.
void combine_bool(Op op, const QdxCpuPartial *p, uint32_t stride, int64_t chunks) {
  auto *element = reinterpret_cast<uint8_t *>(p->address);
  const uint64_t nothing = op == Op::atomic_and;
  for (int64_t c = 0; c < chunks; c++) {
    const uint64_t bit = p[c * stride].bits & 1;
    if (bit == nothing) continue;
    *element = uint8_t(op == Op::atomic_and ? 0 : op == Op::atomic_or ? 1 : *element ^ 1);
  }
}

}  // namespace

void combine(const QdxCpuMeta &meta, const QdxCpuPartial *partials, int64_t chunks) {
  const uint32_t n = meta.n_partials;
  for (uint32_t k = 0; k < n; k++) {
    const Op op = Op(meta.partial_op[k]);
    const QdxCpuPartial *p = partials + k;
    switch (Type(meta.partial_type[k])) {
      case Type::b1: combine_bool(op, p, n, chunks); break;
      case Type::i8: combine_slot<int8_t, int8_t>(op, p, n, chunks); break;
      case Type::i16: combine_slot<int16_t, int16_t>(op, p, n, chunks); break;
      case Type::i32: combine_slot<int32_t, int32_t>(op, p, n, chunks); break;
      case Type::i64: combine_slot<int64_t, int64_t>(op, p, n, chunks); break;
      case Type::f16: combine_slot<float, fold::half>(op, p, n, chunks); break;
      case Type::f32: combine_slot<float, float>(op, p, n, chunks); break;
      case Type::f64: combine_slot<double, double>(op, p, n, chunks); break;
      default: break;
    }
  }
}

}  // namespace qd::cpu

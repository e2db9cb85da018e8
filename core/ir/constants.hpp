// constants.hpp: bits of constants, and what operations make of them. The bits of a constant are its value zero-extended to 64
// bits: an i8 of -1 is 0xff, a b1 is 0 or 1, an f16 its 16 bits. Everything here is exact: the result has the same bits as the
// operation would give on any target.
#pragma once
#include <optional>

#include "core/ir/func.hpp"

namespace qd::ir {

constexpr uint64_t width_mask(Type t) {
  if (t == Type::b1) return 1;
  return info(t).bytes >= 8 ? ~uint64_t(0) : (uint64_t(1) << info(t).bytes * 8) - 1;
}

// Value of a pure operation on constants of type `from`, or nothing where no target-independent value exists.
std::optional<uint64_t> fold(Op op, Type from, Type result, uint64_t x, uint64_t y);

// `v` converted to `type` as a constant of that type: integers wrap, floats round or saturate.
uint64_t convert_constant(Type type, int64_t v);
uint64_t convert_constant(Type type, double v);

// Whether the bits are a NaN of the float type `t`.
bool is_nan_bits(Type t, uint64_t bits);

}  // namespace qd::ir

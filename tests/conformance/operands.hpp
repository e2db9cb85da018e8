// operands.hpp: what operations are tried on: the edges of each type in all pairs, numbers with random bits, and where a type is
// small enough, everything.
#pragma once
#include <string>
#include <vector>

#include "core/ir/func.hpp"

namespace qd::conformance {

using ir::Type;
using Bits = std::vector<uint64_t>;

Bits edges(Type);                                 // limits, powers of two and neighbours; NaN, infinities, subnormals, -0
Bits random_bits(Type, size_t n, uint32_t seed);  // half of floats of moderate size; NaNs are quiet
Bits unary_operands(Type);
struct Pairs {
  Bits x, y;
};
Pairs binary_operands(Type);

std::string pack(Type, const Bits &);  // as memory holds them
Bits unpack(Type, const std::string &bytes);

}  // namespace qd::conformance

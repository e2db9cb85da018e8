// rules.hpp: what the Builder asks before it appends a record. Private to core/ir; constants.hpp is for everybody.
#pragma once
#include "core/ir/builder.hpp"
#include "core/ir/constants.hpp"

namespace qd::ir {

// A value that already says what the record would, or no_val. May emit a simpler operation in its place.
Val simplify(Builder &b, Op op, Type type, const std::array<uint32_t, 3> &arg);

}  // namespace qd::ir

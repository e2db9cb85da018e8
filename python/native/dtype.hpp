// dtype.hpp: scalar types of the language as data. The IR has integers without sign; the sign lives here, in the front
// end's view of a value, and picks the operation.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/ir/func.hpp"

namespace qd::py {

enum class DT : uint8_t {
#define DTYPE(name, ...) name,
#include "dtypes.def"
  count
};

struct DTypeInfo {
  const char *name;
  ir::Type type;
  uint8_t bytes;
  bool real, sign;
  uint8_t rank;
  char numpy;
  int64_t min;
  uint64_t max;
};
inline constexpr DTypeInfo dtype_table[] = {
#define DTYPE(name, type, bytes, real, sign, rank, numpy, min, max) \
  {#name, ir::Type::type, bytes, real, sign, rank, numpy, int64_t(min), uint64_t(max)},
#include "dtypes.def"
};
constexpr const DTypeInfo &info(DT t) { return dtype_table[size_t(t)]; }
constexpr bool is_real(DT t) { return info(t).real; }

// language.md 2.5: the wider real; an integer meeting a real gives the real; the wider integer, unsigned at equal
// width.
constexpr DT promote(DT a, DT b) { return info(a).rank >= info(b).rank ? a : b; }
// Arithmetic happens on numbers: truth values count as i32, so that True + True is 2.
constexpr DT arithmetic(DT t) { return t == DT::u1 ? DT::i32 : t; }

}  // namespace qd::py

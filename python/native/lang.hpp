// lang.hpp: the operators of the language over the IR builder: promotion, operand requirements, and what an operator is
// made of. Knows nothing of Python, so that its rules can be read and tested alone. Facts per operator stand in
// lang_ops.def.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/ir/builder.hpp"
#include "dtype.hpp"

namespace qd::py {

// A value and its type in the language: the IR type says the bits, `t` also the sign.
struct Typed {
  ir::Val v;
  DT t;
};

enum class Bin : uint8_t {
#define BINARY(name, ...) name,
#include "lang_ops.def"
  count
};
enum class Un : uint8_t {
#define UNARY(name, ...) name,
#include "lang_ops.def"
  count
};

// A mistake of the user's: the name of a class of quadrants.lang.exception (or of a builtin one), and the text.
struct LangError {
  const char *cls;
  std::string message;
};

struct Lang {
  ir::Builder b;
  DT default_ip = DT::i32, default_fp = DT::f32;
  bool fast_math = true, debug = false;
};

Typed binary(Lang &, Bin, Typed x, Typed y);
Typed unary(Lang &, Un, Typed x);
std::optional<Un> find_unary(std::string_view name);
Typed convert(Lang &, Typed x, DT to);   // language.md 2.4: truncates, wraps, and `!= 0` for u1
Typed bit_cast(Lang &, Typed x, DT to);  // types of one size
Typed as_bool(Lang &, Typed x);
Typed as_index(Lang &, Typed x);  // i32, or i64 for 64-bit and for u32 that may not fit
Typed select(Lang &, Typed cond, Typed x, Typed y);
Typed int_constant(Lang &, int64_t x, DT t);  // wraps
Typed real_constant(Lang &, double x, DT t);
// The old element. `name` is a row of lang_ops.def's ATOMIC table; x is converted to the element's type `t`.
Typed atomic(Lang &, std::string_view name, uint32_t param, DT t, ir::Val index, Typed x);
std::optional<double> known_real(const Lang &, Typed x);  // of a real that is constant
std::optional<int64_t> known_int(const Lang &, Typed x);  // of an integer that is constant

}  // namespace qd::py

// text.hpp: what the printer and the parser of the text form share. Private to core/ir.
#pragma once
#include "core/ir/func.hpp"

namespace qd::ir {

// Words for the alias classes of a buffer, by QD_ALIAS_.
inline constexpr std::string_view alias_words[] = {"buf", "field", "scratch", "shared"};

// Records that `%v =` stands before: those with a value, and calls, whose results are asked for by number.
constexpr bool has_name(Op op) { return op == Op::call || (info(op).result != Result::None && op != Op::parallel); }

}  // namespace qd::ir

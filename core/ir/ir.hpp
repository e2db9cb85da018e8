// ir.hpp: what can be done with a unit. Each function reads one unit and gives a new one, or text, or bytes.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/ir/func.hpp"

namespace qd::ir {

std::string print(const Unit &);
Unit parse(std::string_view text);  // through the Builder unless the text begins with `raw`; throws Error "line N: ..."

struct Fault {
  uint32_t func = 0;
  Val record = 0;  // the offending record
  std::string message;
};
std::optional<Fault> verify(const Unit &);  // nothing when well formed

// The one form of a unit: dead code dropped, pure values in demand order and as far out of loops as their operands allow,
// unused parameters dropped and the survivors numbered by first use; report sites numbered by first use.
// `param_map[i]` (optional) receives the old number of new parameter i, `site_map` likewise.
Unit canonical(const Unit &, std::vector<uint32_t> *param_map = nullptr, std::vector<uint32_t> *site_map = nullptr);

std::string to_wire(const Unit &);
Unit from_wire(std::string_view bytes);  // throws Error on anything malformed; names are lost

}  // namespace qd::ir

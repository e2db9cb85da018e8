// verify.cpp: well-formedness. The rules are those that plugins hold a unit to, and they live where plugins find them
// (plugins-api, ir_verify.hpp), so that the core cannot accept what a backend will refuse. Here a unit is handed to
// them.
#include <cstring>

#include "core/ir/ir.hpp"
#include "qd/ir_view.hpp"

namespace qd::ir {

std::optional<Fault> verify(const Unit &u) {
  view::View reader;
  view::Fault fault;
  const std::string bytes = to_wire(u);
  if (reader.read(bytes.data(), bytes.size(), fault, {.task = false, .allow_recursion = true})) return std::nullopt;
  // The reader's message names the place; ours is in the fields of Fault.
  std::string_view message = fault.message;
  if (fault.record != view::no_value)
    if (const size_t colon = message.find(": "); colon != message.npos) message.remove_prefix(colon + 2);
  return Fault{fault.func, fault.record, std::string(message)};
}

}  // namespace qd::ir

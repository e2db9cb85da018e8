// copy.hpp: carrying records from one unit into a Builder, the only way that passes make code.
#pragma once
#include <functional>

#include "core/ir/builder.hpp"
#include "core/split/regions.hpp"

namespace qd::split {

// The record with its value fields mapped; parameters through `param`, called functions through `function`.
struct Renaming {
  std::function<Val(Val)> value;
  std::function<uint32_t(uint32_t)> param;
  std::function<uint32_t(uint32_t)> function;
};
Val copy_record(ir::Builder &, const Inst &, const Renaming &);
// A record of the entry: a loop keeps its name.
Val copy_entry_record(ir::Builder &, const ir::Unit &from, Val id, const Renaming &);

// Copies functions as they are called for: `number(f)` gives the function's number in the new unit and copies it, and
// all that it calls, when it is first asked for. Parameters of the old unit are mapped by `param`.
class FunctionCopier {
 public:
  FunctionCopier(ir::Builder &b, const ir::Unit &from, std::function<uint32_t(uint32_t)> param);
  uint32_t number(uint32_t old);

 private:
  ir::Builder &b_;
  const ir::Unit &from_;
  std::function<uint32_t(uint32_t)> param_;
  std::vector<uint32_t> number_;
};

}  // namespace qd::split

// passes.hpp: the passes that run on a task between the split and its canonical form. Each reads a unit and gives a new
// one of equal meaning. Order and reasons: `optimise`.
#pragma once
#include "core/ir/func.hpp"

namespace qd::passes {

ir::Unit optimise(const ir::Unit &task);  // all passes, in the order that task.cpp narrates

// An atomic on an element that provably no other iteration touches becomes load, operation, store.
ir::Unit demote_atomics(const ir::Unit &task);

}  // namespace qd::passes

// split.hpp: cuts a kernel into tasks. The cut is made first and each task is brought into canonical form afterwards,
// so nothing is hoisted, shared or numbered across a cut, and the bytes of a task are the same wherever it stands. What
// crosses a cut and has an effect behind it travels through scratch memory; everything else is rebuilt where it is
// needed.
#pragma once
#include "core/ir/func.hpp"
#include "core/split/plan.hpp"

namespace qd::split {

// Chains of pure records up to this length are rebuilt in each consumer; longer ones are kept in scratch.
inline constexpr uint32_t longest_rebuilt_chain = 64;

Plan split(const ir::Unit &kernel);

// The kernel with its kernel-scope variables and arrays resolved: those that a parallel loop writes have become scratch
// parameters, all others values. `split` does this first; here for tests and dumps.
ir::Unit resolve_variables(const ir::Unit &kernel);

// Without what has no effect and is not used. Records keep their order.
ir::Unit drop_dead(const ir::Unit &);

}  // namespace qd::split

// extent.hpp: private to core/split.
#pragma once
#include "core/split/plan.hpp"

namespace qd::split {

inline constexpr size_t longest_program = 64;  // records of a HostProgram; values live on the stack of positions()

// Of a task's entry; `word_of_param[i]` is the kernel word where the task's parameter i begins (none for scratch).
Extent extent_of_task(const std::vector<ir::Inst> &code, const std::vector<uint32_t> &word_of_param);

}  // namespace qd::split

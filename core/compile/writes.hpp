// writes.hpp: which memory a kernel changes, read off the code of its tasks.
#pragma once
#include <vector>

#include "core/split/plan.hpp"

namespace qd::compile {

// By kernel word: true for the address of a buffer that some task stores to or updates.
std::vector<bool> written_words(const split::Plan &);

}  // namespace qd::compile

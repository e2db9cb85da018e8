// uses.hpp: which memory a kernel reads and which it changes, read off the code of its tasks.
#pragma once
#include <vector>

#include "core/api/core.hpp"
#include "core/split/plan.hpp"
#include "qd/wire.h"

namespace qd::compile {

Use use_of(const QdInst &);  // what a record does with the memory of its first field

// By kernel word: what becomes of the memory whose address it is.
std::vector<Use> used_words(const split::Plan &);

}  // namespace qd::compile

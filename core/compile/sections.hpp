// sections.hpp: which tasks of a kernel may run beside each other: those of different sections (qd.stream_parallel), as
// long as they touch no memory that one of them writes. So a launch gives what the tasks give one after the other.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/split/plan.hpp"

namespace qd::compile {

struct Sections {
  std::vector<uint32_t> of;  // by step: 0 is in order with all
  // Kernel words, addresses of arrays that may be the same memory: sections hold for launches where each pair differs.
  std::vector<std::pair<uint32_t, uint32_t>> apart;
};
Sections sections_of(const split::Plan &);

}  // namespace qd::compile

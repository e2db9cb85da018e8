// segments.hpp: the cut itself. Each `parallel` is a segment, each maximal run of serial statements another; a serial
// statement that may report a failure ends its run, because the statements after it must not run when it did.
#pragma once
#include "core/split/regions.hpp"

namespace qd::split {

struct Segments {
  std::vector<uint32_t> of;    // segment of each record, through its statement
  std::vector<char> parallel;  // per segment
  std::vector<Val> first;      // first record of each segment
};
Segments segments_of(std::span<const Inst> code, const Regions &);

}  // namespace qd::split

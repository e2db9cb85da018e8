// packed.hpp: private to core/compile. An artifact as the store keeps it: its kind in a front of 64 bytes, so that the
// bytes behind it stay aligned.
#pragma once
#include "core/compile/backend.hpp"

namespace qd::compile {

cache::Blob pack(const Artifact &);
bool unpack(const cache::Blob &, Artifact &);  // false: not what pack() makes

}  // namespace qd::compile

// staging.hpp: launches with NumPy arrays on a device that doesn't see the host's memory.
#pragma once
#include "kernel.hpp"

namespace qd::py {

// Copies the arrays in, puts their places on the device into `words`, launches, and copies back those that the kernel
// changes. Arrays that overlap share their memory there too. Throws Error; the GIL is released meanwhile.
void launch_staged(Specialisation &s, uint64_t *words, const std::vector<HostArray> &arrays);

}  // namespace qd::py

// nonce.hpp: the comment that keeps the driver's own cache from serving code of an earlier process
// (offline_cache=False). That cache lies in ~/.nv/ComputeCache, is keyed by the text of the PTX, and its off switch is
// read only when the driver starts. One line, the same for the whole process, so that equal PTX still shares its result
// within it.
#pragma once
#include <string>

namespace qd::cuda {

// "// quadrants-nonce <32 hex digits>\n", made by the first caller from the clock and the system's random source.
const std::string &nonce_line();
// A new one: for tests.
std::string make_nonce_line();

}  // namespace qd::cuda

// executable.hpp: a loaded kernel that can be launched. All that does not depend on the call is laid out when it is
// loaded: a launch copies words, evaluates extents and makes one call of the plugin, without allocating and without a
// lock.
#pragma once
#include <atomic>
#include <memory>

#include "core/api/core.hpp"
#include "core/compile/backend.hpp"
#include "core/split/plan.hpp"

namespace qd::compile {

// Memory that launches use besides their arguments, one set per calling thread: scratch (grown only), result and report
// buffers. One Arenas serves all executables of a context and counts their launches.
class Arenas;
std::shared_ptr<Arenas> make_arenas(std::shared_ptr<Backend>, uint32_t random_seed);

// Throws when an entry is missing; `module` is unloaded then. `module` may be null for a plan without tasks.
std::shared_ptr<Executable> make_executable(split::Plan, std::unique_ptr<Module>, std::shared_ptr<Backend>,
                                            std::shared_ptr<Arenas>, Observations);

}  // namespace qd::compile

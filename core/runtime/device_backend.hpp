// device_backend.hpp: what core/compile asks of a device (compile::Backend), and the buffers of a Context. Inside
// core/runtime only.
#pragma once
#include "core/compile/backend.hpp"
#include "core/runtime/profiler.hpp"

namespace qd {

std::shared_ptr<Buffer> make_buffer(std::shared_ptr<Session>, uint64_t bytes);  // within a Use
// Within a Use. With a profiler, every task is timed.
std::shared_ptr<compile::Backend> make_backend(std::shared_ptr<Session>, std::shared_ptr<Profiler>);

}  // namespace qd

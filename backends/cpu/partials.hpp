// partials.hpp: the end of a reduction: the partial results of all chunks, in order, into their elements.
#pragma once
#include <cstdint>

#include "backends/cpu/codegen_abi.h"

namespace qd::cpu {

// `partials` holds meta.n_partials per chunk, chunk after chunk.
void combine(const QdxCpuMeta &meta, const QdxCpuPartial *partials, int64_t chunks);

}  // namespace qd::cpu

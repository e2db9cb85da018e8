// target.hpp: the processor of this process as target bytes (codegen_abi.h), found without a compiler.
#pragma once
#include "backends/cpu/codegen_abi.h"

namespace qd::cpu {

QdxCpuTarget host_target();
const char *isa_level(const QdxCpuTarget &);  // "x86-64-v1" .. "x86-64-v4", for people
uint32_t usable_cores();                      // that this process may run on

}  // namespace qd::cpu

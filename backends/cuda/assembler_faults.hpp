// assembler_faults.hpp: code that NVIDIA's assembler (ptxas 13.0 and the driver's of that time) translates wrongly is
// written another way.
#pragma once
#include <llvm/IR/Module.h>

namespace qd::cuda {

// Last of all, on optimised code: the optimiser would bring the old form back.
//
// * The negative and the absolute value of an i16 are widened afterwards as if the lowest number had none: in 32 bits.
// * The low bytes of a float's bits are stored as the float converted to an integer of that size: a move in between.
void avoid_assembler_faults(llvm::Module &);

}  // namespace qd::cuda

// assembler_faults.hpp: code that NVIDIA's assembler (ptxas 13.0 and the driver's of that time) translates wrongly is
// written another way.
#pragma once
#include <llvm/IR/Module.h>

namespace qd::cuda {

// Last of all, on optimised code: the optimiser would bring the old form back.
//
// * The negative and the absolute value of an i16 are widened afterwards as if the lowest number had none: in 32 bits.
// * The absolute value of an i32 or i64 is taken for one without a sign afterwards, that of the lowest number too.
// * The low bytes of a float's bits are stored as the float converted to an integer of that size: a move in between.
// * max(max(a, -b), c) of i32 is one instruction that forgets the sign of b (sm_90; min too): -b is ~b + 1.
// * A comparison of a maximum or minimum of i16 looks at the wrong half of the register (sm_90): in 32 bits.
// * A truth value made a float, whose bits are then widened, stays an integer: a choice of 1.0 and 0.0.
// * A choice of floats with -0.0 among them gives 0.0: a choice of their bits.
void avoid_assembler_faults(llvm::Module &);

}  // namespace qd::cuda

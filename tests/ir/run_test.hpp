// run_test.hpp: `; test run` files. A header says what the parameters are bound to and what must come out:
//
//   ; buffer $x f32 = 1 2.5 0*3          elements; V*N is V N times. `; buffer $m f32 [2 3] = ...` gives the extents
//   ; scalar $n i32 = 4
//   ; random SEED LAUNCH                 the random key
//   ; tolerance 1e-6                     floats, relative; exact without this line
//   ; expect $x = 2 4 6 8                buffers without such a line must come out as they went in
//   ; expect output 0 i32 = 7            slot of the result buffer
//   ; expect report SITE ITERATION = 1 2 bits of the values; in any order, and no others
//   ; expect failed
//   ; task                               begins a further task, with its own unit
#pragma once
#include "tests/ir/execute.hpp"

namespace qd::ir::testing {

// Runs a file on every executor, as written and in canonical form. A message for each fault; empty when all is well.
std::vector<std::string> run_file(const std::string &text, const std::vector<std::pair<std::string, Executor *>> &on);

}  // namespace qd::ir::testing

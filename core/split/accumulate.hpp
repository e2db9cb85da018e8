// accumulate.hpp: finds `v = v op x` in parallel loops, for kernel-scope variables and arrays that the iterations
// share: there it means an atomic update.
#pragma once
#include "core/split/regions.hpp"

namespace qd::split {

struct Accumulation {
  Op atomic = Op::count;  // count: it assigns what the variable holds already, and nothing is to be done
  Val operand = no_val;   // x; no_val: all ones (a complement)
  bool negate = false;    // v - x is v + (-x)
  bool cast = false;      // x is of a wider type, and the sum was cast to that of v: x is cast instead
};

struct Accumulations {
  std::vector<uint32_t> index;  // by the `set` or `array_set` record, no_val for others
  std::vector<Accumulation> found;
  const Accumulation *at(Val id) const { return index[id] == no_val ? nullptr : &found[index[id]]; }
};

// A `set` counts when its value is `op(p, x)` and p is known to be what the variable holds at that moment as far as
// this iteration can tell: read from it, or assigned to it, with no assignment between. So with one iteration nothing
// changes.
Accumulations find_accumulations(std::span<const Inst> code, const Regions &);

}  // namespace qd::split

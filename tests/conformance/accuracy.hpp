// accuracy.hpp: whether a result is right: the bits that the meaning column gives, or for a row of accuracy.def an
// error of a few units in the last place against long double.
#pragma once
#include <string>

#include "core/ir/func.hpp"

namespace qd::conformance {

using ir::Op;
using ir::Type;

struct Bound {
  Op op;
  double exact[3], fast[3];  // of f16, f32, f64
};
double allowed_ulp(Op op, Type result, bool fast);

// `x` and `y` are the operands' bits, of type `from`; `want` the reference's result.
struct Result {
  Op op;
  Type from, to;
  uint64_t x, y, found, want;
};
bool is_right(const Result &, bool fast);
// Units in the last place from the exact value; `want` is not looked at. 0 where there is nothing to compare: NaN, and
// what fast math leaves open.
double error_of(const Result &, bool fast);
std::string describe(const Result &);

std::string accuracy_table();  // as docs/accuracy.md holds it

}  // namespace qd::conformance

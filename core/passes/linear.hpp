// linear.hpp: an element index as a sum of products, exact over the integers (docs/ir.md: an index that overflows its
// type is out of bounds, so wrapping needs no thought here).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/split/regions.hpp"

namespace qd::passes {

// coef * product of `factors` (values that are the same in every iteration, sorted) * axis or nothing.
struct Product {
  int64_t coef = 0;
  std::vector<ir::Val> factors;
  uint32_t axis = ir::no_val;
  bool same_unit(const Product &o) const { return factors == o.factors && axis == o.axis; }
};

struct Sum {
  std::vector<Product> terms;  // those with an axis or factors; no two alike
  int64_t low = 0,
          high = 0;  // the rest lies in [low, high]: a constant, and indices of serial loops with constant bounds
};

// Nothing when the index depends on memory, or on an axis other than by sums and products.
std::optional<Sum> linear_index(std::span<const ir::Inst> code, const split::Regions &, ir::Val index);

}  // namespace qd::passes

// cut.hpp: one task of a kernel whose variables are resolved, made from the records of its segment and of what they
// need.
#pragma once
#include <vector>

#include "core/ir/func.hpp"
#include "core/split/segments.hpp"

namespace qd::split {

// Which values of depth 0 travel through scratch: those with an effect behind them, and those at the end of a chain of
// pure records longer than `longest_rebuilt_chain`. A property of the value alone: how many use it, and where, plays no
// part.
struct Crossing {
  std::vector<char> travels;    // may be stored and loaded; else rebuilt
  std::vector<uint64_t> shape;  // structural key of each value without any number in it
};
Crossing crossing_of(const ir::Unit &, const Regions &);

struct Source {  // what a parameter of a task is bound to
  bool slot = false;
  uint32_t index = 0;  // kernel parameter, or the value that travels
};

struct Piece {
  ir::Unit unit;  // not canonical
  std::vector<Source> params;
  bool parallel = false;
};

// Pieces of the kernel in program order; those without an effect are left out. `resolved` has no dead records.
std::vector<Piece> cut(const ir::Unit &resolved);

}  // namespace qd::split

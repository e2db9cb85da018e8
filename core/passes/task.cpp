// task.cpp: what is done to a task between the split and its canonical form, in order.
#include "core/passes/passes.hpp"

namespace qd::passes {

ir::Unit optimise(const ir::Unit &task) {
  // `x[i] += v` is an atomic for the language. Where no other iteration can reach that element it is plain memory
  // traffic, which vectorises; this is the whole difference for most stencils and for every element-wise loop.
  return demote_atomics(task);
}

}  // namespace qd::passes

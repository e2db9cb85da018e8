// plan.hpp: how the arguments of one specialisation become words. A plan is made once from the front end's description
// and read at every call; nothing in it is allocated per call.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "arrays.hpp"
#include "guards.hpp"

namespace qd::py {

// A part of an argument that goes into a word: of a scalar part 0, of a vector its k-th number, of an array the address
// (0) and the extents (1 and up), after them the address of its gradients.
struct Target {
  uint32_t part, word;
};

struct ArgPlan {
  enum Tag : uint8_t { scalar, scalars, array, fixed } tag = scalar;
  DT dtype = DT::i32;               // scalar
  uint64_t kind = 0;                // array
  std::vector<DT> dtypes;           // scalars
  std::unique_ptr<Watched> object;  // fixed: a template argument
  bool by_value = false;            // fixed: number or string
  uint32_t first = 0, count = 0;    // its targets
};

struct Plan {
  std::vector<ArgPlan> args;
  std::vector<Target> targets;
  std::vector<uint64_t> image;  // words with what is known beforehand
  std::vector<Ref> buffers;     // whose addresses are in `image`
};

// From the lists of KernelObject.add. `n_words` is what the executable expects.
Plan make_plan(PyObject *args, PyObject *words, uint32_t n_words);

// Copies the image and fills the arguments in. Returns the position of the first argument that doesn't fit, or -1. Sets
// no error.
int pack(const Plan &p, PyObject *const *args, uint64_t *words);
// The type that an argument should have had: "i32", "vector of 3 numbers", ...
std::string expected_type(const ArgPlan &a);
bool template_dead(const Plan &p);
int visit_plan(const Plan &p, visitproc visit, void *arg);

}  // namespace qd::py

// plan.hpp: how the arguments of one specialisation become words. A plan is made once from the front end's description
// and read at every call; nothing in it is allocated per call.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "arrays.hpp"
#include "guards.hpp"
#include "members.hpp"

namespace qd::py {

// A part of an argument that goes into a word: of a scalar part 0, of a vector its k-th number, of an array the address
// (0) and the extents (1 and up), after them the address of its gradients.
struct Target {
  uint32_t part, word;
};

// How one argument, or a member of one, is checked and taken apart. Members stand behind the parameters, each behind
// its owner: `owner` is its number, and the member is the owner's attribute `name` (or the item, when the owner is a
// dict).
struct ArgPlan {
  enum Tag : uint8_t { scalar, scalars, array, fixed, instance, mapping, same } tag = scalar;
  DT dtype = DT::i32;               // scalar
  uint64_t kind = 0;                // array
  std::vector<DT> dtypes;           // scalars
  std::unique_ptr<Watched> object;  // fixed: a template argument; instance: the exact class
  bool by_value = false;            // fixed: number or string
  uint32_t size = 0;                // mapping: a dict of so many items; same: the object is that of argument `size`
  int32_t owner = -1;               // of a member
  int32_t members = -1;             // number in Plan::owners of an object whose members are read
  Ref name;
  uint32_t first = 0, count = 0;  // its targets
};

// An array of the host that a call passes, for devices that don't see the host's memory.
struct HostArray {
  uint64_t address, bytes;
  Ref owner;
  const Target *targets;  // of its argument
  uint32_t n_targets;
};

struct Plan {
  std::vector<ArgPlan> args;
  uint32_t n_params = 0;  // arguments that are no members; they come first
  std::vector<Target> targets;
  std::vector<uint64_t> image;  // words with what is known beforehand
  std::vector<Ref> buffers;     // whose addresses are in `image`
  std::vector<Members> owners;  // objects whose members are looked at
};

// From the lists of KernelObject.add. `n_words` is what the executable expects.
Plan make_plan(PyObject *args, PyObject *words, uint32_t n_words);

// Copies the image and fills the arguments in. Returns the number of the first argument or member that doesn't fit, or
// -1. Sets no error. Arrays of the host are listed in `arrays`, if given.
int pack(Plan &p, PyObject *const *args, uint64_t *words, std::vector<HostArray> *arrays = nullptr);
bool has_host_arrays(const Plan &p);
// The type that an argument should have had: "i32", "vector of 3 numbers", ...
std::string expected_type(const ArgPlan &a);
// The parameter that a member belongs to.
int parameter_of(const Plan &p, int arg);
// "p", or "p.inner.n" for a member; `names` are those of the parameters.
std::string path_of(const Plan &p, int arg, PyObject *names);
// The argument or member itself; a member that can't be read gives the object that lacks it.
Ref object_of(const Plan &p, int arg, PyObject *const *args);
bool template_dead(const Plan &p);
int visit_plan(const Plan &p, visitproc visit, void *arg);

}  // namespace qd::py

// kernel.hpp: the callable behind @qd.kernel, and one specialisation of it. kernel.cpp has the type, kernel_call.cpp
// the call.
#pragma once
#include <vector>

#include "plan.hpp"
#include "runtime.hpp"

namespace qd::py {

// Lives as long as the kernel lists it or a call is in it: a call may drop the GIL while another thread clears the
// kernel.
struct Specialisation {
  Plan plan;
  Ref executable_object, guards, result, on_report;  // result may be null
  Executable *executable = nullptr;                  // of executable_object
  bool stages = false;                               // it takes arrays that the device doesn't see
  std::vector<Use> uses;                             // with `stages`: of the memory behind its kernel words
  std::vector<std::shared_ptr<Buffer>> staging;      // device memory of the last call's arrays, for the next
  uint64_t last_ticks = ~uint64_t(0);                // of the last launch; unknown at first, so the GIL is released
  int users = 1;
};

struct KernelObject {
  PyObject_HEAD vectorcallfunc call;
  PyObject *dict, *weak_references, *primal, *specialise, *names;
  Py_ssize_t n_params;
  std::vector<Specialisation *> *list;  // by index as `add` gave it; null where dropped
  Specialisation *last;                 // the one used last, or null
};

inline void drop(Specialisation *s) {
  if (s && --s->users == 0) delete s;
}

PyObject *kernel_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

}  // namespace qd::py

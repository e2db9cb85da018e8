// guards.hpp: captured values that a specialisation depends on, and whether they are still what they were.
#pragma once
#include <vector>

#include "py.hpp"

namespace qd::py {

// The object behind a weak reference, or the object itself when its type has none: templates and owners of attributes
// must not be kept alive by a kernel, and a new object at an old address must not pass for them.
class Watched {
 public:
  explicit Watched(PyObject *o);
  bool is(PyObject *o) const { return weak_ ? target() == o : ref_.get() == o; }
  bool dead() const { return weak_ && target() == Py_None; }
  Ref get() const;  // null when dead
  int visit(visitproc visit, void *arg) const;

 private:
  PyObject *target() const;  // borrowed; None when dead
  Ref ref_;
  bool weak_ = false;
};

// Numbers and strings by type and value (reals by their bits), everything else by identity.
bool same_value(PyObject *was, PyObject *now);

bool guards_hold(PyObject *guards);  // sets no error
void init_guards(PyObject *module);

}  // namespace qd::py

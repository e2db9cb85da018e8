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

// Tells whether a dict changed: an unchanged one costs one comparison of `now()`. Before Python 3.12 a dict carries a
// version tag that every change of any dict renews; from 3.12 on the dict is watched and its changes are counted.
#if PY_VERSION_HEX >= 0x030c0000
class Tag {
 public:
  struct Watch {
    uint64_t changes = 1;
    size_t users = 0;
    bool gone = false;
  };
  explicit Tag(PyObject *dict);
  ~Tag() { leave(); }
  Tag(Tag &&t) noexcept : dict_(t.dict_), watch_(std::exchange(t.watch_, nullptr)) {}
  Tag &operator=(Tag &&) = delete;
  uint64_t now() const { return watch_->changes; }

 private:
  void leave();
  PyObject *dict_;
  Watch *watch_;
};
#else
class Tag {
 public:
  explicit Tag(PyObject *dict) : dict_(reinterpret_cast<PyDictObject *>(dict)) {}
  uint64_t now() const { return dict_->ma_version_tag; }

 private:
  PyDictObject *dict_;
};
#endif

// Numbers and strings by type and value (reals by their bits), everything else by identity.
bool same_value(PyObject *was, PyObject *now);

bool guards_hold(PyObject *guards);  // sets no error
void init_guards(PyObject *module);

}  // namespace qd::py

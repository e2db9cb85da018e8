// members.cpp: see members.hpp. What is noted was found in the dict itself, so properties, slots, descriptors and
// classes with a `__getattr__` of their own are read anew at each call.
#include "members.hpp"

namespace qd::py {
namespace {

constexpr uint32_t patience = 64;  // objects that were not the one before; after them a kernel is called with new ones

// The dict of an object, borrowed; null when it has none yet or keeps its attributes elsewhere.
PyObject *dict_of(PyObject *o) {
  PyObject **place = _PyObject_GetDictPtr(o);
  return place ? *place : nullptr;
}

// Renewed when the class or one of its bases changes; 0 while nobody keeps it.
unsigned version_of(PyTypeObject *type) {
  return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag : 0;
}

bool plain(PyTypeObject *type, PyObject *name) {
  PyObject *found = _PyType_Lookup(type, name);
  return !found || !Py_TYPE(found)->tp_descr_set;
}

}  // namespace

bool Members::known(PyObject *object) const {
  return object == object_ && tag_ && dict_of(object) == dict_ && tag_->now() == seen_ &&
         version_of(Py_TYPE(object)) == type_version_;
}

void Members::note(PyObject *object, const std::vector<PyObject *> &values) {
  // From 3.13 on an object's attributes stay in the object itself beside its dict, and not all changes there are told
  // to those who watch the dict: members are read at each call.
  if (PY_VERSION_HEX >= 0x030d0000 || misses_ >= patience) return;
  ++misses_;
  object_ = nullptr;
  tag_.reset();
  PyTypeObject *type = Py_TYPE(object);
  if (type->tp_getattro != PyObject_GenericGetAttr) return;
  const Ref made = Ref::take(PyObject_GenericGetDict(object, nullptr));
  PyObject *dict = dict_of(object);
  if (!made || made.get() != dict || !PyDict_CheckExact(dict)) return PyErr_Clear();
  for (size_t k = 0; k < list_.size(); ++k) {
    PyObject *item = PyDict_GetItemWithError(dict, list_[k].name);
    if (!item || item != values[k] || !plain(type, list_[k].name)) return PyErr_Clear();
    list_[k].value = item;
  }
  if (version_of(type) == 0) return;  // the interpreter doesn't follow changes of this class
  tag_.emplace(dict);
  seen_ = tag_->now();
  object_ = object, dict_ = dict, type_version_ = version_of(type);
}

}  // namespace qd::py

// builder_method.hpp: what the three files of builder methods share.
#pragma once
#include "values.hpp"

namespace qd::py {

using FastMethod = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t);

inline PyMethodDef method(const char *name, FastMethod f, const char *doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(f)), METH_FASTCALL, doc};
}

uint32_t new_owner();  // a mark no builder or function has had

}  // namespace qd::py

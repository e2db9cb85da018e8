// errors.cpp: the one place where C++ exceptions become Python ones. Classes are looked up by the name that status.def
// or the thrower gives, first in quadrants.lang.exception, then among the builtin ones.
#include <map>
#include <new>

#include "core/support/error.hpp"
#include "lang.hpp"
#include "py.hpp"
#include "qd/qd_backend.h"

namespace qd::py {
namespace {

struct StatusClass {
  int code;
  const char *cls;
};
constexpr StatusClass status_classes[] = {
#define STATUS(name, code, cls, doc) {code, cls},
#include "qd/status.def"
};

const char *class_of(const Error &e) {
  for (const StatusClass &s : status_classes)
    if (e.status < 0 && s.code == e.status) return s.cls;
  switch (e.kind) {
    case Kind::compilation:
    case Kind::unsupported: return "QuadrantsCompilationError";
    case Kind::value: return "ValueError";
    case Kind::assertion: return "QuadrantsAssertionError";
    case Kind::memory: return "MemoryError";
    case Kind::interrupted: return "KeyboardInterrupt";
    default: return "QuadrantsRuntimeError";
  }
}

}  // namespace

PyObject *exception_class(const char *name) {
  static std::map<std::string, PyObject *, std::less<>> known;  // references kept: classes live as long as the module
  if (const auto it = known.find(name); it != known.end()) return it->second;
  Ref module = Ref::take(PyImport_ImportModule("quadrants.lang.exception"));
  PyErr_Clear();
  PyObject *cls = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
  PyErr_Clear();
  if (!cls) {
    PyObject *builtins = PyEval_GetBuiltins();
    cls = PyDict_Check(builtins) ? PyDict_GetItemString(builtins, name) : nullptr;
    Py_XINCREF(cls);
  }
  if (!cls) return PyExc_RuntimeError;
  return known[name] = cls;
}

void raise(const char *class_name, const std::string &message) {
  PyErr_SetString(exception_class(class_name), message.c_str());
  throw PythonError{};
}

void translate_exception() noexcept {
  try {
    throw;
  } catch (const PythonError &) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an error was reported without being set");
  } catch (const LangError &e) { PyErr_SetString(exception_class(e.cls), e.message.c_str()); } catch (const Error &e) {
    if (e.kind == Kind::interrupted && PyErr_Occurred()) return;  // what the signal handler raised
    PyErr_SetString(exception_class(class_of(e)), e.what());
  } catch (const std::bad_alloc &) { PyErr_NoMemory(); } catch (const std::exception &e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) { PyErr_SetString(PyExc_SystemError, "an unknown C++ exception"); }
}

std::string_view text(PyObject *str) {
  Py_ssize_t n;
  const char *s = PyUnicode_AsUTF8AndSize(str, &n);
  if (!s) throw PythonError{};
  return {s, size_t(n)};
}

std::string type_name(PyObject *o) {
  const Ref repr = owned(PyObject_Repr(reinterpret_cast<PyObject *>(Py_TYPE(o))));
  return std::string(text(repr.get()));
}

void expect_args(Py_ssize_t given, Py_ssize_t low, Py_ssize_t high, const char *what) {
  if (given >= low && given <= high) return;
  const std::string expected = low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
  raise("TypeError", std::string(what) + " takes " + expected + " arguments, found " + std::to_string(given));
}

PyTypeObject *make_type(PyObject *module, PyType_Spec &spec, PyObject *base) {
  const Ref bases = base ? owned(PyTuple_Pack(1, base)) : Ref();
  PyObject *type = checked(PyType_FromSpecWithBases(&spec, bases.get()));
  checked(PyModule_AddType(module, reinterpret_cast<PyTypeObject *>(type)));
  return reinterpret_cast<PyTypeObject *>(type);  // our reference keeps it for good
}

}  // namespace qd::py

// py.hpp: the little that hand-written heap types need: owning references, errors as C++ exceptions inside one call,
// and the table of our types. A C++ exception never crosses into the interpreter: every entry point goes through
// `guarded`.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

namespace qd::py {

// An owning reference. Null is allowed and means "nothing".
class Ref {
 public:
  Ref() = default;
  static Ref take(PyObject *o) {
    Ref r;
    r.o_ = o;
    return r;
  }  // a new reference
  static Ref share(PyObject *o) {
    Py_XINCREF(o);
    return take(o);
  }  // a borrowed one
  Ref(const Ref &r) : o_(r.o_) { Py_XINCREF(o_); }
  Ref(Ref &&r) noexcept : o_(std::exchange(r.o_, nullptr)) {}
  Ref &operator=(Ref r) noexcept {
    std::swap(o_, r.o_);
    return *this;
  }
  ~Ref() { Py_XDECREF(o_); }
  PyObject *get() const { return o_; }
  PyObject *release() { return std::exchange(o_, nullptr); }
  explicit operator bool() const { return o_; }

 private:
  PyObject *o_ = nullptr;
};

// While one lives, the thread runs without the GIL. A daemon thread that wants it back after the interpreter has ended
// is unwound by CPython, which would end the process in the first noexcept frame: it is parked here instead, for good.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil &) = delete;
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind &) {
      for (;;) ::pause();
    }
  }

 private:
  PyThreadState *state_;
};

struct PythonError {};  // thrown when the interpreter's error indicator is set

inline PyObject *checked(PyObject *o) {
  if (!o) throw PythonError{};
  return o;
}
inline Ref owned(PyObject *o) { return Ref::take(checked(o)); }
inline void checked(int status) {
  if (status < 0) throw PythonError{};
}

// A class of quadrants.lang.exception by name, or a builtin one. Borrowed; imported on first use and kept.
PyObject *exception_class(const char *name);
[[noreturn]] void raise(const char *class_name, const std::string &message);
void translate_exception() noexcept;  // in a catch block: sets the Python error

// Runs f and turns whatever it throws into a Python error and `failed`.
template <class R, class F>
R guarded_as(R failed, F &&f) noexcept {
  try {
    return f();
  } catch (...) {
    translate_exception();
    return failed;
  }
}
template <class F>
PyObject *guarded(F &&f) noexcept {
  return guarded_as<PyObject *>(nullptr, std::forward<F>(f));
}

std::string_view text(PyObject *str);  // UTF-8 of a str; TypeError otherwise
std::string type_name(PyObject *o);    // "<class 'float'>"
void expect_args(Py_ssize_t given, Py_ssize_t low, Py_ssize_t high, const char *what);   // TypeError
PyTypeObject *make_type(PyObject *module, PyType_Spec &spec, PyObject *base = nullptr);  // adds it to the module

// Our heap types, made once when the module is imported.
struct Types {
  PyTypeObject *dtype, *value, *var, *array, *builder, *ndarray, *guards, *kernel;
};
inline Types types{};

// Allocation of the smallest objects goes through short lists of dead ones: an expression makes one value.
template <class T, int limit = 256>
struct FreeList {
  T *head[limit];
  int n = 0;
  T *pop(PyTypeObject *type) {
    if (n) {
      T *o = head[--n];
      PyObject_Init(reinterpret_cast<PyObject *>(o), type);
      return o;
    }
    return PyObject_New(T, type);
  }
  void push(T *o) {
    PyTypeObject *type = Py_TYPE(o);
    if (n < limit) head[n++] = o;
    else PyObject_Free(o);
    Py_DECREF(type);
  }
};

}  // namespace qd::py

// dtype.cpp: DataType, one instance a row of dtypes.def, compared by identity. Instances pickle and copy as the
// module's attribute of their name, so identity survives.
#include <cmath>
#include <limits>

#include "values.hpp"

namespace qd::py {
namespace {

DT self(PyObject *o) { return reinterpret_cast<DTypeObject *>(o)->t; }

PyObject *limit(DT t, bool upper) {
  if (!is_real(t)) return upper ? PyLong_FromUnsignedLongLong(info(t).max) : PyLong_FromLongLong(info(t).min);
  const double top = t == DT::f64   ? std::numeric_limits<double>::max()
                     : t == DT::f32 ? double(std::numeric_limits<float>::max())
                                    : 65504.0;
  return PyFloat_FromDouble(upper ? top : -top);
}

PyObject *name(PyObject *o, void *) { return PyUnicode_FromString(info(self(o)).name); }
PyObject *repr(PyObject *o) { return name(o, nullptr); }
PyObject *to_string(PyObject *o, PyObject *) { return name(o, nullptr); }
PyObject *id(PyObject *o, void *) { return PyLong_FromLong(long(self(o))); }
PyObject *size(PyObject *o, void *) { return PyLong_FromLong(info(self(o)).bytes); }
PyObject *real(PyObject *o, void *) { return PyBool_FromLong(is_real(self(o))); }
PyObject *is_signed(PyObject *o, void *) { return PyBool_FromLong(info(self(o)).sign); }
PyObject *integral(PyObject *o, void *) { return PyBool_FromLong(!is_real(self(o))); }
PyObject *minimum(PyObject *o, void *) { return limit(self(o), false); }
PyObject *maximum(PyObject *o, void *) { return limit(self(o), true); }
PyObject *itself(PyObject *o, PyObject *) { return Py_NewRef(o); }
PyObject *empty_shape(PyObject *, PyObject *) { return PyTuple_New(0); }

PyObject *call(PyObject *, PyObject *, PyObject *) {
  PyErr_SetString(exception_class("QuadrantsSyntaxError"),
                  "Quadrants data types cannot be called outside Quadrants kernels.");
  return nullptr;
}

void free_dtype(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyGetSetDef getset[] = {{"name", name, nullptr, "\"f32\"", nullptr},
                        {"id", id, nullptr, "row number, stable", nullptr},
                        {"size", size, nullptr, "bytes in memory", nullptr},
                        {"is_real", real, nullptr, nullptr, nullptr},
                        {"is_signed", is_signed, nullptr, "integers with sign, and reals", nullptr},
                        {"is_integral", integral, nullptr, "u1 too", nullptr},
                        {"min", minimum, nullptr, "smallest value", nullptr},
                        {"max", maximum, nullptr, "largest value", nullptr},
                        {}};
PyMethodDef methods[] = {{"to_string", to_string, METH_NOARGS, "The name"},
                         {"__reduce__", to_string, METH_NOARGS, "The module's attribute of this name"},
                         {"element_type", itself, METH_NOARGS, "Itself: a scalar type is its own element"},
                         {"shape", empty_shape, METH_NOARGS, "(): a scalar type has no dimensions"},
                         {}};
PyType_Slot slots[] = {{Py_tp_repr, (void *)repr},
                       {Py_tp_str, (void *)repr},
                       {Py_tp_call, (void *)call},
                       {Py_tp_getset, getset},
                       {Py_tp_methods, methods},
                       {Py_tp_dealloc, (void *)free_dtype},
                       {Py_tp_doc, (void *)"A scalar type of the language; one instance each."},
                       {0, nullptr}};
PyType_Spec spec = {"quadrants._native.DataType", sizeof(DTypeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyObject *instances[size_t(DT::count)];

PyObject *promote_py(PyObject *, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "promote");
    return Py_NewRef(dtype_object(promote(dtype_arg(args[0]), dtype_arg(args[1]))));
  });
}
PyMethodDef functions[] = {
    {"promote", (PyCFunction)(void *)promote_py, METH_FASTCALL, "The type in which operands of two types meet"}, {}};

}  // namespace

PyObject *dtype_object(DT t) { return instances[size_t(t)]; }

DT dtype_arg(PyObject *o) {
  if (Py_TYPE(o) != types.dtype) raise("TypeError", "expected a scalar type such as qd.f32, found " + type_name(o));
  return self(o);
}

void init_dtypes(PyObject *module) {
  types.dtype = make_type(module, spec);
  for (size_t i = 0; i < size_t(DT::count); ++i) {
    PyObject *o = checked(types.dtype->tp_alloc(types.dtype, 0));
    reinterpret_cast<DTypeObject *>(o)->t = DT(i);
    instances[i] = o;
    checked(PyModule_AddObjectRef(module, info(DT(i)).name, o));
  }
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace qd::py

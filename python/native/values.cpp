// values.cpp: Value, Var and LocalArray, and what a builder method accepts as an operand.
#include "values.hpp"

#include <cstring>

namespace qd::py {
namespace {

FreeList<RecordObject> dead_values;

RecordObject *self(PyObject *o) { return reinterpret_cast<RecordObject *>(o); }

PyObject *dtype_of(PyObject *o, void *) { return Py_NewRef(dtype_object(self(o)->t)); }
PyObject *size_of(PyObject *o, void *) { return PyLong_FromUnsignedLong(self(o)->size); }
PyObject *repr(PyObject *o) {
  return PyUnicode_FromFormat("<%s %%%u: %s>", strrchr(Py_TYPE(o)->tp_name, '.') + 1, self(o)->v,
                              info(self(o)->t).name);
}
void free_value(PyObject *o) { dead_values.push(self(o)); }
void free_other(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  PyObject_Free(o);
  Py_DECREF(type);
}

PyGetSetDef getset[] = {{"dtype", dtype_of, nullptr, "scalar type", nullptr}, {}};
PyGetSetDef array_getset[] = {{"dtype", dtype_of, nullptr, "scalar type of the elements", nullptr},
                              {"size", size_of, nullptr, "number of elements", nullptr},
                              {}};
PyType_Slot value_slots[] = {{Py_tp_dealloc, (void *)free_value},
                             {Py_tp_getset, getset},
                             {Py_tp_repr, (void *)repr},
                             {Py_tp_doc, (void *)"Immutable result of an expression."},
                             {0, nullptr}};
PyType_Slot var_slots[] = {{Py_tp_dealloc, (void *)free_other},
                           {Py_tp_getset, getset},
                           {Py_tp_repr, (void *)repr},
                           {Py_tp_doc, (void *)"A mutable scalar local; read when passed as an operand."},
                           {0, nullptr}};
PyType_Slot array_slots[] = {{Py_tp_dealloc, (void *)free_other},
                             {Py_tp_getset, array_getset},
                             {Py_tp_repr, (void *)repr},
                             {Py_tp_doc, (void *)"A local array of scalars."},
                             {0, nullptr}};
constexpr unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION;
PyType_Spec value_spec = {"quadrants._native.Value", sizeof(RecordObject), 0, flags, value_slots};
PyType_Spec var_spec = {"quadrants._native.Var", sizeof(RecordObject), 0, flags, var_slots};
PyType_Spec array_spec = {"quadrants._native.LocalArray", sizeof(RecordObject), 0, flags, array_slots};

[[noreturn]] void out_of_range(PyObject *literal, const BuilderState &s, bool has_type, DT t) {
  const Ref repr = owned(PyObject_Repr(literal));
  const std::string value(text(repr.get()));
  if (has_type)
    raise("QuadrantsTypeError", "Integer literal " + value + " exceeded the range of specified dtype: " + info(t).name);
  raise("QuadrantsTypeError", "Integer literal " + value + " exceeded the range of default_ip: " +
                                  info(s.lang.default_ip).name + ", please specify the dtype via e.g. `qd.u64(" +
                                  value + ")` or set a different `default_ip` in `qd.init()`");
}

Typed integer_literal(BuilderState &s, PyObject *o, bool has_type, DT t) {
  if (!has_type) t = s.lang.default_ip;
  if (is_real(t)) {
    const double x = PyLong_AsDouble(o);
    if (x == -1 && PyErr_Occurred()) throw PythonError{};
    return real_constant(s.lang, x, t);
  }
  int overflow = 0;
  const long long x = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (x == -1 && PyErr_Occurred()) throw PythonError{};
  if (overflow == 0 && x >= info(t).min && (x < 0 || uint64_t(x) <= info(t).max)) return int_constant(s.lang, x, t);
  if (overflow > 0 && t == DT::u64) {
    const unsigned long long wide = PyLong_AsUnsignedLongLong(o);
    if (!PyErr_Occurred()) return int_constant(s.lang, int64_t(wide), t);
    PyErr_Clear();
  }
  out_of_range(o, s, has_type, t);
}

Typed real_literal(BuilderState &s, double x, bool has_type, DT t) {
  if (!has_type) t = s.lang.default_fp;
  if (!is_real(t))
    raise("QuadrantsTypeError",
          "Floating-point literals must be annotated with a floating-point type. For type casting, use `qd.cast`.");
  return real_constant(s.lang, x, t);
}

bool is_numpy_bool(PyObject *o) {
  const std::string_view name = Py_TYPE(o)->tp_name;
  return name == "numpy.bool" || name == "numpy.bool_";
}

// The mark of the kernel itself, whatever function is open: parameters are shared by all functions.
uint32_t kernel_owner(const BuilderState &s) { return s.open.empty() ? s.owner : s.open.front().second; }

}  // namespace

PyObject *new_value(const BuilderState &s, Typed x) {
  RecordObject *o = dead_values.pop(types.value);
  if (!o) throw PythonError{};
  o->v = x.v;
  o->t = x.t;
  o->owner = s.owner;
  o->size = 0;
  return reinterpret_cast<PyObject *>(o);
}

PyObject *new_param_value(const BuilderState &s, uint32_t param, int axis, DT t) {
  PyObject *o = new_value(s, {param, t});
  self(o)->owner = kernel_owner(s);
  self(o)->size = uint32_t(axis + 2);
  return o;
}

Typed number(BuilderState &s, PyObject *o, bool has_type, DT t) {
  if (PyBool_Check(o) || is_numpy_bool(o)) {
    const int truth = PyObject_IsTrue(o);
    checked(truth);
    return int_constant(s.lang, truth, has_type ? t : DT::u1);
  }
  if (PyLong_Check(o)) return integer_literal(s, o, has_type, t);
  if (PyFloat_Check(o)) return real_literal(s, PyFloat_AS_DOUBLE(o), has_type, t);
  if (PyIndex_Check(o)) {  // NumPy's integers, and its integer arrays of no dimensions
    const Ref integer = Ref::take(PyNumber_Index(o));
    if (integer) return integer_literal(s, integer.get(), has_type, t);
    PyErr_Clear();
  }
  const PyNumberMethods *as_number = Py_TYPE(o)->tp_as_number;
  if (as_number && as_number->nb_float) {
    const Ref real = Ref::take(PyNumber_Float(o));
    if (real) return real_literal(s, PyFloat_AS_DOUBLE(real.get()), has_type, t);
    PyErr_Clear();
  }
  raise("QuadrantsTypeError", "expected a number or a scalar expression, found " + type_name(o));
}

Typed operand(BuilderState &s, PyObject *o) {
  const bool is_value = Py_TYPE(o) == types.value;
  if (!is_value && Py_TYPE(o) != types.var) return number(s, o, false, DT::i32);
  const RecordObject *r = self(o);
  const bool is_param = is_value && r->size;
  if (r->owner != (is_param ? kernel_owner(s) : s.owner))
    raise("QuadrantsCompilationError", "this value belongs to another kernel or function and can't be used here");
  if (is_param) {
    const auto op = r->size == 1 ? ir::Op::arg : ir::Op::shape;
    return {s.lang.b.emit(op, info(r->t).type, {r->v, r->size == 1 ? 0 : r->size - 2, 0}), r->t};
  }
  if (is_value) return {r->v, r->t};
  ++s.effects;
  return {s.lang.b.emit(ir::Op::get, info(r->t).type, {r->v, 0, 0}), r->t};
}

Items items_of(PyObject *sequence, const char *what) {
  const std::string message = std::string(what) + ": expected a list or tuple";
  Items r;
  r.fast = owned(PySequence_Fast(sequence, message.c_str()));
  r.items = {PySequence_Fast_ITEMS(r.fast.get()), size_t(PySequence_Fast_GET_SIZE(r.fast.get()))};
  return r;
}

int64_t int_arg(PyObject *o, const char *what) {
  const long long x = PyLong_AsLongLong(o);
  if (x != -1 || !PyErr_Occurred()) return x;
  PyErr_Clear();
  raise("TypeError", std::string(what) + ": expected an int of 64 bits, found " + type_name(o));
}

void init_values(PyObject *module) {
  types.value = make_type(module, value_spec);
  types.var = make_type(module, var_spec);
  types.array = make_type(module, array_spec);
}

}  // namespace qd::py

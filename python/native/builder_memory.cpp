// builder_memory.cpp: builder methods for locals, parameters and memory. Every access counts as an effect for is_pure.
#include <cstring>

#include "builder_method.hpp"

namespace qd::py {
namespace {

using ir::Op;

PyObject *new_record(const BuilderState &s, PyTypeObject *type, ir::Val v, DT t, uint32_t size = 0) {
  RecordObject *o = PyObject_New(RecordObject, type);
  if (!o) throw PythonError{};
  o->v = v;
  o->owner = s.owner;
  o->size = size;
  o->t = t;
  return reinterpret_cast<PyObject *>(o);
}

const RecordObject &record(const BuilderState &s, PyObject *o, PyTypeObject *type) {
  if (Py_TYPE(o) != type)
    raise("TypeError", std::string("expected a ") + strrchr(type->tp_name, '.') + ", found " + type_name(o));
  const RecordObject &r = *reinterpret_cast<RecordObject *>(o);
  if (r.owner != s.owner)
    raise("QuadrantsCompilationError", "this variable belongs to another kernel or function and can't be used here");
  return r;
}

uint32_t buffer_arg(const BuilderState &s, PyObject *o) {
  const int64_t p = int_arg(o, "buffer parameter");
  if (p < 0 || size_t(p) >= s.param_types.size()) raise("ValueError", "no parameter number " + std::to_string(p));
  return uint32_t(p);
}

ir::Val index_arg(BuilderState &s, PyObject *o) { return as_index(s.lang, operand(s, o)).v; }

PyObject *var(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "var");
    BuilderState &s = state(self);
    const DT t = dtype_arg(args[0]);
    const Typed init = convert(s.lang, operand(s, args[1]), t);
    ++s.effects;
    return new_record(s, types.var, s.lang.b.emit(Op::var, info(t).type, {init.v, 0, 0}), t);
  });
}

PyObject *get(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 1, 1, "get");
    BuilderState &s = state(self);
    record(s, args[0], types.var);
    return new_value(s, operand(s, args[0]));
  });
}

PyObject *set(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "set");
    BuilderState &s = state(self);
    const RecordObject &v = record(s, args[0], types.var);
    const Typed x = convert(s.lang, operand(s, args[1]), v.t);
    ++s.effects;
    s.lang.b.emit(Op::set, ir::Type::none, {v.v, x.v, 0});
    return Py_NewRef(Py_None);
  });
}

PyObject *array(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "array");
    BuilderState &s = state(self);
    const DT t = dtype_arg(args[0]);
    const int64_t size = int_arg(args[1], "array size");
    if (size < 1 || size > INT32_MAX)
      raise("ValueError", "array: expected a size of 1 to 2**31 - 1, found " + std::to_string(size));
    ++s.effects;
    return new_record(s, types.array, s.lang.b.emit(Op::array, info(t).type, {uint32_t(size), 0, 0}), t,
                      uint32_t(size));
  });
}

PyObject *array_get(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "array_get");
    BuilderState &s = state(self);
    const RecordObject &a = record(s, args[0], types.array);
    const ir::Val index = index_arg(s, args[1]);
    ++s.effects;
    return new_value(s, {s.lang.b.emit(Op::array_get, info(a.t).type, {a.v, index, 0}), a.t});
  });
}

PyObject *array_set(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 3, 3, "array_set");
    BuilderState &s = state(self);
    const RecordObject &a = record(s, args[0], types.array);
    const ir::Val index = index_arg(s, args[1]);
    const Typed x = convert(s.lang, operand(s, args[2]), a.t);
    ++s.effects;
    s.lang.b.emit(Op::array_set, ir::Type::none, {a.v, index, x.v});
    return Py_NewRef(Py_None);
  });
}

PyObject *scalar_param(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "scalar_param");
    BuilderState &s = state(self);
    const DT t = dtype_arg(args[0]);
    const uint32_t p = s.lang.b.param({QD_PARAM_SCALAR, info(t).type, 0, 0, 0}, std::string(text(args[1])));
    s.param_types.push_back(t);
    s.lang.b.emit(Op::arg, info(t).type, {p, 0, 0});  // its usual place; new_param_value emits it again elsewhere
    return new_param_value(s, p, -1, t);
  });
}

PyObject *buffer_param(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 4, 4, "buffer_param");
    BuilderState &s = state(self);
    const DT t = dtype_arg(args[0]);
    const int64_t rank = int_arg(args[1], "rank"), alias = int_arg(args[2], "alias");
    if (rank < 0 || rank > 12)
      raise("ValueError", "buffer_param: expected a rank of 0 to 12, found " + std::to_string(rank));
    if (alias != QD_ALIAS_EXTERNAL && alias != QD_ALIAS_FIELD)
      raise("ValueError", "buffer_param: expected alias 0 (external) or 1 (field), found " + std::to_string(alias));
    s.param_types.push_back(t);
    const ir::Param p{QD_PARAM_BUFFER, info(t).type, uint8_t(rank), uint8_t(alias), 0};
    return PyLong_FromUnsignedLong(s.lang.b.param(p, std::string(text(args[3]))));
  });
}

PyObject *shape(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 3, 3, "shape");
    BuilderState &s = state(self);
    const uint32_t p = buffer_arg(s, args[0]);
    const int64_t axis = int_arg(args[1], "axis");
    const DT t = dtype_arg(args[2]);
    if (t != DT::i32 && t != DT::i64)
      raise("TypeError", std::string("shape: expected i32 or i64, found ") + info(t).name);
    if (axis < 0 || axis >= s.lang.b.unit().params[p].rank)
      raise("ValueError", "shape: no axis " + std::to_string(axis));
    return new_param_value(s, p, int(axis), t);
  });
}

template <Op op>
PyObject *load(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "load");
    BuilderState &s = state(self);
    const uint32_t p = buffer_arg(s, args[0]);
    const DT t = s.param_types[p];
    const ir::Val index = index_arg(s, args[1]);
    ++s.effects;
    return new_value(s, {s.lang.b.emit(op, info(t).type, {p, index, 0}), t});
  });
}

PyObject *store(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 3, 3, "store");
    BuilderState &s = state(self);
    const uint32_t p = buffer_arg(s, args[0]);
    const ir::Val index = index_arg(s, args[1]);
    const Typed x = convert(s.lang, operand(s, args[2]), s.param_types[p]);
    ++s.effects;
    s.lang.b.emit(Op::store, ir::Type::none, {p, index, x.v});
    return Py_NewRef(Py_None);
  });
}

PyObject *atomic_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 4, 4, "atomic");
    BuilderState &s = state(self);
    const uint32_t p = buffer_arg(s, args[1]);
    const ir::Val index = index_arg(s, args[2]);
    const Typed x = operand(s, args[3]);
    ++s.effects;
    return new_value(s, atomic(s.lang, text(args[0]), p, s.param_types[p], index, x));
  });
}

PyObject *atomic_cas(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 4, 4, "atomic_cas");
    BuilderState &s = state(self);
    const uint32_t p = buffer_arg(s, args[0]);
    const DT t = s.param_types[p];
    if (is_real(t))
      raise("QuadrantsTypeError",
            std::string("atomic_cas works on integers only, however '") + info(t).name + "' is provided");
    const ir::Val index = index_arg(s, args[1]);
    const Typed expected = convert(s.lang, operand(s, args[2]), t), desired = convert(s.lang, operand(s, args[3]), t);
    ++s.effects;
    return new_value(
        s, {s.lang.b.emit_taking(Op::atomic_cas, info(t).type, std::span(&expected.v, 1), {p, index, desired.v}), t});
  });
}

// A term of `linear`: a Python int of any size, or a value.
struct Term {
  bool is_int;
  int64_t n;
  Typed x;
};

Term term(BuilderState &s, PyObject *o) {
  if (PyLong_CheckExact(o)) return {true, int_arg(o, "linear"), {}};
  const Typed x = as_index(s.lang, operand(s, o));
  return {false, 0, x};
}

bool is_wide(const Term &t) { return t.is_int ? t.n != int32_t(t.n) : t.x.t == DT::i64; }

ir::Val in_type(BuilderState &s, const Term &t, DT to) {
  return t.is_int ? int_constant(s.lang, t.n, to).v : convert(s.lang, t.x, to).v;
}

PyObject *linear(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 4, 4, "linear");
    BuilderState &s = state(self);
    const Items indices = items_of(args[0], "indices"), strides = items_of(args[1], "strides");
    if (indices.items.size() != strides.items.size())
      raise("ValueError", "linear: " + std::to_string(indices.items.size()) + " indices and " +
                              std::to_string(strides.items.size()) + " strides");
    std::vector<Term> terms;
    terms.reserve(indices.items.size());
    bool wide = PyObject_IsTrue(args[3]) == 1;
    for (PyObject *o : indices.items) wide |= is_wide(terms.emplace_back(term(s, o)));
    const Term offset = term(s, args[2]);
    wide |= is_wide(offset);
    const DT t = wide ? DT::i64 : DT::i32;
    ir::Builder &b = s.lang.b;
    const ir::Type type = info(t).type;
    ir::Val sum = in_type(s, offset, t);
    for (size_t i = 0; i < terms.size(); ++i) {
      const ir::Val stride = in_type(s, term(s, strides.items[i]), t);
      sum = b.emit(Op::add, type, {sum, b.emit(Op::mul, type, {in_type(s, terms[i], t), stride, 0}), 0});
    }
    return new_value(s, {sum, t});
  });
}

}  // namespace

PyMethodDef builder_memory_methods[] = {
    method("var", var, "A new variable"),
    method("get", get, "Its value now"),
    method("set", set, "Assign, cast to its type"),
    method("array", array, "A new local array, all zero"),
    method("array_get", array_get, "Its element"),
    method("array_set", array_set, "Assign its element"),
    method("scalar_param", scalar_param, "A scalar parameter's value"),
    method("buffer_param", buffer_param, "A buffer parameter's number"),
    method("shape", shape, "An extent of a buffer parameter"),
    method("load", load<Op::load>, "Element of a buffer"),
    method("volatile_load", load<Op::volatile_load>, "Element of a buffer, read exactly here and once"),
    method("store", store, "Write an element, cast to its type"),
    method("atomic", atomic_method, "Read-modify-write by name; the old element"),
    method("atomic_cas", atomic_cas, "Compare and swap; the old element"),
    method("linear", linear, "sum of indices[k] * strides[k] + offset"),
    {}};

}  // namespace qd::py

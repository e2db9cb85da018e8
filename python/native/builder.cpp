// builder.cpp: the Builder object, its expressions and literals. Memory and control are in builder_memory.cpp and
// builder_control.cpp. Methods are plain functions over an argument array: an operator costs a call, two type compares
// and the append of a record.
#include <cstring>

#include "builder_method.hpp"
#include "core/ir/ir.hpp"

namespace qd::py {
namespace {

uint32_t last_owner = 0;

template <Bin op>
PyObject *binary_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "a binary operator");
    BuilderState &s = state(self);
    const Typed x = operand(s, args[0]), y = operand(s, args[1]);
    return new_value(s, binary(s.lang, op, x, y));
  });
}

template <Un op>
PyObject *unary_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 1, 1, "a unary operator");
    BuilderState &s = state(self);
    return new_value(s, unary(s.lang, op, operand(s, args[0])));
  });
}

PyObject *unary_by_name(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "unary");
    BuilderState &s = state(self);
    const auto op = find_unary(text(args[0]));
    if (!op) raise("ValueError", "no unary operation '" + std::string(text(args[0])) + "'");
    return new_value(s, unary(s.lang, *op, operand(s, args[1])));
  });
}

PyObject *select_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 3, 3, "select");
    BuilderState &s = state(self);
    const Typed cond = operand(s, args[0]), x = operand(s, args[1]), y = operand(s, args[2]);
    return new_value(s, select(s.lang, cond, x, y));
  });
}

PyObject *cast_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "cast");
    BuilderState &s = state(self);
    return new_value(s, convert(s.lang, operand(s, args[0]), dtype_arg(args[1])));
  });
}

PyObject *bit_cast_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "bit_cast");
    BuilderState &s = state(self);
    return new_value(s, bit_cast(s.lang, operand(s, args[0]), dtype_arg(args[1])));
  });
}

PyObject *const_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 1, 2, "const");
    BuilderState &s = state(self);
    const bool typed = n == 2 && args[1] != Py_None;
    return new_value(s, number(s, args[0], typed, typed ? dtype_arg(args[1]) : DT::i32));
  });
}

PyObject *constant_of(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&]() -> PyObject * {
    expect_args(n, 1, 1, "constant_of");
    BuilderState &s = state(self);
    if (Py_TYPE(args[0]) != types.value) return Py_NewRef(Py_None);
    const Typed x = operand(s, args[0]);
    if (const auto real = known_real(s.lang, x)) return PyFloat_FromDouble(*real);
    const auto integer = known_int(s.lang, x);
    if (!integer) return Py_NewRef(Py_None);
    if (x.t == DT::u1) return PyBool_FromLong(*integer != 0);
    return info(x.t).sign ? PyLong_FromLongLong(*integer) : PyLong_FromUnsignedLongLong(uint64_t(*integer));
  });
}

PyObject *as_bool_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 1, 1, "as_bool");
    BuilderState &s = state(self);
    return new_value(s, as_bool(s.lang, operand(s, args[0])));
  });
}

PyObject *mark(PyObject *self, PyObject *const *, Py_ssize_t) {
  return guarded([&] { return PyLong_FromUnsignedLong(state(self).effects); });
}

PyObject *is_pure(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 1, 1, "is_pure");
    return PyBool_FromLong(int64_t(state(self).effects) == int_arg(args[0], "mark"));
  });
}

PyObject *random_method(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 1, 1, "random");
    BuilderState &s = state(self);
    const DT t = dtype_arg(args[0]);
    ++s.effects;
    return new_value(s, {s.lang.b.emit(ir::Op::random, info(t).type), t});
  });
}

PyObject *text_method(PyObject *self, PyObject *const *, Py_ssize_t) {
  return guarded([&] {
    const BuilderState &s = *reinterpret_cast<BuilderObject *>(self)->s;
    if (s.consumed) raise("QuadrantsRuntimeError", "this builder was compiled already");
    ir::Unit unit = unit_of(s);
    unit.debug.name = s.name;
    const std::string out = ir::print(unit);
    return PyUnicode_DecodeUTF8(out.data(), Py_ssize_t(out.size()), "replace");
  });
}

PyObject *new_builder(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  return guarded([&]() -> PyObject * {
    static const char *names[] = {"name", "default_ip", "default_fp", "fast_math", "debug", nullptr};
    const char *name;
    PyObject *ip, *fp;
    int fast_math, debug;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOOpp:Builder", const_cast<char **>(names), &name, &ip, &fp,
                                     &fast_math, &debug))
      return nullptr;
    auto s = std::make_unique<BuilderState>();
    s->lang.default_ip = dtype_arg(ip);
    s->lang.default_fp = dtype_arg(fp);
    if (is_real(s->lang.default_ip) || !is_real(s->lang.default_fp))
      raise("TypeError", "Builder: default_ip must be an integer type and default_fp a real one");
    s->lang.fast_math = fast_math;
    s->lang.debug = debug;
    s->name = name;
    s->owner = ++last_owner;
    PyObject *o = checked(type->tp_alloc(type, 0));
    reinterpret_cast<BuilderObject *>(o)->s = s.release();
    return o;
  });
}

void free_builder(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  delete reinterpret_cast<BuilderObject *>(o)->s;
  type->tp_free(o);
  Py_DECREF(type);
}

PyMethodDef expression_methods[] = {
#define BINARY(name, symbol, ...) \
  {#name, (PyCFunction)(void *)binary_method<Bin::name>, METH_FASTCALL, "x " symbol " y"},
#include "lang_ops.def"
    {"neg", (PyCFunction)(void *)unary_method<Un::neg>, METH_FASTCALL, "-x"},
    {"invert", (PyCFunction)(void *)unary_method<Un::invert>, METH_FASTCALL, "~x"},
    {"logical_not", (PyCFunction)(void *)unary_method<Un::logical_not>, METH_FASTCALL, "not x"},
    method("unary", unary_by_name, "A row of lang_ops.def's UNARY table by name"),
    method("select", select_method, "x where cond, else y; both evaluated"),
    method("cast", cast_method, "Conversion by value"),
    method("bit_cast", bit_cast_method, "Same bits, another type of the same size"),
    method("const", const_method, "A literal, range-checked"),
    method("constant_of", constant_of, "The number that a value is known to be, or None"),
    method("as_bool", as_bool_method, "x != 0"),
    method("mark", mark, "A mark for is_pure"),
    method("is_pure", is_pure, "Nothing with an effect, read included, was emitted since the mark"),
    method("random", random_method, "Next random number of this iteration"),
    method("text", text_method, "The IR so far"),
    {}};

PyObject *parse_ir(PyObject *, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 1, 1, "parse_ir");
    auto s = std::make_unique<BuilderState>();
    s->parsed = std::make_unique<ir::Unit>(ir::parse(text(args[0])));
    s->name = s->parsed->debug.name;
    PyObject *o = checked(types.builder->tp_alloc(types.builder, 0));
    reinterpret_cast<BuilderObject *>(o)->s = s.release();
    return o;
  });
}
PyMethodDef functions[] = {
    method("parse_ir", parse_ir, "A builder that holds the unit of a text; nothing can be added"), {}};

}  // namespace

uint32_t new_owner() { return ++last_owner; }

BuilderState &state(PyObject *builder) {
  BuilderState &s = *reinterpret_cast<BuilderObject *>(builder)->s;
  if (s.consumed || s.parsed) [[unlikely]]
    raise("QuadrantsRuntimeError",
          s.consumed ? "this builder was compiled already" : "a parsed unit can't be extended");
  return s;
}

const ir::Unit &unit_of(const BuilderState &s) { return s.parsed ? *s.parsed : s.lang.b.unit(); }

ir::Unit consume(PyObject *builder) {
  if (Py_TYPE(builder) != types.builder) raise("TypeError", "compile: expected a Builder, found " + type_name(builder));
  BuilderState &s = *reinterpret_cast<BuilderObject *>(builder)->s;
  if (s.consumed) raise("QuadrantsRuntimeError", "this builder was compiled already");
  s.consumed = true;
  return s.parsed ? std::move(*s.parsed) : std::move(s.lang.b).finish(s.name);
}

void init_builder(PyObject *module) {
  auto &all_methods = *new std::vector<PyMethodDef>;  // the type refers to them for good
  for (PyMethodDef *list : {expression_methods, builder_memory_methods, builder_control_methods, builder_threads_methods})
    for (; list->ml_name; ++list) all_methods.push_back(*list);
  all_methods.push_back({});
  PyType_Slot slots[] = {{Py_tp_new, (void *)new_builder},
                         {Py_tp_dealloc, (void *)free_builder},
                         {Py_tp_methods, all_methods.data()},
                         {Py_tp_doc, (void *)"Builds one kernel; see _native.pyi."},
                         {0, nullptr}};
  PyType_Spec spec = {"quadrants._native.Builder", sizeof(BuilderObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};
  types.builder = make_type(module, spec);
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace qd::py

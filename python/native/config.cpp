// config.cpp: a Python dict to ContextConfig. One row a field; a name that is no field, or a value of the wrong type,
// is an error that says which.
#include <functional>
#include <map>

#include "runtime.hpp"

namespace qd::py {
namespace {

using Setter = void (*)(ContextConfig &, PyObject *);

std::string decimal(PyObject *o) {
  const Ref number = PyFloat_Check(o) ? owned(PyObject_Repr(o)) : owned(PyNumber_Long(o));
  const Ref str = owned(PyObject_Str(number.get()));
  return std::string(text(str.get()));
}

template <class T>
T value_of(PyObject *o);
template <>
std::string value_of(PyObject *o) {
  return std::string(text(o));
}
template <>
bool value_of(PyObject *o) {
  const int truth = PyObject_IsTrue(o);
  checked(truth);
  return truth;
}
template <>
double value_of(PyObject *o) {
  const double x = PyFloat_AsDouble(o);
  if (x == -1 && PyErr_Occurred()) throw PythonError{};
  return x;
}
template <>
int value_of(PyObject *o) {
  const long x = PyLong_AsLong(o);
  if (x == -1 && PyErr_Occurred()) throw PythonError{};
  return int(x);
}
template <>
uint64_t value_of(PyObject *o) {
  const unsigned long long x = PyLong_AsUnsignedLongLong(o);
  if (x == ~0ull && PyErr_Occurred()) throw PythonError{};
  return x;
}
template <>
uint32_t value_of(PyObject *o) {
  return uint32_t(value_of<uint64_t>(o));
}
template <>
std::vector<std::string> value_of(PyObject *o) {
  std::vector<std::string> r;
  const Ref list = owned(PySequence_Fast(o, "expected a list of str"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
    r.emplace_back(text(PySequence_Fast_GET_ITEM(list.get(), i)));
  return r;
}
template <>
std::vector<std::pair<std::string, std::string>> value_of(PyObject *o) {
  std::vector<std::pair<std::string, std::string>> r;
  const Ref list = owned(PySequence_Fast(o, "expected a list of pairs of str"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    const auto pair = value_of<std::vector<std::string>>(PySequence_Fast_GET_ITEM(list.get(), i));
    if (pair.size() != 2) raise("TypeError", "expected pairs");
    r.emplace_back(pair[0], pair[1]);
  }
  return r;
}
template <>
std::map<std::string, std::string> value_of(PyObject *o) {
  if (!PyDict_Check(o)) raise("TypeError", "expected a dict, found " + type_name(o));
  std::map<std::string, std::string> r;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);) r[std::string(text(key))] = decimal(value);
  return r;
}

const std::map<std::string_view, Setter> &setters() {
#define FIELD(name)                                                                        \
  {                                                                                        \
#name, [](ContextConfig & c, PyObject * o) { c.name = value_of<decltype(c.name)>(o); } \
  }
  static const std::map<std::string_view, Setter> table = {
      FIELD(archs),
      FIELD(plugin_dir),
      FIELD(plugin_path),
      FIELD(entry_points),
      FIELD(options),
      FIELD(offline_cache),
      FIELD(cache_root),
      FIELD(read_only_roots),
      FIELD(cleaning_policy),
      FIELD(cache_max_bytes),
      FIELD(cleaning_factor),
      FIELD(per_offload),
      FIELD(debug_cache_verify),
      FIELD(random_seed),
      FIELD(print_ir),
      FIELD(dump_ir),
      FIELD(load_ir),
      FIELD(load_ptx),
      FIELD(keep_asm),
      FIELD(dump_path),
      FIELD(kernel_profiler),
  };
#undef FIELD
  return table;
}

}  // namespace

ContextConfig config_of(PyObject *dict) {
  if (!PyDict_Check(dict)) raise("TypeError", "config: expected a dict, found " + type_name(dict));
  ContextConfig config;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const std::string name(text(key));
    const auto it = setters().find(name);
    if (it == setters().end()) raise("KeyError", "config: no field '" + name + "'");
    try {
      it->second(config, value);
    } catch (const PythonError &) {
      PyErr_Clear();
      raise("ValueError", "config: '" + name + "' can't be " + type_name(value));
    }
  }
  return config;
}

}  // namespace qd::py

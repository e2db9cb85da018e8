// plan.cpp: reading a plan and packing by it. Numbers follow language.md 2.7: a real parameter takes any real or
// integer number, an integer parameter integers alone, which wrap as a cast would.
#include "plan.hpp"

#include <bit>
#include <cstring>

#include "qd/fold.hpp"
#include "runtime.hpp"
#include "values.hpp"

namespace qd::py {
namespace {

bool is_numpy_bool(PyObject *o) {
  const char *name = Py_TYPE(o)->tp_name;
  return std::strcmp(name, "numpy.bool") == 0 || std::strcmp(name, "numpy.bool_") == 0;
}

// The low 64 bits of an integer; false when it has more than 64 or isn't one.
bool integer_bits(PyObject *o, uint64_t &out) {
  int overflow = 0;
  const long long x = PyLong_AsLongLongAndOverflow(o, &overflow);
  out = uint64_t(x);
  if (overflow == 0) return x != -1 || !PyErr_Occurred() || (PyErr_Clear(), false);
  if (overflow < 0) return false;
  out = PyLong_AsUnsignedLongLong(o);
  return !PyErr_Occurred() || (PyErr_Clear(), false);
}

bool pack_integer(PyObject *o, DT t, uint64_t &word) {
  uint64_t bits;
  if (PyLong_Check(o)) {
    if (!integer_bits(o, bits)) return false;
  } else if (is_numpy_bool(o)) {
    bits = PyObject_IsTrue(o) == 1;
  } else {
    if (PyFloat_Check(o) || !PyIndex_Check(o)) return false;
    const Ref index = Ref::take(PyNumber_Index(o));
    if (!index) return PyErr_Clear(), false;
    if (!integer_bits(index.get(), bits)) return false;
  }
  if (t == DT::u1) {
    word = bits != 0;
  } else {
    const int width = info(t).bytes * 8;
    word = width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
  }
  return true;
}

bool pack_real(PyObject *o, DT t, uint64_t &word) {
  double x;
  if (PyFloat_Check(o)) {
    x = PyFloat_AS_DOUBLE(o);
  } else if (PyLong_CheckExact(o)) {
    x = PyLong_AsDouble(o);
    if (x == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
  } else {
    const PyNumberMethods *number = Py_TYPE(o)->tp_as_number;
    if (!number || !(number->nb_float || number->nb_index)) return false;
    x = PyFloat_AsDouble(o);
    if (x == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
  }
  word = t == DT::f32   ? std::bit_cast<uint32_t>(float(x))
         : t == DT::f64 ? std::bit_cast<uint64_t>(x)
                        : fold::half(float(x)).bits;
  return true;
}

bool pack_number(PyObject *o, DT t, uint64_t &word) {
  return is_real(t) ? pack_real(o, t, word) : pack_integer(o, t, word);
}

// Numbers of nested sequences in order; stops at the first that doesn't fit.
bool flatten(PyObject *o, const ArgPlan &plan, size_t &at, std::vector<uint64_t> &out, int depth) {
  if (at < plan.dtypes.size() && (depth > 0 || plan.dtypes.size() == 1)) {
    uint64_t word;
    if (pack_number(o, plan.dtypes[at], word)) return out.push_back(word), ++at, true;
  }
  if (depth > 2 || PyUnicode_Check(o) || PyBytes_Check(o)) return false;
  const Ref list = Ref::take(PySequence_Fast(o, ""));
  if (!list) return PyErr_Clear(), false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    const Ref item = Ref::share(PySequence_Fast_GET_ITEM(list.get(), i));
    if (!flatten(item.get(), plan, at, out, depth + 1)) return false;
  }
  return true;
}

bool pack_scalars(PyObject *o, const Plan &p, const ArgPlan &a, uint64_t *words) {
  std::vector<uint64_t> numbers;
  numbers.reserve(a.dtypes.size());
  size_t at = 0;
  if (!flatten(o, a, at, numbers, 0) || at != a.dtypes.size()) return false;
  for (uint32_t i = 0; i < a.count; ++i) {
    const Target t = p.targets[a.first + i];
    words[t.word] = numbers[t.part];
  }
  return true;
}

bool read_array(const ArgPlan &a, PyObject *o, ArrayArg &out) {
  const Source source = source_of(a.kind);
  const bool read = source == Source::nd      ? read_ndarray(o, out)
                    : source == Source::numpy ? read_numpy(o, out)
                                              : read_device_array(o, out);
  return read && out.kind == a.kind;
}

// Address of the gradients of an ndarray: the array that its attribute `grad` holds. 0 when there is none.
uint64_t gradient_address(PyObject *o) {
  const Ref grad = Ref::take(PyObject_GetAttrString(o, "grad"));
  ArrayArg array;
  if (!grad) return PyErr_Clear(), 0;
  return read_ndarray(grad.get(), array) && array.kind ? array.address : 0;
}

uint64_t bytes_of(const ArrayArg &a) {
  uint64_t n = info(DT(a.kind >> 2 & 15)).bytes;
  for (unsigned k = 0; k < ndim_of(a.kind); ++k) n *= uint64_t(a.shape[k]);
  return n;
}

bool pack_array(PyObject *o, const Plan &p, const ArgPlan &a, uint64_t *words, std::vector<HostArray> *arrays) {
  ArrayArg array;
  if (!read_array(a, o, array)) return false;
  if (arrays && source_of(a.kind) == Source::numpy)
    arrays->push_back({array.address, bytes_of(array), Ref::share(o), p.targets.data() + a.first, a.count});
  for (uint32_t i = 0; i < a.count; ++i) {
    const Target t = p.targets[a.first + i];
    if (t.part > ndim_of(a.kind)) {
      words[t.word] = gradient_address(o);
      if (!words[t.word]) return false;
    } else {
      words[t.word] = t.part == 0 ? array.address : uint64_t(array.shape[t.part - 1]);
    }
  }
  return true;
}

bool fixed_fits(const ArgPlan &a, PyObject *o) {
  return a.by_value ? same_value(a.object->get().get(), o) : a.object->is(o);
}

bool is_instance(const ArgPlan &a, PyObject *o) { return a.object->is(reinterpret_cast<PyObject *>(Py_TYPE(o))); }

// Member of an object: a new reference, null without an error when there is none.
Ref member(PyObject *owner, PyObject *name) {
  if (PyDict_CheckExact(owner)) {
    PyObject *item = PyDict_GetItemWithError(owner, name);
    if (!item) return PyErr_Clear(), Ref();
    return Ref::share(item);
  }
  Ref found = Ref::take(PyObject_GetAttr(owner, name));
  if (!found) PyErr_Clear();
  return found;
}

// The objects that a plan looks at: arguments, which the caller holds, and their members, held here.
class Objects {
 public:
  Objects(PyObject *const *args, size_t n_params, size_t n)
      : args_(args), n_params_(n_params), heap_(n - n_params > on_stack ? new Ref[n - n_params] : nullptr) {}
  PyObject *operator[](size_t i) const { return i < n_params_ ? args_[i] : members()[i - n_params_].get(); }
  bool take(size_t i, PyObject *owner, PyObject *name) {
    Ref &place = members()[i - n_params_];
    if (!place) place = member(owner, name);
    return bool(place);
  }
  void give(size_t i, PyObject *known) { members()[i - n_params_] = Ref::share(known); }

 private:
  static constexpr size_t on_stack = 48;
  Ref *members() const { return heap_ ? heap_.get() : stack_; }

  PyObject *const *args_;
  size_t n_params_;
  std::unique_ptr<Ref[]> heap_;
  mutable Ref stack_[on_stack];
};

ArgPlan parse_arg(PyObject *entry);

ArgPlan parse_member(PyObject *entry) {
  if (PyTuple_GET_SIZE(entry) != 4) raise("TypeError", "a member is (\"member\", owner, name, plan)");
  const int64_t owner = int_arg(PyTuple_GET_ITEM(entry, 1), "owner");
  ArgPlan a = parse_arg(PyTuple_GET_ITEM(entry, 3));
  if (a.owner >= 0) raise("ValueError", "the plan of a member cannot be a member itself");
  a.owner = int32_t(owner);
  PyObject *name = PyTuple_GET_ITEM(entry, 2);
  if (!PyUnicode_Check(name)) raise("TypeError", "the name of a member is text, found " + type_name(name));
  a.name = Ref::share(name);
  return a;
}

ArgPlan parse_arg(PyObject *entry) {
  if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) < 2)
    raise("TypeError", "an argument plan is a tuple (kind, ...), found " + type_name(entry));
  const std::string_view tag = text(PyTuple_GET_ITEM(entry, 0));
  PyObject *what = PyTuple_GET_ITEM(entry, 1);
  ArgPlan a;
  if (tag == "scalar") {
    a.dtype = dtype_arg(what);
  } else if (tag == "scalars") {
    a.tag = ArgPlan::scalars;
    const Items list = items_of(what, "scalars");
    for (PyObject *t : list.items) a.dtypes.push_back(dtype_arg(t));
  } else if (tag == "array") {
    a.tag = ArgPlan::array;
    a.kind = uint64_t(int_arg(what, "array kind"));
    if (a.kind == 0) raise("ValueError", "array kind 0: the array was released");
  } else if (tag == "template") {
    a.tag = ArgPlan::fixed;
    a.by_value = PyLong_Check(what) || PyFloat_Check(what) || PyUnicode_Check(what);
    a.object = std::make_unique<Watched>(what);
  } else if (tag == "member") {
    return parse_member(entry);
  } else if (tag == "instance") {
    a.tag = ArgPlan::instance;
    a.object = std::make_unique<Watched>(what);
  } else if (tag == "mapping" || tag == "same") {
    a.tag = tag == "same" ? ArgPlan::same : ArgPlan::mapping;
    a.size = uint32_t(int_arg(what, "number"));
  } else {
    raise("ValueError", "no argument plan '" + std::string(tag) +
                            "': expected scalar, scalars, array, template, member, instance, mapping or same");
  }
  return a;
}

size_t parts_of(const ArgPlan &a) {
  switch (a.tag) {
    case ArgPlan::scalar: return 1;
    case ArgPlan::scalars: return a.dtypes.size();
    case ArgPlan::array: return 2 + ndim_of(a.kind);
    default: return 0;
  }
}

// Objects with several members that are read by name; the first 64 of them.
void list_members(Plan &p) {
  for (size_t i = 0; i < p.args.size(); ++i) {
    const ArgPlan &a = p.args[i];
    if (a.owner < 0) continue;
    ArgPlan &owner = p.args[size_t(a.owner)];
    if (owner.tag == ArgPlan::mapping) continue;
    if (owner.members < 0) {
      if (p.owners.size() == 64) continue;
      owner.members = int32_t(p.owners.size());
      p.owners.emplace_back(uint32_t(a.owner));
    }
    p.owners[size_t(owner.members)].add(uint32_t(i), a.name.get());
  }
}

}  // namespace

Plan make_plan(PyObject *args, PyObject *words, uint32_t n_words) {
  Plan p;
  const Items arg_list = items_of(args, "args"), word_list = items_of(words, "words");
  for (PyObject *entry : arg_list.items) {
    p.args.push_back(parse_arg(entry));
    const ArgPlan &a = p.args.back();
    const size_t number = p.args.size() - 1;
    if (a.owner < 0 && p.n_params == number) ++p.n_params;
    if ((a.owner < 0) != (p.n_params == number + 1) || a.owner >= int64_t(number) ||
        (a.tag == ArgPlan::same && a.size >= number))
      raise("ValueError", "argument plan " + std::to_string(number) + ": parameters come first, owners before members");
  }
  if (word_list.items.size() + QD_ARG_FIRST != n_words)
    raise("ValueError", "the kernel takes " + std::to_string(n_words) + " words, of which " +
                            std::to_string(QD_ARG_FIRST) + " are ours; found " +
                            std::to_string(word_list.items.size()));
  p.image.assign(n_words, 0);
  std::vector<std::vector<Target>> targets(p.args.size());
  uint32_t word = QD_ARG_FIRST;
  for (PyObject *entry : word_list.items) {
    if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) < 2)
      raise("TypeError", "a word is (\"arg\", index, part) or (\"buffer\", Buffer)");
    const std::string_view tag = text(PyTuple_GET_ITEM(entry, 0));
    PyObject *what = PyTuple_GET_ITEM(entry, 1);
    if (tag == "buffer") {
      p.image[word] = buffer_handle(what).buffer->address();
      p.buffers.push_back(Ref::share(what));
    } else {
      const int64_t index = int_arg(what, "argument"),
                    part = PyTuple_GET_SIZE(entry) > 2 ? int_arg(PyTuple_GET_ITEM(entry, 2), "part") : 0;
      if (tag != "arg" || index < 0 || size_t(index) >= p.args.size() || part < 0 ||
          size_t(part) >= parts_of(p.args[size_t(index)]))
        raise("ValueError",
              "no such word: (" + std::string(tag) + ", " + std::to_string(index) + ", " + std::to_string(part) + ")");
      targets[size_t(index)].push_back({uint32_t(part), word});
    }
    ++word;
  }
  list_members(p);
  for (size_t i = 0; i < p.args.size(); ++i) {
    p.args[i].first = uint32_t(p.targets.size());
    p.args[i].count = uint32_t(targets[i].size());
    p.targets.insert(p.targets.end(), targets[i].begin(), targets[i].end());
  }
  return p;
}

namespace {

bool pack_one(const Plan &p, size_t i, PyObject *o, const Objects *objects, uint64_t *words,
              std::vector<HostArray> *arrays) {
  const ArgPlan &a = p.args[i];
  switch (a.tag) {
    case ArgPlan::scalar: {
      uint64_t word;
      if (!pack_number(o, a.dtype, word)) return false;
      for (uint32_t k = 0; k < a.count; ++k) words[p.targets[a.first + k].word] = word;
      return true;
    }
    case ArgPlan::scalars: return pack_scalars(o, p, a, words);
    case ArgPlan::array: return pack_array(o, p, a, words, arrays);
    case ArgPlan::fixed: return fixed_fits(a, o);
    case ArgPlan::instance: return is_instance(a, o);
    case ArgPlan::mapping: return PyDict_CheckExact(o) && PyDict_GET_SIZE(o) == Py_ssize_t(a.size);
    case ArgPlan::same: return objects && (*objects)[a.size] == o;
  }
  return false;
}

void note_members(Members &m, const Objects &objects) {
  std::vector<PyObject *> values(m.size());
  for (size_t k = 0; k < values.size(); ++k) values[k] = objects[m.member(k)];
  m.note(objects[m.owner()], values);
}

int pack_members(Plan &p, PyObject *const *args, uint64_t *words, std::vector<HostArray> *arrays) {
  Objects objects(args, p.n_params, p.args.size());
  uint64_t unknown = 0;  // owners whose members had to be looked up, by bit
  for (size_t i = 0; i < p.args.size(); ++i) {
    const ArgPlan &a = p.args[i];
    if (a.owner >= 0 && !objects.take(i, objects[size_t(a.owner)], a.name.get())) return int(i);
    if (!pack_one(p, i, objects[i], &objects, words, arrays)) return int(i);
    if (a.members < 0) continue;
    Members &m = p.owners[size_t(a.members)];
    if (!m.known(objects[i])) unknown |= uint64_t(1) << a.members;
    else
      for (size_t k = 0; k < m.size(); ++k) objects.give(m.member(k), m.value(k));
  }
  for (size_t k = 0; k < p.owners.size(); ++k)
    if (unknown >> k & 1) note_members(p.owners[k], objects);
  return -1;
}

}  // namespace

bool has_host_arrays(const Plan &p) {
  for (const ArgPlan &a : p.args)
    if (a.tag == ArgPlan::array && source_of(a.kind) == Source::numpy) return true;
  return false;
}

int pack(Plan &p, PyObject *const *args, uint64_t *words, std::vector<HostArray> *arrays) {
  std::memcpy(words, p.image.data(), p.image.size() * sizeof(uint64_t));
  if (p.n_params != p.args.size()) return pack_members(p, args, words, arrays);
  for (size_t i = 0; i < p.args.size(); ++i)
    if (!pack_one(p, i, args[i], nullptr, words, arrays)) return int(i);
  return -1;
}

int parameter_of(const Plan &p, int arg) {
  while (p.args[size_t(arg)].owner >= 0) arg = p.args[size_t(arg)].owner;
  return arg;
}

std::string path_of(const Plan &p, int arg, PyObject *names) {
  const ArgPlan &a = p.args[size_t(arg)];
  if (a.owner < 0) return std::string(text(PyTuple_GET_ITEM(names, arg)));
  const std::string_view name = PyUnicode_Check(a.name.get()) ? text(a.name.get()) : "";
  const std::string owner = path_of(p, a.owner, names);
  const bool inside = name == "_impl" || (name == "entries" && a.tag == ArgPlan::mapping);  // of a tensor, of a struct
  return inside ? owner : owner + "." + std::string(name);
}

Ref object_of(const Plan &p, int arg, PyObject *const *args) {
  const ArgPlan &a = p.args[size_t(arg)];
  if (a.owner < 0) return Ref::share(args[arg]);
  Ref owner = object_of(p, a.owner, args);
  Ref found = member(owner.get(), a.name.get());
  return found ? std::move(found) : std::move(owner);
}

std::string expected_type(const ArgPlan &a) {
  switch (a.tag) {
    case ArgPlan::scalar: return info(a.dtype).name;
    case ArgPlan::scalars: return "a vector or matrix of " + std::to_string(a.dtypes.size()) + " numbers";
    case ArgPlan::array: return "an array of the kind that this call was specialised for";
    case ArgPlan::instance: return "an object of the class and members that this call was specialised for";
    default: return "the template argument that this call was specialised for";
  }
}

bool template_dead(const Plan &p) {
  for (const ArgPlan &a : p.args)
    if (a.object && !a.object->get()) return true;
  return false;
}

int visit_plan(const Plan &p, visitproc visit, void *arg) {
  for (const ArgPlan &a : p.args)
    if (a.object)
      if (const int r = a.object->visit(visit, arg)) return r;
  for (const Ref &b : p.buffers) Py_VISIT(b.get());
  return 0;
}

}  // namespace qd::py

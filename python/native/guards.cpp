// guards.cpp: an unchanged namespace costs one comparison. Before Python 3.12 a dict carries a version tag that every
// change renews; from 3.12 on we watch the dict and count its changes. After a change, the captured names alone are
// compared again, and when all hold the new tag is remembered: a module that counts something elsewhere costs a few
// lookups a call, no recompile.
#include "guards.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "core/api/core.hpp"

namespace qd::py {
namespace {

#if PY_VERSION_HEX >= 0x030c0000
int watcher = -1;
std::unordered_map<PyObject *, Tag::Watch> &watches() {
  static auto &map = *new std::unordered_map<PyObject *, Tag::Watch>;  // guarded by the GIL; nodes don't move
  return map;
}
int on_change(PyDict_WatchEvent event, PyObject *dict, PyObject *, PyObject *) {
  if (const auto it = watches().find(dict); it != watches().end()) {
    ++it->second.changes;
    it->second.gone = event == PyDict_EVENT_DEALLOCATED;
  }
  return 0;
}
#endif

struct Name {
  Ref name, value;  // no value: the name is absent
};
struct Namespace {
  Ref dict;
  Tag tag;
  uint64_t seen;
  std::vector<Name> names;
};
struct Cell {
  Ref cell, value;
};
struct Attribute {
  Watched owner;
  std::vector<Ref> path;
  Watched value;  // not kept alive: object graphs have cycles, and nobody could collect them
};
struct State {
  std::vector<Namespace> namespaces;
  std::vector<Cell> cells;
  std::vector<Attribute> attributes;
  bool warned = false;
};
struct GuardsObject {
  PyObject_HEAD State *s;
};
constexpr size_t many_attributes = 64;
constexpr int log_debug = 4;

State &self(PyObject *o) { return *reinterpret_cast<GuardsObject *>(o)->s; }

bool holds(const Name &n, PyObject *dict) {
  PyObject *now = PyDict_GetItemWithError(dict, n.name.get());
  if (!now) return PyErr_Clear(), !n.value;
  return n.value && same_value(n.value.get(), now);
}

bool holds(Namespace &ns) {
  const uint64_t now = ns.tag.now();
  if (now == ns.seen) return true;
  for (const Name &n : ns.names)
    if (!holds(n, ns.dict.get())) return false;
  ns.seen = now;
  return true;
}

bool holds(const Attribute &a) {
  Ref o = a.owner.get();
  for (const Ref &name : a.path) {
    if (!o) break;
    o = Ref::take(PyObject_GetAttr(o.get(), name.get()));
  }
  PyErr_Clear();
  const Ref was = a.value.get();
  return o && was && same_value(was.get(), o.get());
}

bool holds(State &s) {
  for (Namespace &ns : s.namespaces)
    if (!holds(ns)) return false;
  for (const Cell &c : s.cells) {
    PyObject *now = PyCell_GET(c.cell.get());
    if (now != c.value.get() && !(now && same_value(c.value.get(), now))) return false;
  }
  for (const Attribute &a : s.attributes)
    if (!holds(a)) return false;
  return true;
}

Namespace &namespace_of(State &s, PyObject *dict) {
  if (!PyDict_Check(dict)) raise("TypeError", "a guarded namespace must be a dict, found " + type_name(dict));
  for (Namespace &ns : s.namespaces)
    if (ns.dict.get() == dict) return ns;
  Tag tag(dict);
  const uint64_t seen = tag.now();
  return s.namespaces.emplace_back(Namespace{Ref::share(dict), std::move(tag), seen, {}});
}

void add_name(State &s, PyObject *dict, PyObject *name, PyObject *value) {
  text(name);  // TypeError unless a str
  Namespace &ns = namespace_of(s, dict);
  Ref interned = Ref::share(name);
  PyObject *raw = interned.release();
  PyUnicode_InternInPlace(&raw);
  ns.names.push_back({Ref::take(raw), Ref::share(value)});
  // What changed between the capture and now is found at the next call.
  if (!holds(ns.names.back(), dict)) ns.seen = 0;
}

PyObject *add_global(PyObject *o, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 3, 3, "add_global");
    add_name(self(o), args[0], args[1], args[2]);
    return Py_NewRef(Py_None);
  });
}
PyObject *add_builtin_absent(PyObject *o, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "add_builtin_absent");
    add_name(self(o), args[0], args[1], nullptr);
    return Py_NewRef(Py_None);
  });
}
PyObject *add_cell(PyObject *o, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "add_cell");
    if (!PyCell_Check(args[0])) raise("TypeError", "add_cell: expected a cell, found " + type_name(args[0]));
    self(o).cells.push_back({Ref::share(args[0]), Ref::share(args[1])});
    return Py_NewRef(Py_None);
  });
}

// Each attribute is read again at each call, whatever their number: nothing goes stale, and a log line says why calls
// are slow.
PyObject *add_attribute(PyObject *o, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 3, 3, "add_attribute");
    State &s = self(o);
    std::vector<Ref> path;
    std::string_view rest = text(args[1]);
    for (size_t dot = 0; dot != std::string_view::npos;
         rest.remove_prefix(dot == std::string_view::npos ? rest.size() : dot + 1)) {
      dot = rest.find('.');
      const std::string_view part = rest.substr(0, dot);
      PyObject *name = checked(PyUnicode_FromStringAndSize(part.data(), Py_ssize_t(part.size())));
      PyUnicode_InternInPlace(&name);
      path.push_back(Ref::take(name));
    }
    for (const Attribute &a : s.attributes)
      if (a.owner.is(args[0]) && a.path.size() == path.size() &&
          std::equal(path.begin(), path.end(), a.path.begin(),
                     [](const Ref &x, const Ref &y) { return x.get() == y.get(); }))
        return Py_NewRef(Py_None);
    s.attributes.push_back({Watched(args[0]), std::move(path), Watched(args[2])});
    if (s.attributes.size() > many_attributes && !std::exchange(s.warned, true))
      log_line(log_debug, "a kernel captures more than " + std::to_string(many_attributes) +
                              " attributes, and each call reads all of them: pass them as arguments instead");
    return Py_NewRef(Py_None);
  });
}
PyObject *holds_method(PyObject *o, PyObject *) { return PyBool_FromLong(guards_hold(o)); }

PyObject *new_guards(PyTypeObject *type, PyObject *, PyObject *) {
  return guarded([&] {
    PyObject *o = checked(type->tp_alloc(type, 0));
    reinterpret_cast<GuardsObject *>(o)->s = new State;
    return o;
  });
}
int traverse(PyObject *o, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(o));
  State *s = reinterpret_cast<GuardsObject *>(o)->s;
  if (!s) return 0;
  for (const Namespace &ns : s->namespaces) {
    Py_VISIT(ns.dict.get());
    for (const Name &n : ns.names) Py_VISIT(n.value.get());
  }
  for (const Cell &c : s->cells) {
    Py_VISIT(c.cell.get());
    Py_VISIT(c.value.get());
  }
  for (const Attribute &a : s->attributes) {
    if (const int r = a.owner.visit(visit, arg)) return r;
    if (const int r = a.value.visit(visit, arg)) return r;
  }
  return 0;
}
int clear(PyObject *o) {
  State &s = self(o);
  const State dead = std::exchange(s, State{});  // destroyed after `s` is consistent: it may run Python code
  return 0;
}
void free_guards(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  delete reinterpret_cast<GuardsObject *>(o)->s;
  type->tp_free(o);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"add_global", (PyCFunction)(void *)add_global, METH_FASTCALL,
     "namespace, name, value: the name still has this value"},
    {"add_builtin_absent", (PyCFunction)(void *)add_builtin_absent, METH_FASTCALL,
     "namespace, name: the name is still not there"},
    {"add_cell", (PyCFunction)(void *)add_cell, METH_FASTCALL, "cell, value: the cell still holds this value"},
    {"add_attribute", (PyCFunction)(void *)add_attribute, METH_FASTCALL,
     "owner, dotted path, value: re-read at each call"},
    {"holds", holds_method, METH_NOARGS, "Whether all captured values are still what they were"},
    {}};
PyType_Slot slots[] = {{Py_tp_new, (void *)new_guards},
                       {Py_tp_traverse, (void *)traverse},
                       {Py_tp_clear, (void *)clear},
                       {Py_tp_dealloc, (void *)free_guards},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, (void *)"Captured values of a specialisation."},
                       {0, nullptr}};
PyType_Spec spec = {"quadrants._native.Guards", sizeof(GuardsObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

#if PY_VERSION_HEX >= 0x030c0000
Tag::Tag(PyObject *dict) : dict_(dict) {
  if (watcher < 0) checked(watcher = PyDict_AddWatcher(on_change));
  checked(PyDict_Watch(watcher, dict));
  watch_ = &watches()[dict];
  ++watch_->users;
}
void Tag::leave() {
  if (!watch_ || --watch_->users) return;
  // A dict that is gone is watched no more: what is at its address now may be no dict at all.
  const bool gone = watch_->gone;
  watches().erase(dict_);
  if (!gone && PyDict_Unwatch(watcher, dict_) < 0) PyErr_Clear();
}
#endif

Watched::Watched(PyObject *o) {
  ref_ = Ref::take(PyType_SUPPORTS_WEAKREFS(Py_TYPE(o)) ? PyWeakref_NewRef(o, nullptr) : nullptr);
  weak_ = bool(ref_);
  PyErr_Clear();
  if (!weak_) ref_ = Ref::share(o);
}

PyObject *Watched::target() const {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject *o = nullptr;
  if (PyWeakref_GetRef(ref_.get(), &o) <= 0) return Py_None;
  Py_DECREF(o);  // the caller compares it, or holds the GIL until it takes a reference
  return o;
#else
  return PyWeakref_GET_OBJECT(ref_.get());
#endif
}

Ref Watched::get() const {
  if (!weak_) return ref_;
  PyObject *o = target();
  return o == Py_None ? Ref() : Ref::share(o);
}

int Watched::visit(visitproc visit, void *arg) const {
  Py_VISIT(ref_.get());
  return 0;
}

bool same_value(PyObject *was, PyObject *now) {
  if (was == now) return true;
  if (Py_TYPE(was) != Py_TYPE(now)) return false;
  if (PyFloat_Check(was)) {
    const double a = PyFloat_AS_DOUBLE(was), b = PyFloat_AS_DOUBLE(now);
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  if (!PyLong_Check(was) && !PyUnicode_Check(was)) return false;
  const int equal = PyObject_RichCompareBool(was, now, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

bool guards_hold(PyObject *guards) { return holds(self(guards)); }

void init_guards(PyObject *module) { types.guards = make_type(module, spec); }

}  // namespace qd::py

// kernel.cpp: the type KernelObject: a heap type with vectorcall, so that a call costs little more than its launch, and
// a method descriptor, so that a kernel written in a class body gets its instance as first argument.
#include "kernel.hpp"

#include <structmember.h>

#include "values.hpp"

namespace qd::py {
namespace {

KernelObject *self(PyObject *o) { return reinterpret_cast<KernelObject *>(o); }

// Forgets all specialisations. They are released last: that may run Python code, which finds the kernel consistent.
void forget(KernelObject *k) {
  if (!k->list) return;
  k->last = nullptr;
  const std::vector<Specialisation *> dead = std::exchange(*k->list, {});
  for (Specialisation *s : dead) drop(s);
}

// Specialisations for a template argument that is gone can't be called again.
void sweep(KernelObject *k) {
  for (size_t i = 0; i < k->list->size(); ++i) {
    Specialisation *s = (*k->list)[i];
    if (!s || !template_dead(s->plan)) continue;
    (*k->list)[i] = nullptr;
    if (k->last == s) k->last = nullptr;
    drop(s);
  }
}

PyObject *new_kernel(PyTypeObject *type, PyObject *, PyObject *) {
  PyObject *o = type->tp_alloc(type, 0);
  if (!o) return nullptr;
  self(o)->call = kernel_vectorcall;
  self(o)->n_params = -1;  // no call fits before __init__
  self(o)->list = new std::vector<Specialisation *>;
  return o;
}

int init(PyObject *o, PyObject *args, PyObject *kwargs) {
  static const char *keywords[] = {"primal", "specialise", "n_params", "names", nullptr};
  PyObject *primal, *specialise, *names;
  Py_ssize_t n_params;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOnO!:KernelObject", const_cast<char **>(keywords), &primal,
                                   &specialise, &n_params, &PyTuple_Type, &names))
    return -1;
  if (n_params < 0 || PyTuple_GET_SIZE(names) != n_params) {
    PyErr_SetString(PyExc_ValueError, "KernelObject: expected one name for each parameter");
    return -1;
  }
  forget(self(o));
  Py_XSETREF(self(o)->primal, Py_NewRef(primal));
  Py_XSETREF(self(o)->specialise, Py_NewRef(specialise));
  Py_XSETREF(self(o)->names, Py_NewRef(names));
  self(o)->n_params = n_params;
  return 0;
}

PyObject *add(PyObject *o, PyObject *args, PyObject *kwargs) {
  return guarded([&]() -> PyObject * {
    static const char *keywords[] = {"executable", "args", "words", "guards", "result", "on_report", nullptr};
    PyObject *executable, *arg_list, *word_list, *guards, *result, *on_report;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO!OO:add", const_cast<char **>(keywords), &executable, &arg_list,
                                     &word_list, types.guards, &guards, &result, &on_report))
      return nullptr;
    const ExecutableHandle &handle = executable_handle(executable);
    auto s = std::make_unique<Specialisation>();
    s->plan = make_plan(arg_list, word_list, handle.executable->n_words());
    if (Py_ssize_t(s->plan.n_params) != self(o)->n_params)
      raise("ValueError", "add: expected a plan for " + std::to_string(self(o)->n_params) + " parameters, found " +
                              std::to_string(s->plan.n_params));
    s->executable_object = Ref::share(executable);
    s->executable = handle.executable.get();
    s->stages = !handle.context->host_shared() && has_host_arrays(s->plan);
    if (s->stages) s->uses = s->executable->uses();
    s->guards = Ref::share(guards);
    if (result != Py_None) s->result = Ref::share(result);
    if (on_report != Py_None) s->on_report = Ref::share(on_report);
    sweep(self(o));
    self(o)->list->push_back(s.release());
    return PyLong_FromSize_t(self(o)->list->size() - 1);
  });
}

PyObject *clear_method(PyObject *o, PyObject *) {
  forget(self(o));
  return Py_NewRef(Py_None);
}

PyObject *bind(PyObject *o, PyObject *instance, PyObject *) {
  if (!instance || instance == Py_None) return Py_NewRef(o);
  return PyMethod_New(o, instance);
}

PyObject *repr(PyObject *o) {
  PyObject *name = self(o)->dict ? PyDict_GetItemString(self(o)->dict, "__qualname__") : nullptr;
  if (!name && self(o)->dict) name = PyDict_GetItemString(self(o)->dict, "__name__");
  return name ? PyUnicode_FromFormat("<kernel %S at %p>", name, o) : PyUnicode_FromFormat("<kernel at %p>", o);
}

int traverse(PyObject *o, visitproc visit, void *arg) {
  const KernelObject *k = self(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(k->dict);
  Py_VISIT(k->primal);
  Py_VISIT(k->specialise);
  Py_VISIT(k->names);
  if (!k->list) return 0;
  for (const Specialisation *s : *k->list) {
    if (!s) continue;
    if (const int r = visit_plan(s->plan, visit, arg)) return r;
    for (const Ref *ref : {&s->executable_object, &s->guards, &s->result, &s->on_report}) Py_VISIT(ref->get());
  }
  return 0;
}

int clear(PyObject *o) {
  KernelObject *k = self(o);
  k->n_params = -1;
  forget(k);
  Py_CLEAR(k->dict);
  Py_CLEAR(k->primal);
  Py_CLEAR(k->specialise);
  Py_CLEAR(k->names);
  return 0;
}

void free_kernel(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  if (self(o)->weak_references) PyObject_ClearWeakRefs(o);
  clear(o);
  delete self(o)->list;
  type->tp_free(o);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelObject, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(KernelObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(KernelObject, weak_references), READONLY, nullptr},
    {"_primal", T_OBJECT, offsetof(KernelObject, primal), 0, "what the front end keeps of the kernel"},
    {}};
PyGetSetDef getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};
PyMethodDef methods[] = {
    {"add", (PyCFunction)(void *)add, METH_VARARGS | METH_KEYWORDS, "Adds a specialisation; its index"},
    {"clear", clear_method, METH_NOARGS, "Forgets all specialisations"},
    {}};
PyType_Slot slots[] = {{Py_tp_new, (void *)new_kernel},
                       {Py_tp_init, (void *)init},
                       {Py_tp_traverse, (void *)traverse},
                       {Py_tp_clear, (void *)clear},
                       {Py_tp_dealloc, (void *)free_kernel},
                       {Py_tp_call, (void *)PyVectorcall_Call},
                       {Py_tp_descr_get, (void *)bind},
                       {Py_tp_members, members},
                       {Py_tp_getset, getset},
                       {Py_tp_methods, methods},
                       {Py_tp_repr, (void *)repr},
                       {0, nullptr}};
PyType_Spec spec = {"quadrants._native.KernelObject", sizeof(KernelObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                        Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE,
                    slots};

}  // namespace

void init_kernel(PyObject *module) { types.kernel = make_type(module, spec); }

}  // namespace qd::py

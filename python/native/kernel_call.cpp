// kernel_call.cpp: one call of a kernel. The specialisation used last is tried first; when none fits, Python's
// `specialise` makes or names one. Words are packed on the stack. The GIL is released around a launch unless the last
// one took less than two microseconds: releasing costs more than such a launch, and keeping it for a long one would
// stop every other thread.
#include <chrono>
#include <memory>

#include "kernel.hpp"
#include "staging.hpp"

namespace qd::py {
namespace {

constexpr size_t stack_words = 192, max_named = 64;

#if defined(__x86_64__)
constexpr uint64_t long_launch = 6000;  // cycles of the time stamp counter: 2 us at 3 GHz
uint64_t ticks() { return __builtin_ia32_rdtsc(); }
#else
constexpr uint64_t long_launch = 2000;
uint64_t ticks() { return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count()); }
#endif

// Keeps a specialisation alive while a call is in it.
class InUse {
 public:
  explicit InUse(Specialisation *s) : s_(s) { ++s_->users; }
  ~InUse() { drop(s_); }
  InUse(const InUse &) = delete;
  InUse &operator=(const InUse &) = delete;

 private:
  Specialisation *s_;
};

class Words {
 public:
  explicit Words(size_t n) : heap_(n > stack_words ? new uint64_t[n] : nullptr) {}
  uint64_t *data() { return heap_ ? heap_.get() : stack_; }

 private:
  uint64_t stack_[stack_words];
  std::unique_ptr<uint64_t[]> heap_;
};

PyObject *result_of(Specialisation &s) {
  if (!s.result) return Py_NewRef(Py_None);
  const ExecutableHandle &h = executable_handle(s.executable_object.get());
  {
    const WithoutGil nogil;
    h.context->sync();
  }
  const Ref bytes =
      owned(PyBytes_FromStringAndSize(static_cast<const char *>(s.executable->result()), Py_ssize_t(h.result_bytes)));
  return PyObject_CallOneArg(s.result.get(), bytes.get());
}

PyObject *launch(Specialisation &s, uint64_t *words, std::vector<HostArray> &arrays) {
  const InUse in_use(&s);
  if (s.stages) {
    launch_staged(s, words, arrays);
    if (s.executable->has_reports() && s.on_report)
      owned(PyObject_CallOneArg(s.on_report.get(), s.executable_object.get()));
    return result_of(s);
  }
  const uint64_t begin = ticks();
  if (s.last_ticks < long_launch) {
    s.executable->launch(words);
    s.last_ticks = ticks() - begin;
  } else {
    const WithoutGil nogil;
    s.executable->launch(words);
    s.last_ticks = ticks() - begin;  // without the wait for the GIL
  }
  if (s.executable->has_reports() && s.on_report)
    owned(PyObject_CallOneArg(s.on_report.get(), s.executable_object.get()));
  return result_of(s);
}

// True, and the words packed, when the arguments and all captured values are those of `s`.
bool fits(Specialisation &s, PyObject *const *args, uint64_t *words, std::vector<HostArray> &arrays) {
  return guards_hold(s.guards.get()) && pack(s.plan, args, words, s.stages ? &arrays : nullptr) < 0;
}

// null without an error when no specialisation fits. Guards may run Python code, which may change the list.
PyObject *call_known(KernelObject *k, PyObject *const *args) {
  if (Specialisation *s = k->last) {
    const InUse in_use(s);
    Words words(s->plan.image.size());
    std::vector<HostArray> arrays;
    if (fits(*s, args, words.data(), arrays)) return launch(*s, words.data(), arrays);
  }
  for (size_t i = 0; i < k->list->size(); ++i) {
    Specialisation *s = (*k->list)[i];
    if (!s || s == k->last) continue;
    const InUse in_use(s);
    Words words(s->plan.image.size());
    std::vector<HostArray> arrays;
    if (!fits(*s, args, words.data(), arrays)) continue;
    k->last = s;
    return launch(*s, words.data(), arrays);
  }
  return nullptr;
}

std::string kernel_name(KernelObject *k) {
  PyObject *name = k->dict ? PyDict_GetItemString(k->dict, "__name__") : nullptr;
  return name && PyUnicode_Check(name) ? std::string(text(name)) : "kernel";
}

[[noreturn]] void refuse(KernelObject *k, const Plan &p, int misfit, PyObject *const *args) {
  const int position = parameter_of(p, misfit);
  const Ref found = object_of(p, misfit, args);
  raise("QuadrantsRuntimeTypeError", "Argument (" + std::to_string(position) + ",) (type=" + type_name(found.get()) +
                                         ") cannot be converted into required type " +
                                         expected_type(p.args[size_t(misfit)]) + " (parameter '" +
                                         path_of(p, misfit, k->names) + "' of kernel '" + kernel_name(k) + "')");
}

Ref keyword_dict(PyObject *const *values, PyObject *kwnames) {
  Ref d = owned(PyDict_New());
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
    checked(PyDict_SetItem(d.get(), PyTuple_GET_ITEM(kwnames, i), values[i]));
  return d;
}

PyObject *call_new(KernelObject *k, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  if (!k->specialise) raise("QuadrantsRuntimeError", "this kernel object was not initialised");
  Ref positional = owned(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
  const Ref keywords = keyword_dict(args + n, kwnames);
  const Ref specialise = Ref::share(k->specialise);
  Ref answer = owned(PyObject_CallFunctionObjArgs(specialise.get(), positional.get(), keywords.get(), nullptr));
  PyObject *index_object = answer.get();
  if (PyTuple_Check(answer.get()) && PyTuple_GET_SIZE(answer.get()) == 2) {
    if (PyTuple_GET_ITEM(answer.get(), 0) == Py_None)  // the call was made in another way
      return Py_NewRef(PyTuple_GET_ITEM(answer.get(), 1));
    index_object = PyTuple_GET_ITEM(answer.get(), 0);
    positional = owned(PySequence_Tuple(PyTuple_GET_ITEM(answer.get(), 1)));
  }
  const Py_ssize_t index = PyLong_AsSsize_t(index_object);
  if (index == -1 && PyErr_Occurred()) throw PythonError{};
  if (index < 0 || size_t(index) >= k->list->size() || !(*k->list)[size_t(index)])
    raise("QuadrantsRuntimeError", "specialise gave no specialisation number " + std::to_string(index));
  Specialisation *s = (*k->list)[size_t(index)];
  const InUse in_use(s);
  if (PyTuple_GET_SIZE(positional.get()) != Py_ssize_t(s->plan.n_params))
    raise("QuadrantsRuntimeError", "specialise accepted " + std::to_string(PyTuple_GET_SIZE(positional.get())) +
                                       " arguments for " + std::to_string(s->plan.n_params) + " parameters");
  Words words(s->plan.image.size());
  PyObject *const *items = &PyTuple_GET_ITEM(positional.get(), 0);
  std::vector<HostArray> arrays;
  const int misfit = pack(s->plan, items, words.data(), s->stages ? &arrays : nullptr);
  if (misfit >= 0) refuse(k, s->plan, misfit, items);
  k->last = s;
  return launch(*s, words.data(), arrays);
}

// Puts keyword arguments at their positions. False when one is missing, unknown or given twice: Python's code says
// which.
bool place_keywords(KernelObject *k, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, PyObject **out) {
  const Py_ssize_t given = n + PyTuple_GET_SIZE(kwnames);
  if (given != k->n_params || given > Py_ssize_t(max_named)) return false;
  for (Py_ssize_t i = 0; i < given; ++i) out[i] = i < n ? args[i] : nullptr;
  for (Py_ssize_t i = n; i < given; ++i) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, i - n);
    Py_ssize_t at = n;
    while (at < given && PyTuple_GET_ITEM(k->names, at) != name &&
           PyUnicode_Compare(PyTuple_GET_ITEM(k->names, at), name) != 0)
      ++at;
    if (at == given || out[at]) return false;
    out[at] = args[i];
  }
  return true;
}

}  // namespace

PyObject *kernel_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  return guarded([&]() -> PyObject * {
    auto *k = reinterpret_cast<KernelObject *>(self);
    const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    const bool named = kwnames && PyTuple_GET_SIZE(kwnames);
    PyObject *known = nullptr;
    if (!named) {
      if (n == k->n_params) known = call_known(k, args);
    } else {
      PyObject *placed[max_named];
      if (place_keywords(k, args, n, kwnames, placed)) known = call_known(k, placed);
    }
    if (known || PyErr_Occurred()) return known;
    return call_new(k, args, n, kwnames);
  });
}

}  // namespace qd::py

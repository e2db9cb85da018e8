// context.cpp: Context, Buffer and Executable for Python. Slow calls release the GIL. A compile runs on a thread of its
// own while the caller looks for signals, so Ctrl-C ends it: the core is asked to stop, waited for, and
// KeyboardInterrupt goes on.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime.hpp"
#include "values.hpp"

namespace nb = nanobind;

namespace qd::py {
namespace {

constexpr uint64_t large_copy = 64 << 10;
constexpr auto signal_interval = std::chrono::milliseconds(50);

std::vector<std::weak_ptr<Context>> &live_contexts() {
  static auto &list = *new std::vector<std::weak_ptr<Context>>;  // guarded by the GIL
  return list;
}

void quiesce_all(uint32_t why) {
  for (const auto &weak : live_contexts())
    if (const auto c = weak.lock()) c->quiesce(why);
}

template <class F>
void without_gil(bool release, F &&f) {
  if (!release) return f();
  const WithoutGil nogil;
  f();
}

// Whether a signal handler raised, asked every 50 ms of a long launch on the thread that handles signals.
bool interrupted_launch() {
  static const std::thread::id main_thread = std::this_thread::get_id();  // init_runtime asks first
  static std::chrono::steady_clock::time_point next;
  if (std::this_thread::get_id() != main_thread) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now < next) return false;
  next = now + signal_interval;
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool raised = PyErr_CheckSignals() < 0;
  PyGILState_Release(state);
  return raised;
}

Context &context_of(const ContextHandle &h) {
  if (!h.context) throw Error(Kind::runtime, "the runtime was reset: call qd.init first");
  return *h.context;
}

// `compile` runs on the other thread.
template <class F>
std::shared_ptr<Executable> interruptibly(Context &context, F &&compile) {
  std::mutex mutex;
  std::condition_variable done_changed;
  bool done = false;
  std::shared_ptr<Executable> result;
  std::exception_ptr failure;
  std::thread worker([&] {
    try {
      result = compile();
    } catch (...) { failure = std::current_exception(); }
    const std::lock_guard lock(mutex);
    done = true;
    done_changed.notify_all();
  });
  bool signalled = false;
  for (bool finished = false; !finished;) {
    {
      const WithoutGil nogil;
      std::unique_lock lock(mutex);
      finished = signalled ? (done_changed.wait(lock, [&] { return done; }), true)
                           : done_changed.wait_for(lock, signal_interval, [&] { return done; });
    }
    if (!finished && PyErr_CheckSignals() < 0) {
      signalled = true;
      context.interrupt();
    }
  }
  worker.join();
  if (signalled) throw PythonError{};
  if (failure) std::rethrow_exception(failure);
  return result;
}

uint32_t result_bytes(const ir::Unit &unit) {
  uint32_t slots = 0;
  for (const ir::Func &f : unit.funcs)
    for (const ir::Inst &i : f.code)
      if (i.op == ir::Op::output) slots = std::max(slots, i.arg[0] + 1);
  return slots * 8;
}

nb::dict observations(const ExecutableHandle &h) {
  const Observations &o = h.executable->observations();
  nb::dict d;
#define FIELD(name) d[#name] = o.name;
  FIELD(constructs_total)
  FIELD(constructs_hit) FIELD(constructs_recompiled) FIELD(tasks_total) FIELD(tasks_hit) FIELD(tasks_recompiled)
      FIELD(whole_kernel_reason) FIELD(passes_ms) FIELD(codegen_ms) FIELD(finish_ms) FIELD(load_ms)
          FIELD(artifact_bytes) FIELD(memory_hits) FIELD(disk_hits)
#undef FIELD
              return d;
}

nb::tuple take_reports(const ExecutableHandle &h) {
  bool failed = false;
  uint32_t dropped = 0;
  nb::list records;
  for (const Report &r : h.executable->take_reports(failed, dropped))
    records.append(nb::make_tuple(r.site, r.task, r.iteration, nb::cast(r.values)));
  return nb::make_tuple(records, failed, dropped);
}

nb::list rows_of(const std::vector<Profile::Row> &rows) {
  nb::list list;
  for (const Profile::Row &r : rows) list.append(nb::make_tuple(r.name, r.count, r.total, r.min, r.max));
  return list;
}

nb::tuple profile(ContextHandle &self) {
  const std::shared_ptr<Context> context = self.context;
  Profile p;
  without_gil(true, [&] { p = context_of(self).profile(); });
  nb::list trace;
  for (const Profile::Record &r : p.trace) trace.append(nb::make_tuple(r.task, r.start, r.ms));
  return nb::make_tuple(rows_of(p.tasks), rows_of(p.kernels), trace);
}

// A contiguous view of bytes of any buffer-protocol object.
class Bytes {
 public:
  Bytes(PyObject *o, bool writable) {
    if (PyObject_GetBuffer(o, &view_, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) < 0) throw PythonError{};
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes &) = delete;
  Bytes &operator=(const Bytes &) = delete;
  void *data() const { return view_.buf; }
  uint64_t size() const { return uint64_t(view_.len); }

 private:
  Py_buffer view_;
};

void check_range(const Buffer &b, uint64_t offset, uint64_t size) {
  if (offset <= b.size() && size <= b.size() - offset) return;
  throw Error(Kind::value, "bytes " + std::to_string(offset) + " to " + std::to_string(offset + size) +
                               " of a buffer of " + std::to_string(b.size()));
}

void copy_in(const BufferHandle &h, uint64_t offset, nb::handle src) {
  const Bytes bytes(src.ptr(), false);
  check_range(*h.buffer, offset, bytes.size());
  without_gil(bytes.size() >= large_copy, [&] { h.buffer->copy_in(offset, bytes.data(), bytes.size()); });
}

void copy_out(const BufferHandle &h, uint64_t offset, nb::handle dst) {
  const Bytes bytes(dst.ptr(), true);
  check_range(*h.buffer, offset, bytes.size());
  without_gil(bytes.size() >= large_copy, [&] { h.buffer->copy_out(offset, bytes.data(), bytes.size()); });
}

void fill(const BufferHandle &h, uint64_t offset, uint64_t size, uint64_t pattern, uint32_t pattern_bytes) {
  check_range(*h.buffer, offset, size);
  without_gil(size >= large_copy, [&] { h.buffer->fill(offset, size, pattern, pattern_bytes); });
}

int get_buffer(PyObject *o, Py_buffer *view, int flags) {
  const BufferHandle &h = *nb::inst_ptr<BufferHandle>(nb::handle(o));
  if (void *host = h.buffer->host()) return PyBuffer_FillInfo(view, o, host, Py_ssize_t(h.buffer->size()), 0, flags);
  PyErr_SetString(PyExc_BufferError, "the host can't see this device memory: use copy_out");
  view->obj = nullptr;
  return -1;
}
PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, (void *)get_buffer}, {0, nullptr}};

nb::dict as_dict(const PluginReport &r) {
  nb::dict d;
#define FIELD(name) d[#name] = r.name;
  FIELD(arch)
  FIELD(path) FIELD(source) FIELD(name) FIELD(version) FIELD(build_id) FIELD(abi) FIELD(usable) FIELD(step)
      FIELD(reason) FIELD(remedy)
#undef FIELD
          return d;
}

int level_number(const std::string &name) {
  static constexpr std::string_view names[] = {"critical", "error", "warn", "info", "debug", "trace"};
  for (int i = 0; i < 6; ++i)
    if (names[i] == name) return i;
  throw Error(Kind::value, "no log level '" + name + "': expected critical error warn info debug trace");
}

void translate(const std::exception_ptr &e, void *) {
  try {
    std::rethrow_exception(e);
  } catch (const nb::python_error &) { throw; } catch (const nb::builtin_exception &) {
    throw;
  } catch (...) { translate_exception(); }
}

std::string_view view_of(const nb::bytes &b) { return {b.c_str(), b.size()}; }

// None: not the bytes of a plan of this build.
nb::object compile_plan(ContextHandle &self, const nb::bytes &plan, uint32_t result_bytes) {
  context_of(self);
  if (result_bytes > QD_RESULT_BYTES) return nb::none();
  const std::shared_ptr<Context> context = self.context;
  const std::string_view bytes = view_of(plan);
  auto made = interruptibly(*context, [&] { return context->compile_plan(bytes); });
  if (!made) return nb::none();
  return nb::cast(ExecutableHandle{context, std::move(made), result_bytes, {}});
}

nb::object recall(ContextHandle &self, const std::string &tier, const nb::bytes &digest) {
  context_of(self);
  const std::shared_ptr<Context> context = self.context;
  std::optional<std::string> found;
  without_gil(true, [&] { found = context->recall(tier, view_of(digest)); });
  if (!found) return nb::none();
  return nb::bytes(found->data(), found->size());
}

void remember(ContextHandle &self, const std::string &tier, const nb::bytes &digest, const nb::bytes &value) {
  context_of(self);
  const std::shared_ptr<Context> context = self.context;
  without_gil(true, [&] { context->remember(tier, view_of(digest), view_of(value)); });
}

void bind_context(nb::module_ &m) {
  nb::class_<ContextHandle>(m, "Context", "One qd.init: an open device with its caches.")
      .def("__init__",
           [](ContextHandle *self, nb::handle config) {
             const ContextConfig c = config_of(config.ptr());
             ContextHandle h;
             without_gil(true, [&] { h.context = Context::open(c); });
             h.arch = h.context->arch();
             h.device_name = h.context->device_name();
             h.host_shared = h.context->host_shared();
             h.max_block_shared = h.context->max_block_shared();
             h.clock_khz = h.context->clock_khz();
             std::erase_if(live_contexts(), [](const auto &weak) { return weak.expired(); });
             live_contexts().push_back(h.context);
             new (self) ContextHandle(std::move(h));
           })
      .def_ro("arch", &ContextHandle::arch)
      .def_ro("device_name", &ContextHandle::device_name)
      .def_ro("host_shared", &ContextHandle::host_shared)
      .def_ro("max_block_shared", &ContextHandle::max_block_shared)
      .def_ro("clock_khz", &ContextHandle::clock_khz)
      .def("close",
           [](ContextHandle &self) {
             if (const auto c = self.context) without_gil(true, [&] { c->close(); });
             self.context = nullptr;
           })
      .def_prop_ro("launching", [](const ContextHandle &self) { return self.context && self.context->launching(); })
      .def("sync", [](ContextHandle &self) { without_gil(true, [c = &context_of(self)] { c->sync(); }); })
      .def("profile", profile)
      .def("clear_profile", [](ContextHandle &self) { context_of(self).clear_profile(); })
      .def("_counts", [](ContextHandle &self) { return context_of(self).counts(); })
      .def("interrupt", [](ContextHandle &self) { context_of(self).interrupt(); })
      .def("compile",
           [](ContextHandle &self, nb::handle builder, bool keep_plan) {
             context_of(self);
             const std::shared_ptr<Context> context = self.context;  // another thread may close meanwhile
             const ir::Unit unit = consume(builder.ptr());
             std::string plan;
             auto made = interruptibly(*context, [&] { return context->compile(unit, keep_plan ? &plan : nullptr); });
             return ExecutableHandle{context, std::move(made), result_bytes(unit), std::move(plan)};
           },
           nb::arg("builder"), nb::arg("keep_plan") = false)
      .def("compile_plan", compile_plan)
      .def("recall", recall)
      .def("remember", remember)
      .def("alloc", [](ContextHandle &self, uint64_t size) { return BufferHandle{context_of(self).alloc(size)}; });
}

}  // namespace

BufferHandle &buffer_handle(PyObject *o) {
  if (!nb::isinstance<BufferHandle>(nb::handle(o))) raise("TypeError", "expected a Buffer, found " + type_name(o));
  return *nb::inst_ptr<BufferHandle>(nb::handle(o));
}

ExecutableHandle &executable_handle(PyObject *o) {
  if (!nb::isinstance<ExecutableHandle>(nb::handle(o)))
    raise("TypeError", "expected an Executable, found " + type_name(o));
  return *nb::inst_ptr<ExecutableHandle>(nb::handle(o));
}

void init_runtime(nb::module_ &m) {
  nb::register_exception_translator(translate, nullptr);
  bind_context(m);
  nb::class_<BufferHandle>(m, "Buffer", nb::type_slots(buffer_slots), "Device memory, freed with the last reference.")
      .def_prop_ro("address", [](const BufferHandle &h) { return h.buffer->address(); })
      .def_prop_ro("size", [](const BufferHandle &h) { return h.buffer->size(); })
      .def("copy_in", copy_in)
      .def("copy_out", copy_out)
      .def("fill", fill);
  nb::class_<ExecutableHandle>(m, "Executable", "A compiled, loaded kernel.")
      .def_prop_ro("observations", observations)
      .def_prop_ro("n_tasks", [](const ExecutableHandle &h) { return h.executable->n_tasks(); })
      .def_prop_ro("plan", [](const ExecutableHandle &h) { return nb::bytes(h.plan.data(), h.plan.size()); })
      .def_ro("result_bytes", &ExecutableHandle::result_bytes)
      .def_prop_ro("n_words", [](const ExecutableHandle &h) { return h.executable->n_words(); })
      .def("take_reports", take_reports);
  m.def("survey_plugins", [](nb::handle config) {
    const ContextConfig c = config_of(config.ptr());
    std::vector<PluginReport> found;
    without_gil(true, [&] { found = survey_plugins(c); });
    nb::list r;
    for (const PluginReport &p : found) r.append(as_dict(p));
    return r;
  });
  m.def("set_log_level", [](const std::string &level) { set_log_level(level_number(level)); });
  m.def("log", [](const std::string &level, const std::string &message) {
    log_line(std::max(1, level_number(level)), message);
  });
  m.def("digest", [](const nb::bytes &b) {
    const std::string d = digest(view_of(b));
    return nb::bytes(d.data(), d.size());
  });
  m.attr("__build_id__") = core_build_id();
  interrupted_launch();
  set_launch_poll(interrupted_launch);
  nb::module_::import_("os").attr("register_at_fork")(nb::arg("after_in_child") =
                                                          nb::cpp_function([] { quiesce_all(1); }));
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] { quiesce_all(2); }));
}

}  // namespace qd::py

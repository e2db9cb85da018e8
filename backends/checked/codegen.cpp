// codegen.cpp: compile and finish: the request is read as the plugin will read it, the plugin is asked twice, and what
// the tasks of an artifact are is remembered under its bytes, for the launches to come.
#include "backends/checked/checked.hpp"
#include "backends/checked/functions.hpp"
#include "qd/ir_view.hpp"

namespace qd::checked {
namespace {

std::shared_ptr<const TaskInfo> read_unit(const Frame &f, const QdbTask &task, const std::string &where) {
  view::View unit;
  view::Fault fault;
  view::ReadOptions options;
  options.allow_recursion = f.instance.caps & QDB_CAP_RECURSION;
  options.allow_threads = f.instance.caps & QDB_CAP_THREADS;
  if (!unit.read(task.ir.ptr, task.ir.len, fault, options)) {
    if (fault.status != QDB_E_INVALID)
      return nullptr;  // newer than we are, or not for this backend: the plugin's to answer
    throw Broken(Violation::bad_unit, fault.message, where);
  }
  auto info = std::make_shared<TaskInfo>();
  info->params.assign(unit.params(), unit.params() + unit.n_params());
  info->arg_words = unit.arg_words();
  info->serial = !unit.parallel();
  info->reports = unit.uses(view::Op::report);
  info->outputs = unit.uses(view::Op::output);
  return info;
}

TaskInfos check_request(const Frame &f, const QdbCompileReq &r) {
  check_size(r.struct_size, QDB_END(QdbCompileReq, reserved), "request", f.function);
  check_array(r.tasks, r.task_stride, r.n_tasks, "tasks", f.function);
  check_options(r.options, r.option_stride, r.n_options, f.function);
  if ((r.unit != QDB_UNIT_TASK && r.unit != QDB_UNIT_KERNEL) || r.n_tasks == 0 ||
      (r.unit == QDB_UNIT_TASK && r.n_tasks != 1))
    throw Broken(Violation::bad_value, std::to_string(r.n_tasks) + " tasks in a unit of kind " + std::to_string(r.unit),
                 f.function);
  if (r.flags & ~(QDB_COMPILE_KEEP_ASM | QDB_COMPILE_DUMP_IR))
    throw Broken(Violation::bad_value, "flags " + std::to_string(r.flags), f.function);
  if (!r.target.len) throw Broken(Violation::null_argument, "an empty target", f.function);
  required(r.target.ptr, "target", f.function);
  TaskInfos infos;
  for (uint32_t i = 0; i < r.n_tasks; i++) {
    const QdbTask &task = plugin::at(r.tasks, r.task_stride, i);
    const std::string where = f.element(i);
    required(task.ir.ptr, "ir", where), required(task.symbol.ptr, "symbol", where),
        check_text(task.name, "name", where);
    if (!task.symbol.len) throw Broken(Violation::bad_value, "an empty symbol", where);
    if (!infos.emplace(plugin::text(task.symbol), read_unit(f, task, where)).second)
      throw Broken(Violation::bad_value, "the symbol \"" + std::string(plugin::text(task.symbol)) + "\" twice", where);
  }
  return infos;
}

struct Made {
  Guarded<QdbArtifactOut> out;
  plugin::Blob blob;
};

template <class F>
void ask(const Frame &f, Made &made, bool silent, F &&call) {
  try {
    forward(
        f, [&](QdbErr *slot) { return call(&made.out.value, slot); }, silent);
  } catch (...) {  // a blob is ours even when the call failed
    if (made.out.value.blob) made.blob = f.host().adopt(made.out.value.blob);
    throw;
  }
  made.out.check(f.function);
  if (!made.out.value.blob) throw Broken(Violation::no_object, "success and a NULL blob", f.function);
  made.blob = f.host().adopt(made.out.value.blob);
  check_ends(made.out.value.kind, "kind", f.function);
  if (!made.out.value.kind[0]) throw Broken(Violation::bad_answer, "an artifact without a kind", f.function);
}

// Asks twice and compares; a second call that the host cancelled compares nothing.
template <class F>
Made ask_twice(const Frame &f, F &&call) {
  Made first, second;
  ask(f, first, false, call);
  try {
    ask(f, second, true, call);
  } catch (const Failure &e) {
    if (e.status == QDB_E_CANCELLED) return first;
    throw Broken(Violation::unstable_artifact, "success, then: " + e.message, f.function);
  }
  if (first.blob.view() != second.blob.view() || std::strcmp(first.out.value.kind, second.out.value.kind) != 0) {
    const std::string_view a = first.blob.view(), b = second.blob.view();
    const size_t at =
        size_t(std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first - a.begin());
    throw Broken(Violation::unstable_artifact,
                 std::to_string(a.size()) + " and " + std::to_string(b.size()) + " bytes that differ from byte " +
                     std::to_string(at),
                 f.function);
  }
  return first;
}

void answer(Made made, TaskInfos infos, QdbArtifactOut *out) {
  const std::string_view bytes = made.blob.view();
  {
    std::lock_guard<std::mutex> lock(tables().mutex);
    tables().artifacts.insert_or_assign({std::hash<std::string_view>()(bytes), bytes.size()}, std::move(infos));
  }
  std::memcpy(out->kind, made.out.value.kind, sizeof out->kind);
  out->blob = made.blob.pass();
}

}  // namespace

QdbStatus QDB_CALL compile(QdbInstance *h, const QdbCompileReq *r, QdbArtifactOut *out, QdbErr *slot) noexcept {
  return on<Instance>(h, "compile", slot, [&](auto &self, const Frame &f) {
    qd_count_add(&self->counts.compile_calls, 1);
    required(r, "request", f.function), required(out, "artifact", f.function);
    check_size(out->struct_size, QDB_END(QdbArtifactOut, blob), "artifact", f.function);
    TaskInfos infos = check_request(f, *r);
    answer(ask_twice(f, [&](QdbArtifactOut *o, QdbErr *s) { return f.t().compile(self->inner(), r, o, s); }),
           std::move(infos), out);
    qd_count_add(&self->counts.tasks_compiled, r->n_tasks);
  });
}

QdbStatus QDB_CALL finish(QdbInstance *h, const QdbBytes *target, const QdbArtifact *in, QdbArtifactOut *out,
                          QdbErr *slot) noexcept {
  return on<Instance>(h, "finish", slot, [&](auto &self, const Frame &f) {
    qd_count_add(&self->counts.finish_calls, 1);
    if (!(self->caps & QDB_CAP_FINISH) || !f.t().finish) throw Broken(Violation::no_finish, "a call", f.function);
    required(target, "target", f.function), required(in, "artifact", f.function), required(out, "out", f.function);
    check_size(out->struct_size, QDB_END(QdbArtifactOut, blob), "out", f.function);
    required(in->bytes.ptr, "artifact bytes", f.function);
    TaskInfos infos;
    {
      std::lock_guard<std::mutex> lock(tables().mutex);
      const auto known =
          tables().artifacts.find({std::hash<std::string_view>()(plugin::view(in->bytes)), in->bytes.len});
      if (known != tables().artifacts.end()) infos = known->second;
    }
    answer(ask_twice(f, [&](QdbArtifactOut *o, QdbErr *s) { return f.t().finish(self->inner(), target, in, o, s); }),
           std::move(infos), out);
  });
}

}  // namespace qd::checked

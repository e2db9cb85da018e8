// codegen.cpp: the artifact of a task is its verified unit; the interpreter's own form is made when it is loaded.
#include "backends/reference/reference.hpp"

namespace qd::reference {

Artifact Instance::compile(const Call &call, const plugin::Request &request) {
  std::vector<plugin::PackedObject> objects;
  for (uint32_t i = 0; i < request.n_tasks; i++) {
    call.poll();
    const QdbTask &task = request.task(i);
    view::View unit;
    view::Fault fault;
    if (!unit.read(task.ir.ptr, task.ir.len, fault)) throw Failure(fault.status, fault.message, std::string(plugin::text(task.name)));
    objects.push_back({plugin::text(task.symbol), plugin::view(task.ir)});
  }
  return {"ir", plugin::pack_objects(call.host, objects)};
}

Artifact Instance::finish(const Call &, std::string_view, const QdbArtifact &) {
  throw Failure(QDB_E_UNSUPPORTED, "the reference backend has no finishing step");
}

}  // namespace qd::reference

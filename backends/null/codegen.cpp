// codegen.cpp: "code" of the null backend is the verified unit itself. A real backend walks the View here; it may follow every
// index in it without a check of its own.
#include "backends/null/null.hpp"
#include "qd/ir_view.hpp"

namespace qd::null {

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
  throw Failure(QDB_E_UNSUPPORTED, "the null backend has no finishing step");
}

}  // namespace qd::null

// codegen_request.hpp: a compile request on its way from a plugin to its code generator, which is another object: as
// the C struct in between, and back; and the target bytes in it.
#pragma once
#include <cstring>
#include <string>

#include "qd/plugin.hpp"

namespace qd::backends {

inline QdbCompileReq to_raw(const plugin::Request &r) {
  QdbCompileReq raw{};
  raw.struct_size = sizeof raw;
  raw.unit = r.unit;
  raw.tasks = r.tasks, raw.n_tasks = r.n_tasks, raw.task_stride = r.task_stride;
  raw.target = plugin::bytes(r.target);
  raw.options = r.options.data(), raw.n_options = r.options.count(), raw.option_stride = r.options.stride();
  raw.flags = r.flags;
  return raw;
}

inline plugin::Request from_raw(const QdbCompileReq &raw) {
  return {raw.unit,
          raw.n_tasks,
          raw.flags,
          plugin::view(raw.target),
          plugin::Options(raw.options, raw.option_stride, raw.n_options),
          raw.tasks,
          raw.task_stride};
}

// Target bytes that begin with a magic number and the version of the code generator's interface.
template <class Target>
Target read_target(const plugin::Request &r, uint32_t magic, uint32_t version) {
  Target t;
  if (r.target.size() != sizeof t)
    throw plugin::Failure(QDB_E_INVALID, "compile: expected " + std::to_string(sizeof t) + " target bytes, found " +
                                             std::to_string(r.target.size()));
  std::memcpy(&t, r.target.data(), sizeof t);
  if (t.magic != magic || t.version != version)
    throw plugin::Failure(QDB_E_INVALID, "compile: the target bytes are of another version of this backend");
  return t;
}

}  // namespace qd::backends

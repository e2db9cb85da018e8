// plugin.cpp: the one exported symbol of the null backend, and what it can do.
#include "backends/null/null.hpp"

namespace qd::null {

void Instance::caps(QdbCaps &out) {
  out.units = QDB_UNIT_TASK | QDB_UNIT_KERNEL;
  out.caps = QDB_CAP_COMPILE_MT | QDB_CAP_OFFLINE | QDB_CAP_HOST_SHARED | QDB_CAP_RECURSION | QDB_CAP_KERNEL_DEFAULT | QDB_CAP_THREADS;
  out.ir_major = QD_WIRE_MAJOR;
  out.ir_minor = QD_WIRE_MINOR;
}

struct Backend {
  using Instance = null::Instance;
  using Device = null::Device;
  using Module = null::Module;
  using Mem = null::Mem;
  using Stream = null::Stream;
};

}  // namespace qd::null

extern "C" QDB_EXPORT QdbStatus QDB_CALL qdb_negotiate(const QdbHello *hello, QdbReply *reply) noexcept {
  return qd::plugin::negotiate<qd::null::Backend>(hello, reply, {"null", "Null backend (compiles, runs nothing)", "0.1.0", QD_BUILD_ID});
}

// plugin.cpp: the exported symbol and what the plugin says of itself; nothing else.
#include "backends/cpu/cpu.hpp"

extern "C" QDB_EXPORT QdbStatus QDB_CALL qdb_negotiate(const QdbHello *hello, QdbReply *reply) QDB_NOTHROW {
  return qd::plugin::negotiate<qd::cpu::Backend>(hello, reply, {"cpu", "Quadrants CPU backend", "0.1.0", QD_BUILD_ID});
}

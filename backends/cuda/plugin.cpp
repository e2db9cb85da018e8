// plugin.cpp: the exported symbol and what the plugin says of itself; nothing else.
#include "backends/cuda/cuda.hpp"

extern "C" QDB_EXPORT QdbStatus QDB_CALL qdb_negotiate(const QdbHello *hello, QdbReply *reply) QDB_NOTHROW {
  return qd::plugin::negotiate<qd::cuda::Backend>(hello, reply,
                                                  {"cuda", "Quadrants CUDA backend", "0.1.0", QD_BUILD_ID});
}

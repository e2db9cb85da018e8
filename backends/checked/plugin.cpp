// plugin.cpp: the one exported symbol of the checking plugin, and its table. Everything that it says of itself but the
// arch is the wrapped plugin's; the build id is made of both, so that neither's cache entries are mistaken for the
// other's.
#include "backends/checked/checked.hpp"
#include "backends/checked/functions.hpp"

namespace qd::checked {

const QdbBackend table = {sizeof(QdbBackend),
                          QDB_ABI_MINOR,
                          instance_create,
                          instance_destroy,
                          instance_quiesce,
                          caps,
                          extension,
                          device_count,
                          device_info,
                          device_open,
                          device_close,
                          device_sync,
                          target_of_device,
                          compile,
                          finish,
                          module_load,
                          module_unload,
                          module_entry,
                          mem_alloc,
                          mem_free,
                          mem_info,
                          stream_create,
                          stream_destroy,
                          stream_sync,
                          copy,
                          fill,
                          launch};

namespace {

QdbStatus negotiate(const QdbHello &hello, QdbReply &reply) {
  if (!wrap(hello, reply)) return QDB_E_ABI;
  reply.backend = &table;
  const std::string name = "Checked " + std::string(reply.name, strnlen(reply.name, sizeof reply.name));
  plugin::copy_text(reply.name, name);
  plugin::copy_text(reply.arch, "checked");
  uint8_t own[32];
  plugin::parse_build_id(QD_BUILD_ID, own);
  for (size_t i = 0; i < sizeof own; i++) reply.build_id[i] ^= own[i];
  return QDB_OK;
}

}  // namespace
}  // namespace qd::checked

extern "C" QDB_EXPORT QdbStatus QDB_CALL qdb_negotiate(const QdbHello *hello, QdbReply *reply) noexcept {
  if (!reply || reply->struct_size < sizeof(QdbReply)) return QDB_E_ABI;
  if (!hello || hello->magic != QDB_MAGIC || hello->struct_size < sizeof(QdbHello) ||
      hello->major_min > QDB_ABI_MAJOR || hello->major_max < QDB_ABI_MAJOR)
    return qd::plugin::refuse(reply, "this is not a Quadrants host of plugin ABI 1");
  try {
    return qd::checked::negotiate(*hello, *reply);
  } catch (const std::exception &e) { return qd::plugin::refuse(reply, e.what()); }
}

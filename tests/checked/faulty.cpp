// faulty.cpp: the null backend with faults that a test switches on by name. One fault a name of violations.def, with a
// suffix where one rule can be broken in several ways; "unmapped" is no fault but memory without host addresses.
#include <stdexcept>

#include "backends/null/null.hpp"

namespace qd::null {
namespace {

std::string fault;
void (*hook)(void *) = nullptr;
void *hook_arg = nullptr;
bool is(const char *name) { return fault == name; }

}  // namespace

void Instance::caps(QdbCaps &out) {
  out.units = is("bad_answer") ? 64 : QDB_UNIT_TASK | QDB_UNIT_KERNEL;
  out.caps = QDB_CAP_COMPILE_MT | QDB_CAP_OFFLINE | (is("unmapped") ? 0 : QDB_CAP_HOST_SHARED);
  out.ir_major = QD_WIRE_MAJOR;
}

struct Backend {
  using Instance = null::Instance;
  using Device = null::Device;
  using Module = null::Module;
  using Mem = null::Mem;
  using Stream = null::Stream;
};

namespace {

using Good = plugin::Table<Backend>;
const QdbHost *host = nullptr;
void *context = nullptr;

void say(QdbErr *slot, QdbStatus status) {
  const QdbErrInfo info{sizeof(QdbErrInfo), status, "test", 0, plugin::str("made up"), {}};
  host->err_set(context, slot, &info);
}

QdbStatus QDB_CALL device_count(QdbInstance *h, uint32_t *n, QdbErr *slot) noexcept {
  return is("not_forked") ? (*n = 1, QDB_OK) : Good::device_count(h, n, slot);
}

QdbStatus QDB_CALL device_info(QdbInstance *h, uint32_t i, QdbDeviceInfo *out, QdbErr *slot) noexcept {
  const QdbStatus status = Good::device_info(h, i, out, slot);
  if (is("struct_overrun")) reinterpret_cast<char *>(out + 1)[3] = 1;
  if (is("bad_answer_text")) std::memset(out->isa, 'x', sizeof out->isa);
  return status;
}

QdbStatus QDB_CALL device_sync(QdbDevice *h, QdbErr *slot) {
  if (is("no_reason")) return QDB_E_LAUNCH;
  if (is("no_reason_same")) return say(slot, QDB_E_COMPILE), QDB_E_LAUNCH;
  if (is("reason_of_success")) return say(slot, QDB_E_LAUNCH), QDB_OK;
  if (is("bad_status")) return QDB_S_NOT_READY;
  if (is("bad_status_unknown")) return say(slot, -77), -77;
  if (is("exception")) throw std::runtime_error("across");
  return Good::device_sync(h, slot);
}

QdbStatus QDB_CALL target(QdbDevice *h, uint32_t level, QdbBlob **out, QdbErr *slot) noexcept {
  const QdbStatus status = Good::target(h, level, out, slot);
  static char change = 0;
  void *data = nullptr;
  if (is("unstable_target") && host->blob_resize(context, *out, 1, &data) == QDB_OK)
    *static_cast<char *>(data) = change++;
  return status;
}

QdbStatus QDB_CALL compile(QdbInstance *h, const QdbCompileReq *r, QdbArtifactOut *out, QdbErr *slot) noexcept {
  if (is("no_object_blob")) return QDB_OK;
  const QdbStatus status = Good::compile(h, r, out, slot);
  static int turn = 0;
  void *data = nullptr;
  if (is("unstable_artifact") && status == QDB_OK && turn++ % 2) {
    QdbBytes bytes{};
    host->blob_view(context, out->blob, &bytes);
    if (host->blob_resize(context, out->blob, bytes.len + 1, &data) != QDB_OK) return QDB_E_HOST_MEMORY;
  }
  return status;
}

QdbStatus QDB_CALL entry(QdbModule *h, const QdbStr *symbol, QdbEntry **out, QdbErr *slot) noexcept {
  if (is("missing_symbol")) return say(slot, QDB_E_SYMBOL), QDB_E_SYMBOL;
  return Good::entry(h, symbol, out, slot);
}

QdbStatus QDB_CALL mem_alloc(QdbDevice *h, uint64_t size, QdbMem **out, QdbErr *slot) noexcept {
  static QdbMem *last = nullptr;
  if (is("no_object")) return QDB_OK;
  if (is("repeated_handle")) return *out = last, QDB_OK;
  const QdbStatus status = Good::mem_alloc(h, size, out, slot);
  if (status != QDB_OK) return status;
  last = *out;
  if (is("bad_memory")) plugin::object<Mem>(last)->data[size / 2] = 1;
  return status;
}

QdbStatus QDB_CALL mem_info(QdbMem *h, QdbMemInfo *out, QdbErr *slot) noexcept {
  const QdbStatus status = Good::mem_info(h, out, slot);
  if (is("bad_memory_size")) out->size--;
  if (is("bad_memory_moved")) out->address += 64;
  if (is("unmapped")) out->host = nullptr;
  return status;
}

QdbStatus QDB_CALL fill(QdbStream *h, const QdbFill *f, uint32_t stride, uint32_t n, QdbErr *slot) noexcept {
  if (hook) hook(hook_arg);
  const QdbStatus status = Good::fill(h, f, stride, n, slot);
  Mem *m = n ? plugin::object<Mem>(f->dst) : nullptr;
  if (m && fault.rfind("guard_written", 0) == 0) m->data[is("guard_written_front") ? 255 : m->size - 256] ^= 1;
  return status;
}

}  // namespace
}  // namespace qd::null

extern "C" QDB_EXPORT void faulty_hook(void (*hook)(void *), void *arg) {
  qd::null::hook = hook, qd::null::hook_arg = arg;
}
extern "C" QDB_EXPORT void faulty_set(const char *name) { qd::null::fault = name; }

extern "C" QDB_EXPORT QdbStatus QDB_CALL qdb_negotiate(const QdbHello *hello, QdbReply *reply) noexcept {
  using namespace qd::null;
  const QdbStatus status =
      qd::plugin::negotiate<Backend>(hello, reply, {"faulty", "Null backend with faults", "0", "ab"});
  if (status != QDB_OK) return status;
  host = static_cast<const QdbHost *>(hello->host_table(hello->host_ctx, QDB_ABI_MAJOR)), context = hello->host_ctx;
  static QdbBackend table = Good::table;
  table.device_count = device_count, table.device_info = device_info, table.device_sync = device_sync,
  table.target_of_device = target;
  table.compile = compile, table.module_entry = entry, table.mem_alloc = mem_alloc, table.mem_info = mem_info,
  table.fill = fill;
  reply->backend = &table;
  return status;
}

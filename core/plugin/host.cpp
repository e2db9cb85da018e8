// host.cpp: the host functions of qd_backend.h. None throws, takes a lock of the runtime or calls back, parallel_for
// apart. Which Context a call belongs to is known by the thread: a plugin is negotiated once, a process may open many
// Contexts.
#include "core/plugin/host.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include "core/support/log.hpp"

namespace qd::plugin {
namespace {

thread_local const Services *current = nullptr;

std::string_view text(const QdbStr *s) {
  return s && s->ptr && s->len ? std::string_view(s->ptr, s->len) : std::string_view();
}

// Fields of a struct that may be shorter than ours.
#define QD_GET(info, type, field, otherwise) (QDB_HAS(info, type, field) ? (info)->field : (otherwise))

void QDB_CALL err_set(void *, QdbErr *err, const QdbErrInfo *info) noexcept try {
  if (!err || !info) return;
  QdbStr message = QD_GET(info, QdbErrInfo, message, QdbStr{}), where = QD_GET(info, QdbErrInfo, where, QdbStr{});
  if (err->status != QDB_OK) {  // said already: what comes now is a note to it
    err->message.append("; ").append(text(&message));
    return;
  }
  err->status = QD_GET(info, QdbErrInfo, status, QDB_E_INTERNAL);
  err->domain = QD_GET(info, QdbErrInfo, domain, nullptr);
  err->native = QD_GET(info, QdbErrInfo, native, 0);
  err->message = text(&message);
  err->where = text(&where);
} catch (...) {}

uint32_t QDB_CALL level_of_log(void *) noexcept { return uint32_t(log_level()); }

void QDB_CALL log_from_plugin(void *, uint32_t level, const QdbStr *component, const QdbStr *message) noexcept {
  log_line(int(std::min(level, uint32_t(log_trace))), text(component), text(message));
}

QdbStatus QDB_CALL blob_new(void *, uint64_t size, QdbBlob **out, void **data) noexcept {
  if (!out || !data) return QDB_E_INVALID;
  *out = nullptr;
  *data = nullptr;
  auto bytes = cache::Bytes::make(size);
  auto *blob = bytes ? new (std::nothrow) QdbBlob : nullptr;
  if (!blob) return QDB_E_HOST_MEMORY;
  *data = bytes->data();
  blob->bytes = std::move(bytes);
  *out = blob;
  return QDB_OK;
}

QdbStatus QDB_CALL blob_resize(void *, QdbBlob *blob, uint64_t size, void **data) noexcept {
  if (!blob || !data) return QDB_E_INVALID;
  if (!blob->bytes->resize(size)) return QDB_E_HOST_MEMORY;
  *data = blob->bytes->data();
  return QDB_OK;
}

void QDB_CALL blob_view(void *, const QdbBlob *blob, QdbBytes *out) noexcept {
  if (out) *out = blob ? QdbBytes{blob->bytes->data(), blob->bytes->size()} : QdbBytes{};
}

void QDB_CALL blob_retain(void *, QdbBlob *blob) noexcept {
  if (blob) blob->references.fetch_add(1, std::memory_order_relaxed);
}

void QDB_CALL blob_release(void *, QdbBlob *blob) noexcept {
  if (blob && blob->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete blob;
}

QdbStatus QDB_CALL parallel_for(void *, uint64_t n, uint64_t grain, QdbRangeFn fn, void *arg) noexcept try {
  if (!fn) return QDB_E_INVALID;
  const Services *services = current;
  if (!services || !services->pool) {  // a thread of the plugin's own, or a probe
    if (n) fn(arg, 0, n, 0);
    return QDB_OK;
  }
  services->pool->parallel_for(n, grain, [&](uint64_t begin, uint64_t end, uint32_t worker) {
    Inside inside(services);
    fn(arg, begin, end, worker);
  });
  return QDB_OK;
} catch (const std::bad_alloc &) { return QDB_E_HOST_MEMORY; } catch (...) {
  return QDB_E_INTERNAL;
}

uint32_t QDB_CALL worker_count(void *) noexcept { return current && current->pool ? current->pool->workers() : 1; }

int32_t QDB_CALL cancel_requested(void *, const QdbErr *call) noexcept try {
  return call && call->cancelled && *call->cancelled && (*call->cancelled)();
} catch (...) { return 0; }

// <dump_path>/<name>.<extension>; a name is a file name, whatever a kernel is called.
std::string dump_file(const Services &services, std::string_view kind, std::string_view name) {
  std::string file(name);
  for (char &c : file)
    if (c == '/' || static_cast<unsigned char>(c) < 32) c = '_';
  std::string_view extension = kind == "llvm" ? "ll" : kind == "llvm_optimised" ? "opt.ll" : kind == "asm" ? "s" : kind;
  return (std::filesystem::path(services.dump_path) / file).string() + "." + std::string(extension);
}

void QDB_CALL dump(void *, const QdbStr *kind, const QdbStr *name, const QdbBytes *data) noexcept try {
  if (!current || current->dump_path.empty() || !data) return;
  if (current->load_ptx && text(kind) == "ptx") return;  // the user's stays
  std::string path = dump_file(*current, text(kind), text(name));
  std::error_code ignored;
  std::filesystem::create_directories(current->dump_path, ignored);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(static_cast<const char *>(data->ptr), std::streamsize(data->len));
  file.close();
  if (!file) log_line(log_warn, "dump", path + " can't be written: set debug_dump_path to a folder that can");
} catch (...) {}

QdbStatus QDB_CALL dump_override(void *hctx, const QdbStr *kind, const QdbStr *name, QdbBlob **out) noexcept try {
  if (!out) return QDB_E_INVALID;
  *out = nullptr;
  if (!current || !(text(kind) == "ptx" ? current->load_ptx : current->load_ir)) return QDB_S_NOT_READY;
  std::string path = dump_file(*current, text(kind), text(name));
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    log_line(log_warn, "dump",
             path + " is not there to be loaded (" + (text(kind) == "ptx" ? "QUADRANTS_LOAD_PTX" : "QD_LOAD_IR") +
                 "): run once with QD_DUMP_IR=1 to make it");
    return QDB_S_NOT_READY;
  }
  void *data = nullptr;
  QdbStatus status = blob_new(hctx, content.size(), out, &data);
  if (status == QDB_OK && !content.empty()) std::memcpy(data, content.data(), content.size());
  return status;
} catch (...) { return QDB_E_INTERNAL; }

constexpr QdbHost table = {sizeof(QdbHost), QDB_ABI_MINOR, err_set,          level_of_log, log_from_plugin,
                           blob_new,        blob_resize,   blob_view,        blob_retain,  blob_release,
                           parallel_for,    worker_count,  cancel_requested, dump,         dump_override};

}  // namespace

const void *QDB_CALL host_table(void *, uint32_t major) { return major == QDB_ABI_MAJOR ? &table : nullptr; }

Inside::Inside(const Services *services) : before_(std::exchange(current, services)) {}
Inside::~Inside() { current = before_; }

void check(const Library &library, QdbStatus status, const QdbErr &err, const char *what, std::string_view subject) {
  if (status >= 0) return;
  std::string m = library.arch + ": " + what;
  if (!subject.empty()) m.append(" of ").append(subject);
  m += " failed: ";
  m += err.message.empty() ? meaning_of(status) : err.message;
  if (!err.where.empty()) m += " (at " + err.where + ")";
  if (err.domain && *err.domain && err.native)
    m += std::string(" [") + err.domain + " " + std::to_string(err.native) + "]";
  m += " [" + name_of(status) + "]";
  throw Error(kind_of(status), m, status);
}

void no_handle(const Library &library, const char *what) {
  throw Error(
      Kind::internal,
      library.arch + ": " + what + " of " + library.path +
          " reported success but gave nothing back [QDB_E_INTERNAL]: a fault of the plugin, report it to its authors",
      QDB_E_INTERNAL);
}

cache::Blob take(QdbBlob *blob) {
  if (!blob) return {};
  cache::Blob bytes = blob->bytes;
  blob_release(nullptr, blob);
  return bytes;
}

}  // namespace qd::plugin

// wrapped.cpp: finds, loads and negotiates with the plugin behind us, and stands between it and the host's services, so
// that we know whether a failing call gave its reason. Everything but error slots and cancelling goes through
// untouched.
#include <dlfcn.h>
#include <unistd.h>

#include "backends/checked/checked.hpp"

namespace qd::checked {
namespace {

std::mutex load_mutex;  // of `loaded`; negotiation only
std::atomic<Wrapped *> last{nullptr};

const QdbHost *outer(void *w) { return static_cast<Wrapped *>(w)->host.table(); }
void *context(void *w) { return static_cast<Wrapped *>(w)->host.context(); }

// Ours, or null for a slot that the host gave to the plugin directly.
Slot *ours(const QdbErr *err) {
  auto *slot = reinterpret_cast<Slot *>(const_cast<QdbErr *>(err));
  uint64_t magic = 0;
  if (slot) std::memcpy(&magic, &slot->magic, sizeof magic);
  return magic == Slot::expected ? slot : nullptr;
}

void QDB_CALL err_set(void *w, QdbErr *err, const QdbErrInfo *info) {
  Slot *slot = ours(err);
  if (slot) {
    slot->sets++;
    if (info && QDB_HAS(info, QdbErrInfo, status)) slot->status = info->status;
    if (slot->silent) return;
    err = slot->outer;
  }
  if (err) outer(w)->err_set(context(w), err, info);
}
int32_t QDB_CALL cancel_requested(void *w, const QdbErr *err) {
  if (const Slot *slot = ours(err)) err = slot->outer;
  return err ? outer(w)->cancel_requested(context(w), err) : 0;
}

// The folder of this file, with the slash.
std::string beside() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void *>(&beside), &info) || !info.dli_fname) return {};
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

std::string wanted_path() {
  if (const char *given = std::getenv("QD_CHECKED_PLUGIN"); given && *given) return given;
  const std::string folder = beside();
  for (const char *name : {"libqd_cpu.so", "libqd_reference.so"})
    if (access((folder + name).c_str(), R_OK) == 0) return folder + name;
  return {};
}

const char *missing_member(const QdbBackend &t) {
#define QD_REQUIRE(member) \
  if (!t.member) return #member
  QD_REQUIRE(instance_create);
  QD_REQUIRE(instance_destroy);
  QD_REQUIRE(instance_quiesce);
  QD_REQUIRE(caps);
  QD_REQUIRE(device_count);
  QD_REQUIRE(device_info);
  QD_REQUIRE(device_open);
  QD_REQUIRE(device_close);
  QD_REQUIRE(device_sync);
  QD_REQUIRE(target_of_device);
  QD_REQUIRE(compile);
  QD_REQUIRE(module_load);
  QD_REQUIRE(module_unload);
  QD_REQUIRE(module_entry);
  QD_REQUIRE(mem_alloc);
  QD_REQUIRE(mem_free);
  QD_REQUIRE(mem_info);
  QD_REQUIRE(stream_create);
  QD_REQUIRE(stream_destroy);
  QD_REQUIRE(stream_sync);
  QD_REQUIRE(copy);
  QD_REQUIRE(fill);
  QD_REQUIRE(launch);
#undef QD_REQUIRE
  return nullptr;
}

Wrapped *open(const std::string &path, std::string &reason) {
  static auto *loaded = new std::map<std::string, std::unique_ptr<Wrapped>>;
  const auto found = loaded->find(path);
  if (found != loaded->end()) return found->second.get();
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const char *why = library ? nullptr : dlerror();
  auto entry = library ? reinterpret_cast<QdbNegotiateFn>(dlsym(library, QDB_ENTRY_SYMBOL)) : nullptr;
  if (!entry) {
    reason = why ? why : path + " does not export " QDB_ENTRY_SYMBOL;
    return nullptr;
  }
  auto w = std::make_unique<Wrapped>();
  w->path = path, w->negotiate = entry;
  return (*loaded)[path].swap(w), (*loaded)[path].get();
}

Wrapped *refused(QdbReply &reply, const std::string &reason) {
  plugin::copy_text(reply.reason, "the plugin to check cannot be used: " + reason);
  return nullptr;
}

}  // namespace

const QdbHost *services() {
  static const QdbHost table = {
      sizeof(QdbHost),
      QDB_ABI_MINOR,
      err_set,
      [](void *w) { return outer(w)->log_level(context(w)); },
      [](void *w, uint32_t level, const QdbStr *c, const QdbStr *m) { outer(w)->log(context(w), level, c, m); },
      [](void *w, uint64_t size, QdbBlob **out, void **data) {
        return outer(w)->blob_new(context(w), size, out, data);
      },
      [](void *w, QdbBlob *b, uint64_t size, void **data) { return outer(w)->blob_resize(context(w), b, size, data); },
      [](void *w, const QdbBlob *b, QdbBytes *out) { outer(w)->blob_view(context(w), b, out); },
      [](void *w, QdbBlob *b) { outer(w)->blob_retain(context(w), b); },
      [](void *w, QdbBlob *b) { outer(w)->blob_release(context(w), b); },
      [](void *w, uint64_t n, uint64_t grain, QdbRangeFn f, void *arg) {
        return outer(w)->parallel_for(context(w), n, grain, f, arg);
      },
      [](void *w) { return outer(w)->worker_count(context(w)); },
      cancel_requested,
      [](void *w, const QdbStr *k, const QdbStr *n, const QdbBytes *d) { outer(w)->dump(context(w), k, n, d); },
      [](void *w, const QdbStr *k, const QdbStr *n, QdbBlob **out) {
        return outer(w)->dump_override(context(w), k, n, out);
      }};
  return &table;
}

Wrapped *last_wrapped() { return last.load(); }

Wrapped *wrap(const QdbHello &hello, QdbReply &reply) {
  std::lock_guard<std::mutex> lock(load_mutex);
  const std::string path = wanted_path();
  if (path.empty())
    return refused(
        reply, "QD_CHECKED_PLUGIN is not set, and beside this plugin is neither libqd_cpu.so nor libqd_reference.so");
  std::string reason;
  Wrapped *w = open(path, reason);
  if (!w) return refused(reply, reason);
  const bool probe = hello.flags & QDB_HELLO_PROBE;
  const auto *host = static_cast<const QdbHost *>(
      probe || !hello.host_table ? nullptr : hello.host_table(hello.host_ctx, QDB_ABI_MAJOR));
  if (!probe && (!host || !QDB_HAS(host, QdbHost, dump_override)))
    return refused(reply, "the host gave no complete table of services");
  if (!probe) w->host = Host(host, hello.host_ctx);
  QdbHello ours = hello;
  ours.host_ctx = w;
  ours.host_table = [](void *, uint32_t major) -> const void * {
    return major == QDB_ABI_MAJOR ? services() : nullptr;
  };
  if (!probe) w->hello = ours;  // for renew()
  QdbReply inner{};
  inner.struct_size = sizeof inner;
  const QdbStatus status = w->negotiate(&ours, &inner);
  if (status != QDB_OK)
    return refused(reply, path + ": " + std::string(inner.reason, strnlen(inner.reason, sizeof inner.reason)));
  const auto *theirs = static_cast<const QdbBackend *>(inner.backend);
  if (inner.magic != QDB_MAGIC || inner.major != QDB_ABI_MAJOR || !theirs ||
      theirs->struct_size < QDB_BACKEND_MINOR0_SIZE)
    return refused(reply, path + ": its answer is not one of ABI 1");
  std::memset(static_cast<void *>(&w->table), 0, sizeof w->table);
  std::memcpy(static_cast<void *>(&w->table), theirs, std::min<size_t>(theirs->struct_size, sizeof w->table));
  if (const char *member = missing_member(w->table))
    return refused(reply, path + ": the required function " + member + " is NULL");
  const uint32_t size = reply.struct_size;
  reply = inner;
  reply.struct_size = size;
  if (!probe) last.store(w);
  return w;
}

void renew(Wrapped &w) {
  QdbReply reply{};
  reply.struct_size = sizeof reply;
  if (w.negotiate(&w.hello, &reply) != QDB_OK)
    throw Failure(QDB_E_ABI, "the wrapped plugin negotiated once and refused the second time", w.path);
}

}  // namespace qd::checked

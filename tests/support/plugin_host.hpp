// plugin_host.hpp: the smallest host that can drive a plugin, for tests that sit below the core's loader. Header only.
#pragma once
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "qd/ext_counts.h"
#include "qd/qd_backend.h"
#include "qd/wire.h"

struct QdbErr {
  int32_t status = 0;
  int sets = 0;
  std::string message, where;
  std::atomic<int> polls_before_cancel{-1};  // -1: never
};
struct QdbBlob {
  std::atomic<int> references{1};
  uint64_t size = 0;
  char *data = nullptr;
};

namespace qd::test {

struct HostState {
  std::atomic<int> live_blobs{0};
  bool fail_blobs = false;  // to test how a plugin bears it
};

inline QdbStr str(std::string_view s) { return {s.data(), s.size()}; }

inline char *blob_bytes(uint64_t size) {
  char *data = static_cast<char *>(std::aligned_alloc(64, size_t(size + 16 + 63) / 64 * 64));
  std::memset(data, 0, size_t(size) + 16);
  return data;
}

inline const QdbHost *host_table() {
  static const QdbHost table = {
      sizeof(QdbHost), QDB_ABI_MINOR,
      [](void *, QdbErr *e, const QdbErrInfo *i) {
        e->sets++, e->status = i->status;
        e->message.assign(i->message.ptr ? i->message.ptr : "", size_t(i->message.len));
        e->where.assign(i->where.ptr ? i->where.ptr : "", size_t(i->where.len));
      },
      [](void *) -> uint32_t { return 0; },
      [](void *, uint32_t, const QdbStr *, const QdbStr *) {},
      [](void *h, uint64_t size, QdbBlob **out, void **data) -> QdbStatus {
        auto *state = static_cast<HostState *>(h);
        if (state->fail_blobs) return QDB_E_HOST_MEMORY;
        auto *b = new QdbBlob;
        b->size = size, b->data = blob_bytes(size);
        state->live_blobs++;
        *out = b, *data = b->data;
        return QDB_OK;
      },
      [](void *, QdbBlob *b, uint64_t size, void **data) -> QdbStatus {
        char *bigger = blob_bytes(size);
        std::memcpy(bigger, b->data, size_t(size < b->size ? size : b->size));
        std::free(b->data);
        b->data = bigger, b->size = size, *data = bigger;
        return QDB_OK;
      },
      [](void *, const QdbBlob *b, QdbBytes *out) { *out = {b->data, b->size}; },
      [](void *, QdbBlob *b) { b->references++; },
      [](void *h, QdbBlob *b) {
        if (!b || --b->references) return;
        static_cast<HostState *>(h)->live_blobs--;
        std::free(b->data);
        delete b;
      },
      [](void *, uint64_t n, uint64_t grain, QdbRangeFn fn, void *arg) -> QdbStatus {
        for (uint64_t i = 0; i < n; i += grain ? grain : 1) fn(arg, i, i + grain < n ? i + grain : n, 0);
        return QDB_OK;
      },
      [](void *) -> uint32_t { return 1; },
      [](void *, const QdbErr *e) -> int32_t {
        auto *slot = const_cast<QdbErr *>(e);
        return slot && slot->polls_before_cancel >= 0 && slot->polls_before_cancel-- == 0;
      },
      [](void *, const QdbStr *, const QdbStr *, const QdbBytes *) {},
      [](void *, const QdbStr *, const QdbStr *, QdbBlob **) -> QdbStatus { return QDB_S_NOT_READY; }};
  return &table;
}

inline QdbHello hello(HostState &state) {
  QdbHello h{};
  h.magic = QDB_MAGIC, h.struct_size = sizeof h, h.major_min = h.major_max = QDB_ABI_MAJOR, h.minor = QDB_ABI_MINOR;
#if defined(__SANITIZE_ADDRESS__)
  h.sanitizer = 1;
#elif defined(__SANITIZE_THREAD__)
  h.sanitizer = 3;
#endif
  h.host_table = [](void *, uint32_t major) -> const void * { return major == QDB_ABI_MAJOR ? host_table() : nullptr; };
  h.host_ctx = &state;
  return h;
}

inline QdbNegotiateFn open_plugin(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  return reinterpret_cast<QdbNegotiateFn>(dlsym(library, QDB_ENTRY_SYMBOL));
}

// A plugin with one open device and stream. `err` is the slot of every call.
struct Backend {
  explicit Backend(const char *path) {
    reply.struct_size = sizeof reply;
    const QdbHello h = hello(state);
    if (open_plugin(path)(&h, &reply) != QDB_OK) throw std::runtime_error(reply.reason);
    t = static_cast<const QdbBackend *>(reply.backend);
    QdbInstanceDesc desc{};
    desc.struct_size = sizeof desc;
    check(t->instance_create(&desc, &instance, &err));
    check(t->device_open(instance, 0, &device, &err));
    check(t->stream_create(device, &stream, &err));
  }
  Backend(const Backend &) = delete;
  ~Backend() {
    for (QdbModule *m : modules) t->module_unload(m);
    t->stream_destroy(stream);
    t->device_close(device);
    t->instance_destroy(instance);
  }
  void check(QdbStatus status) {
    if (status < 0) throw std::runtime_error(err.message + " (status " + std::to_string(status) + ")");
  }

  QdbStatus compile(const std::string &unit, QdbArtifactOut &out) {
    const QdbTask task{{unit.data(), unit.size()}, str("entry"), str("test")};
    QdbCompileReq req{};
    req.struct_size = sizeof req, req.unit = QDB_UNIT_TASK, req.tasks = &task, req.n_tasks = 1, req.task_stride = sizeof task;
    req.option_stride = sizeof(QdbOption);
    out = {};
    out.struct_size = sizeof out;
    QdbBlob *target = nullptr;
    check(t->target_of_device(device, 1, &target, &err));
    req.target = {target->data, target->size};
    const QdbStatus status = t->compile(instance, &req, &out, &err);
    host_table()->blob_release(&state, target);
    return status;
  }
  QdbEntry *load(const std::string &unit) {
    QdbArtifactOut out;
    check(compile(unit, out));
    const QdbArtifact artifact{str(out.kind), {out.blob->data, out.blob->size}};
    QdbModule *module = nullptr;
    const QdbStatus status = t->module_load(device, &artifact, sizeof artifact, 1, &module, &err);
    host_table()->blob_release(&state, out.blob);
    check(status);
    modules.push_back(module);
    QdbEntry *entry = nullptr;
    const QdbStr name = str("entry");
    check(t->module_entry(module, &name, &entry, &err));
    return entry;
  }
  // `args`: the words behind the first four.
  QdbStatus launch(QdbEntry *entry, const std::vector<uint64_t> &args, int64_t begin = 0, int64_t end = 1, uint32_t flags = 0) {
    std::vector<uint64_t> block = {reinterpret_cast<uintptr_t>(results), reinterpret_cast<uintptr_t>(report), random_key, ordinal};
    block.insert(block.end(), args.begin(), args.end());
    const QdbLaunch l{entry, block.data(), block.size() * 8, begin, end, ordinal, flags};
    return t->launch(stream, &l, sizeof l, 1, &err);
  }
  uint64_t count(uint64_t QdTestCounts::*member) {
    const QdbStr name = str(QD_EXT_COUNTS_NAME);
    const auto *counts = static_cast<const QdTestCounts *>(t->extension(instance, &name, QD_EXT_COUNTS_VERSION));
    return qd_count(&(counts->*member));
  }

  HostState state;
  QdbErr err;
  QdbReply reply{};
  const QdbBackend *t = nullptr;
  QdbInstance *instance = nullptr;
  QdbDevice *device = nullptr;
  QdbStream *stream = nullptr;
  std::vector<QdbModule *> modules;
  uint64_t results[QD_RESULT_BYTES / 8] = {};
  QdReportHeader *report = nullptr;
  uint64_t random_key = 0;
  uint32_t ordinal = 0;
};

}  // namespace qd::test

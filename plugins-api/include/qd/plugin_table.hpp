// plugin_table.hpp: the ABI's functions, made of the methods of a backend. B names the classes; each derives from Object.
//
//   struct B { using Instance = ...; using Device = ...; using Module = ...; using Mem = ...; using Stream = ...; };
//
//   Instance(const Host &, const Options &)     void caps(QdbCaps &)      uint32_t device_count(const Call &)
//            void device_info(const Call &, uint32_t index, QdbDeviceInfo &)        unique_ptr<Device> open(const Call &, uint32_t)
//            Artifact compile(const Call &, const Request &)
//            Artifact finish(const Call &, string_view target, const QdbArtifact &)      throws E_UNSUPPORTED when there is none
//            const void *extension(string_view name, uint32_t version)       void quiesce(uint32_t why)
//   Device   void sync(const Call &)   Blob target(const Call &, uint32_t level)   unique_ptr<Module> load(const Call &, const Loadable &)
//            unique_ptr<Mem> alloc(const Call &, uint64_t)      unique_ptr<Stream> stream(const Call &)
//   Module   QdbEntry *entry(const Call &, string_view symbol)            Mem   void info(QdbMemInfo &)
//   Stream   void sync(const Call &)       void launch(const Call &, const QdbLaunch *, uint32_t stride, uint32_t n)
//            void copy(const Call &, const QdbCopy &)     void fill(const Call &, const QdbFill &)
//
// Objects of an instance that was forked away are leaked on purpose: their threads and driver contexts do not exist here.
#pragma once
#include "qd/plugin.hpp"

namespace qd::plugin {

// The host of the last negotiation: instances keep their own copy, made when they are created.
inline Host &current_host(std::unique_lock<std::mutex> &lock) {
  static std::mutex mutex;
  static Host host;
  lock = std::unique_lock<std::mutex>(mutex);
  return host;
}

template <class F> QdbStatus guard(const Host &host, QdbErr *slot, F &&f) noexcept {
  const auto answer = [&](QdbStatus status, const char *message, std::string_view where = {}, const char *domain = "", int64_t native = 0) {
    host.report(slot, status, message, where, domain, native);
    return status;
  };
  try {
    f(Call{host, slot});
    return QDB_OK;
  } catch (const Failure &e) {
    if (e.reported) return e.status;
    return answer(e.status < 0 ? e.status : QDB_E_INTERNAL, e.message.c_str(), e.where, e.domain, e.native);
  } catch (const std::bad_alloc &) {
    return answer(QDB_E_HOST_MEMORY, "out of host memory");
  } catch (const std::exception &e) {
    return answer(QDB_E_INTERNAL, e.what());
  } catch (...) {
    return answer(QDB_E_INTERNAL, "an exception of unknown type");
  }
}

template <class T> void require(const T *argument, const char *name) {
  if (!argument) throw Failure(QDB_E_INVALID, std::string("argument `") + name + "` is NULL");
}

// A method call on the object behind a handle: NULL, fork and exceptions are dealt with here.
template <class T, class H, class F> QdbStatus on(H *handle, QdbErr *slot, F &&f) noexcept {
  if (!handle) return QDB_E_INVALID;
  T &self = *object<T>(handle);
  Shared &shared = *self.shared;
  return guard(shared.host, slot, [&](const Call &call) {
    if (shared.forked.load(std::memory_order_relaxed))
      throw Failure(QDB_E_FORKED, "this backend was opened by the parent process: start workers with spawn, or call init again");
    f(self, shared, call);
  });
}

template <class T, class H> void give(Shared &shared, std::unique_ptr<T> made, H **out) {
  if (!made) throw Failure(QDB_E_INTERNAL, "the backend made no object");
  made->shared = &shared;
  qd_count_add(&shared.counts.live_objects, 1);
  *out = reinterpret_cast<H *>(made.release());
}
template <class T, class H> void drop(H *handle) noexcept {
  if (!handle) return;
  T *self = object<T>(handle);
  Shared &shared = *self->shared;
  if (shared.forked.load(std::memory_order_relaxed)) return;
  delete self;
  qd_count_add(&shared.counts.live_objects, ~uint64_t(0));
}

inline void give_artifact(Artifact made, QdbArtifactOut *out) {
  if (std::strlen(made.kind) >= sizeof out->kind) throw Failure(QDB_E_INTERNAL, "the kind of the artifact is too long");
  std::memset(out->kind, 0, sizeof out->kind);
  std::memcpy(out->kind, made.kind, std::strlen(made.kind));
  out->blob = made.blob.pass();
}

// Zeroes what the caller has room for and remembers its size, so that a newer plugin never writes past an older struct.
template <class T, class F> void fill_struct(T *out, const char *name, F &&f) {
  require(out, name);
  if (out->struct_size < 8) throw Failure(QDB_E_INVALID, std::string("argument `") + name + "` has no struct_size");
  const uint32_t size = out->struct_size;
  T value;
  std::memset(static_cast<void *>(&value), 0, sizeof value);
  f(value);
  value.struct_size = size < sizeof value ? size : uint32_t(sizeof value);
  std::memcpy(static_cast<void *>(out), &value, value.struct_size);
}

template <class B> struct Table {
  using Instance = typename B::Instance;
  using Device = typename B::Device;
  using Module = typename B::Module;
  using Mem = typename B::Mem;
  using Stream = typename B::Stream;

  static QdbStatus QDB_CALL create(const QdbInstanceDesc *desc, QdbInstance **out, QdbErr *slot) noexcept {
    std::unique_lock<std::mutex> lock;
    const Host host = current_host(lock);
    lock.unlock();
    return guard(host, slot, [&](const Call &) {
      require(desc, "desc"), require(out, "out");
      if (!host) throw Failure(QDB_E_ABI, "qdb_negotiate has not been called");
      if (!QDB_HAS(desc, QdbInstanceDesc, reserved)) throw Failure(QDB_E_INVALID, "QdbInstanceDesc is too small");
      auto shared = std::make_unique<Shared>();
      shared->host = host;
      shared->counts.struct_size = sizeof(QdTestCounts);
      auto made = std::make_unique<Instance>(shared->host, Options(desc->options, desc->option_stride, desc->n_options));
      made->shared = shared.release();
      *out = reinterpret_cast<QdbInstance *>(made.release());
    });
  }
  static void QDB_CALL destroy(QdbInstance *handle) noexcept {
    if (!handle) return;
    Instance *self = object<Instance>(handle);
    Shared *shared = self->shared;
    if (shared->forked.load(std::memory_order_relaxed)) return;
    delete self;
    delete shared;
  }
  static void QDB_CALL quiesce(QdbInstance *handle, uint32_t why) noexcept {
    if (!handle) return;
    Instance *self = object<Instance>(handle);
    if (why == 1) self->shared->forked.store(true);
    try {
      self->quiesce(why);
    } catch (...) {  // nothing can be reported here, and the process is about to end or to exec
    }
  }
  static QdbStatus QDB_CALL caps(QdbInstance *h, QdbCaps *out, QdbErr *slot) noexcept {
    return on<Instance>(h, slot, [&](Instance &self, Shared &, const Call &) {
      fill_struct(out, "caps", [&](QdbCaps &c) { self.caps(c); });
    });
  }
  static const void *QDB_CALL extension(QdbInstance *h, const QdbStr *name, uint32_t version) noexcept {
    if (!h || !name) return nullptr;
    Instance &self = *object<Instance>(h);
    if (text(*name) == QD_EXT_COUNTS_NAME && version == QD_EXT_COUNTS_VERSION) return &self.shared->counts;
    try {
      return self.extension(text(*name), version);
    } catch (...) {  // the answer "not there" is always allowed
      return nullptr;
    }
  }

  static QdbStatus QDB_CALL device_count(QdbInstance *h, uint32_t *out, QdbErr *slot) noexcept {
    return on<Instance>(h, slot, [&](Instance &self, Shared &, const Call &call) {
      require(out, "count");
      *out = self.device_count(call);
    });
  }
  static void check_index(Instance &self, const Call &call, uint32_t index) {
    const uint32_t n = self.device_count(call);
    if (index >= n) throw Failure(QDB_E_NO_DEVICE, "device " + std::to_string(index) + " of " + std::to_string(n));
  }
  static QdbStatus QDB_CALL device_info(QdbInstance *h, uint32_t index, QdbDeviceInfo *out, QdbErr *slot) noexcept {
    return on<Instance>(h, slot, [&](Instance &self, Shared &, const Call &call) {
      check_index(self, call, index);
      fill_struct(out, "info", [&](QdbDeviceInfo &d) { self.device_info(call, index, d); });
    });
  }
  static QdbStatus QDB_CALL device_open(QdbInstance *h, uint32_t index, QdbDevice **out, QdbErr *slot) noexcept {
    return on<Instance>(h, slot, [&](Instance &self, Shared &shared, const Call &call) {
      require(out, "device");
      check_index(self, call, index);
      give(shared, self.open(call, index), out);
    });
  }
  static void QDB_CALL device_close(QdbDevice *h) noexcept { drop<Device>(h); }
  static QdbStatus QDB_CALL device_sync(QdbDevice *h, QdbErr *slot) noexcept {
    return on<Device>(h, slot, [&](Device &self, Shared &, const Call &call) { self.sync(call); });
  }
  static QdbStatus QDB_CALL target(QdbDevice *h, uint32_t level, QdbBlob **out, QdbErr *slot) noexcept {
    return on<Device>(h, slot, [&](Device &self, Shared &, const Call &call) {
      require(out, "target");
      if (level != 1 && level != 2) throw Failure(QDB_E_INVALID, "target level " + std::to_string(level) + ", expected 1 or 2");
      *out = self.target(call, level).pass();
    });
  }

  static QdbStatus QDB_CALL compile(QdbInstance *h, const QdbCompileReq *r, QdbArtifactOut *out, QdbErr *slot) noexcept {
    return on<Instance>(h, slot, [&](Instance &self, Shared &shared, const Call &call) {
      qd_count_add(&shared.counts.compile_calls, 1);
      require(r, "request"), require(out, "artifact");
      if (!QDB_HAS(r, QdbCompileReq, reserved) || !QDB_HAS(out, QdbArtifactOut, blob)) throw Failure(QDB_E_INVALID, "compile: a struct is too small");
      check_array(r->tasks, r->task_stride, r->n_tasks, "tasks");
      if (r->n_tasks == 0 || (r->unit == QDB_UNIT_TASK && r->n_tasks != 1) || (r->unit != QDB_UNIT_TASK && r->unit != QDB_UNIT_KERNEL))
        throw Failure(QDB_E_INVALID, "compile: " + std::to_string(r->n_tasks) + " tasks in a unit of kind " + std::to_string(r->unit));
      const Request request{r->unit, r->n_tasks, r->flags, view(r->target), Options(r->options, r->option_stride, r->n_options), r->tasks, r->task_stride};
      give_artifact(self.compile(call, request), out);
      qd_count_add(&shared.counts.tasks_compiled, r->n_tasks);
    });
  }
  static QdbStatus QDB_CALL finish(QdbInstance *h, const QdbBytes *target, const QdbArtifact *in, QdbArtifactOut *out, QdbErr *slot) noexcept {
    return on<Instance>(h, slot, [&](Instance &self, Shared &shared, const Call &call) {
      qd_count_add(&shared.counts.finish_calls, 1);
      require(target, "target"), require(in, "artifact"), require(out, "out");
      give_artifact(self.finish(call, view(*target), *in), out);
    });
  }

  static QdbStatus QDB_CALL load(QdbDevice *h, const QdbArtifact *artifacts, uint32_t stride, uint32_t n, QdbModule **out, QdbErr *slot) noexcept {
    return on<Device>(h, slot, [&](Device &self, Shared &shared, const Call &call) {
      qd_count_add(&shared.counts.load_calls, 1);
      require(out, "module");
      check_array(artifacts, stride, n, "artifacts");
      give(shared, self.load(call, Loadable{artifacts, stride, n}), out);
    });
  }
  static void QDB_CALL unload(QdbModule *h) noexcept { drop<Module>(h); }
  static QdbStatus QDB_CALL entry(QdbModule *h, const QdbStr *symbol, QdbEntry **out, QdbErr *slot) noexcept {
    return on<Module>(h, slot, [&](Module &self, Shared &, const Call &call) {
      require(symbol, "symbol"), require(out, "entry");
      *out = self.entry(call, text(*symbol));
    });
  }

  static QdbStatus QDB_CALL mem_alloc(QdbDevice *h, uint64_t size, QdbMem **out, QdbErr *slot) noexcept {
    return on<Device>(h, slot, [&](Device &self, Shared &shared, const Call &call) {
      require(out, "mem");
      if (size == 0) throw Failure(QDB_E_INVALID, "mem_alloc of 0 bytes");
      give(shared, self.alloc(call, size), out);
    });
  }
  static void QDB_CALL mem_free(QdbMem *h) noexcept { drop<Mem>(h); }
  static QdbStatus QDB_CALL mem_info(QdbMem *h, QdbMemInfo *out, QdbErr *slot) noexcept {
    return on<Mem>(h, slot, [&](Mem &self, Shared &, const Call &) {
      fill_struct(out, "info", [&](QdbMemInfo &m) { self.info(m); });
    });
  }

  static QdbStatus QDB_CALL stream_create(QdbDevice *h, QdbStream **out, QdbErr *slot) noexcept {
    return on<Device>(h, slot, [&](Device &self, Shared &shared, const Call &call) {
      require(out, "stream");
      give(shared, self.stream(call), out);
    });
  }
  static void QDB_CALL stream_destroy(QdbStream *h) noexcept { drop<Stream>(h); }
  static QdbStatus QDB_CALL stream_sync(QdbStream *h, QdbErr *slot) noexcept {
    return on<Stream>(h, slot, [&](Stream &self, Shared &, const Call &call) { self.sync(call); });
  }
  static QdbStatus QDB_CALL copy(QdbStream *h, const QdbCopy *c, uint32_t stride, uint32_t n, QdbErr *slot) noexcept {
    return on<Stream>(h, slot, [&](Stream &self, Shared &, const Call &call) {
      check_array(c, stride, n, "copies");
      for (uint32_t i = 0; i < n; i++) self.copy(call, at(c, stride, i));
    });
  }
  static QdbStatus QDB_CALL fill(QdbStream *h, const QdbFill *f, uint32_t stride, uint32_t n, QdbErr *slot) noexcept {
    return on<Stream>(h, slot, [&](Stream &self, Shared &, const Call &call) {
      check_array(f, stride, n, "fills");
      for (uint32_t i = 0; i < n; i++) self.fill(call, at(f, stride, i));
    });
  }
  static QdbStatus QDB_CALL launch(QdbStream *h, const QdbLaunch *l, uint32_t stride, uint32_t n, QdbErr *slot) noexcept {
    return on<Stream>(h, slot, [&](Stream &self, Shared &shared, const Call &call) {
      qd_count_add(&shared.counts.launch_calls, 1);
      qd_count_add(&shared.counts.tasks_launched, n);
      check_array(l, stride, n, "launches");
      self.launch(call, l, stride, n);
    });
  }

  static constexpr QdbBackend table = {
      sizeof(QdbBackend), QDB_ABI_MINOR, create, destroy, quiesce, caps, extension, device_count, device_info, device_open,
      device_close, device_sync, target, compile, finish, load, unload, entry, mem_alloc, mem_free, mem_info, stream_create,
      stream_destroy, stream_sync, copy, fill, launch};
};

// --------------------------------------------------------------------------------------------------------- negotiation

inline uint32_t sanitizer_of_build() {
#if defined(__SANITIZE_ADDRESS__)
  return 1;
#elif defined(__SANITIZE_THREAD__)
  return 3;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return 1;
#elif __has_feature(thread_sanitizer)
  return 3;
#else
  return 0;
#endif
#else
  return 0;
#endif
}

template <size_t N> void copy_text(char (&to)[N], std::string_view from) {
  const size_t n = from.size() < N ? from.size() : N - 1;
  std::memset(to, 0, N);
  if (n) std::memcpy(to, from.data(), n);
}

inline QdbStatus refuse(QdbReply *reply, std::string_view reason) {
  copy_text(reply->reason, reason);
  return QDB_E_ABI;
}

// Odd or other digits end the id early, so that a forgotten build id is all zero and the host refuses it.
inline void parse_build_id(std::string_view hex, uint8_t (&id)[32]) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::memset(id, 0, sizeof id);
  for (size_t i = 0; i < sizeof id && 2 * i + 1 < hex.size(); i++) {
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return;
    id[i] = uint8_t(high << 4 | low);
  }
}

// The body of qdb_negotiate.
template <class B> QdbStatus negotiate(const QdbHello *hello, QdbReply *reply, const Identity &id) noexcept {
  if (!reply || reply->struct_size < sizeof(QdbReply)) return QDB_E_ABI;
  if (!hello || hello->magic != QDB_MAGIC || hello->struct_size < sizeof(QdbHello)) return refuse(reply, "this is not a Quadrants host");
  if (hello->major_min > QDB_ABI_MAJOR || hello->major_max < QDB_ABI_MAJOR)
    return refuse(reply, "the host speaks plugin ABI " + std::to_string(hello->major_min) + " to " + std::to_string(hello->major_max) +
                             ", this plugin speaks " + std::to_string(QDB_ABI_MAJOR));
  const uint32_t sanitizer = sanitizer_of_build();
  if (sanitizer && hello->sanitizer != sanitizer)
    return refuse(reply, "this plugin was built with a sanitizer that the host lacks: use plugins and host of one build");
  const auto *host = static_cast<const QdbHost *>(hello->host_table ? hello->host_table(hello->host_ctx, QDB_ABI_MAJOR) : nullptr);
  if (!(hello->flags & QDB_HELLO_PROBE)) {
    if (!host || !QDB_HAS(host, QdbHost, dump_override)) return refuse(reply, "the host gave no complete table of services");
    std::unique_lock<std::mutex> lock;
    current_host(lock) = Host(host, hello->host_ctx);
  }
  reply->magic = QDB_MAGIC;
  reply->major = QDB_ABI_MAJOR;
  reply->minor = hello->major_max == QDB_ABI_MAJOR && hello->minor < QDB_ABI_MINOR ? hello->minor : QDB_ABI_MINOR;
  reply->flags = 0;
  reply->sanitizer = sanitizer;
  reply->backend = &Table<B>::table;
  copy_text(reply->arch, id.arch), copy_text(reply->name, id.name), copy_text(reply->version, id.version);
  parse_build_id(id.build_id, reply->build_id);
  return QDB_OK;
}

}  // namespace qd::plugin

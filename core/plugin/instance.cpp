// instance.cpp: the calls of an instance: creating it, asking what it can, compile and finish.
#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "core/plugin/host.hpp"

namespace qd::plugin {

// Lets at most `limit` compile calls into the plugin.
struct Instance::Turns {
  explicit Turns(uint32_t limit) : limit(limit) {}
  std::mutex mutex;
  std::condition_variable freed;
  const uint32_t limit;  // 0: none
  uint32_t running = 0;

  struct Turn {
    Turns &turns;
    explicit Turn(Turns &t) : turns(t) {
      if (!t.limit) return;
      std::unique_lock lock(t.mutex);
      t.freed.wait(lock, [&] { return t.running < t.limit; });
      ++t.running;
    }
    ~Turn() {
      if (!turns.limit) return;
      std::lock_guard lock(turns.mutex);
      --turns.running;
      turns.freed.notify_one();
    }
  };
};

namespace {

std::vector<QdbOption> as_rows(Options options) {
  std::vector<QdbOption> rows;
  rows.reserve(options.size());
  for (const auto &[name, value] : options) rows.push_back({str(name), str(value)});
  return rows;
}

std::string kind_text(const char (&kind)[16]) { return {kind, strnlen(kind, sizeof kind)}; }

}  // namespace

Instance::Instance(const Library &library, std::shared_ptr<Services> services)
    : library_(library), services_(std::move(services)) {}

std::shared_ptr<Instance> Instance::create(const Library &library, std::shared_ptr<Services> services,
                                           Options options) {
  std::shared_ptr<Instance> made(new Instance(library, std::move(services)));
  std::vector<QdbOption> rows = as_rows(options);
  QdbInstanceDesc desc{sizeof desc, uint32_t(rows.size()), rows.data(), sizeof(QdbOption), 0};
  Inside inside(made->services_.get());
  QdbErr err;
  check(library, library.table.instance_create(&desc, &made->handle_, &err), err, "instance_create");
  if (!made->handle_) no_handle(library, "instance_create");
  QdbCaps caps{};
  caps.struct_size = sizeof caps;
  QdbErr caps_err;
  check(library, library.table.caps(made->handle_, &caps, &caps_err), caps_err, "caps");
  if (!(caps.units & (QDB_UNIT_TASK | QDB_UNIT_KERNEL)))
    throw Error(Kind::internal, library.arch + ": caps of " + library.path + " names no unit that it compiles",
                QDB_E_INTERNAL);
  if ((caps.caps & QDB_CAP_FINISH) && !library.table.finish)
    throw Error(Kind::internal, library.arch + ": caps of " + library.path + " promises finish, the table has none",
                QDB_E_INTERNAL);
  uint32_t limit = caps.caps & QDB_CAP_COMPILE_MT ? caps.max_compile_threads : 1;
  made->caps_ = {caps.units, caps.caps, caps.ir_major, caps.ir_minor, limit};
  made->turns_ = std::make_unique<Turns>(limit);
  const auto *streams = static_cast<const QdExtStreams *>(made->extension(QD_EXT_STREAMS_NAME, QD_EXT_STREAMS_VERSION));
  if (streams && QDB_HAS(streams, QdExtStreams, before_native)) made->streams_ = streams;
  const auto *names = static_cast<const QdExtNames *>(made->extension(QD_EXT_NAMES_NAME, QD_EXT_NAMES_VERSION));
  if (names && QDB_HAS(names, QdExtNames, kernel_end)) made->names_ = names;
  return made;
}

Instance::~Instance() {
  if (!handle_ || quiesced()) return;
  Inside inside(services_.get());
  library_.table.instance_destroy(handle_);
}

void Instance::quiesce(uint32_t why) {
  if (!quiesced_.exchange(true)) library_.table.instance_quiesce(handle_, why);
}

void Instance::refuse_quiesced() const {
  throw Error(Kind::runtime,
              library_.arch +
                  ": the runtime belongs to the parent process or the interpreter is ending: "
                  "start processes with spawn, or call qd.init again [QDB_E_FORKED]",
              QDB_E_FORKED);
}

uint32_t Instance::device_count() const {
  require();
  Inside inside(services_.get());
  QdbErr err;
  uint32_t n = 0;
  check(library_, library_.table.device_count(handle_, &n, &err), err, "device_count");
  return n;
}

QdbDeviceInfo Instance::device_info(uint32_t index) const {
  require();
  Inside inside(services_.get());
  QdbErr err;
  QdbDeviceInfo info{};
  info.struct_size = sizeof info;
  check(library_, library_.table.device_info(handle_, index, &info, &err), err, "device_info");
  info.name[sizeof info.name - 1] = info.isa[sizeof info.isa - 1] =
      info.driver_version[sizeof info.driver_version - 1] = 0;
  return info;
}

const void *Instance::extension(std::string_view name, uint32_t version) const {
  if (!library_.table.extension || quiesced()) return nullptr;
  QdbStr s = str(name);
  return library_.table.extension(handle_, &s, version);
}

Artifact Instance::compile(uint32_t unit, std::span<const Task> tasks, std::string_view target, Options options,
                           uint32_t flags, const std::function<bool()> &cancelled) const {
  require();
  std::vector<QdbTask> list;
  list.reserve(tasks.size());
  for (const Task &t : tasks) list.push_back({bytes(t.ir), str(t.symbol), str(t.name)});
  std::vector<QdbOption> rows = as_rows(options);
  QdbCompileReq req{sizeof req,
                    unit,
                    list.data(),
                    uint32_t(list.size()),
                    sizeof(QdbTask),
                    bytes(target),
                    rows.data(),
                    uint32_t(rows.size()),
                    sizeof(QdbOption),
                    flags,
                    0};
  QdbArtifactOut out{};
  out.struct_size = sizeof out;
  Turns::Turn turn(*turns_);
  Inside inside(services_.get());
  QdbErr err;
  err.cancelled = &cancelled;
  QdbStatus status = library_.table.compile(handle_, &req, &out, &err);
  cache::Blob blob = take(out.blob);  // also when it failed: the reference is ours
  check(library_, status, err, "compile", tasks.empty() ? std::string_view() : tasks[0].name);
  if (!blob) no_handle(library_, "compile");
  return {kind_text(out.kind), std::move(blob)};
}

Artifact Instance::finish(std::string_view target, const Artifact &artifact) const {
  require();
  QD_ASSERT(caps_.has(QDB_CAP_FINISH));
  QdbBytes goal = bytes(target);
  QdbArtifact in{str(artifact.kind), bytes(artifact.bytes->view())};
  QdbArtifactOut out{};
  out.struct_size = sizeof out;
  Inside inside(services_.get());
  QdbErr err;
  QdbStatus status = library_.table.finish(handle_, &goal, &in, &out, &err);
  cache::Blob blob = take(out.blob);
  check(library_, status, err, "finish");
  if (!blob) no_handle(library_, "finish");
  return {kind_text(out.kind), std::move(blob)};
}

}  // namespace qd::plugin

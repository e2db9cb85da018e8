// throwing.cpp: a plugin of the C++ SDK whose methods throw all sorts of things: none may cross the table.
#include <stdexcept>

#include "qd/plugin.hpp"

namespace {

using namespace qd::plugin;

struct Mem : Object {
  void info(QdbMemInfo &out) { out.size = 0; }
};
struct Module : Object {
  QdbEntry *entry(const Call &, std::string_view) { throw 7; }
};
struct Stream : Object {
  void sync(const Call &) { throw std::string("a string"); }
  void copy(const Call &, const QdbCopy &) { throw std::bad_alloc(); }
  void fill(const Call &, const QdbFill &) { throw std::runtime_error("fill broke"); }
  void launch(const Call &, const QdbLaunch *, uint32_t, uint32_t) { throw std::runtime_error("launch broke"); }
};
struct Device : Object {
  void sync(const Call &) {}
  Blob target(const Call &call, uint32_t) { return call.host.blob("t"); }
  std::unique_ptr<Module> load(const Call &, const Loadable &) { throw Failure(QDB_E_ARTIFACT, "not mine"); }
  std::unique_ptr<Mem> alloc(const Call &, uint64_t) { throw std::bad_alloc(); }
  std::unique_ptr<Stream> stream(const Call &) { return std::make_unique<Stream>(); }
};
struct Instance : Object {
  Instance(const Host &, const Options &) {}
  void caps(QdbCaps &out) {
    out.units = QDB_UNIT_TASK;
    out.caps = QDB_CAP_COMPILE_MT;
  }
  uint32_t device_count(const Call &) { return 1; }
  void device_info(const Call &, uint32_t, QdbDeviceInfo &out) { out.kind = QDB_KIND_CPU; }
  std::unique_ptr<Device> open(const Call &, uint32_t) { return std::make_unique<Device>(); }
  Artifact compile(const Call &, const Request &) { throw std::runtime_error("compile broke"); }
  Artifact finish(const Call &, std::string_view, const QdbArtifact &) { throw 1; }
  const void *extension(std::string_view, uint32_t) { return nullptr; }
  void quiesce(uint32_t) {}
};
struct Backend {
  using Instance = ::Instance;
  using Device = ::Device;
  using Module = ::Module;
  using Mem = ::Mem;
  using Stream = ::Stream;
};

}  // namespace

extern "C" QDB_EXPORT QdbStatus QDB_CALL qdb_negotiate(const QdbHello *hello, QdbReply *reply) noexcept {
  return qd::plugin::negotiate<Backend>(hello, reply, {"throwing", "Throwing", "1", "00"});
}

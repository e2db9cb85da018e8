// reference.hpp: the classes of the reference backend: an interpreter of the IR that takes the meaning of every operation from
// ops.def. It is the oracle that other backends are compared with, so it is written to be right and easy to read, on one thread.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include "backends/common/host_memory.hpp"
#include "backends/reference/machine.hpp"
#include "qd/plugin.hpp"

namespace qd::reference {

using plugin::Artifact;
using plugin::Blob;
using plugin::Call;
using plugin::Failure;

using Mem = host_memory::Mem;

struct Module : plugin::Object {
  explicit Module(const plugin::Loadable &artifacts);
  QdbEntry *entry(const Call &call, std::string_view symbol);

  std::unordered_map<std::string, Program> entries;  // an entry is a Program; the map keeps addresses stable
};

struct Stream : plugin::Object {
  void sync(const Call &) {}  // launches are synchronous
  void copy(const Call &call, const QdbCopy &c);
  void fill(const Call &call, const QdbFill &f);
  void launch(const Call &call, const QdbLaunch *launches, uint32_t stride, uint32_t n);

  Machine machine;  // kept for its memory
};

struct Device : plugin::Object {
  void sync(const Call &) {}
  Blob target(const Call &call, uint32_t level);
  std::unique_ptr<Module> load(const Call &call, const plugin::Loadable &artifacts);
  std::unique_ptr<Mem> alloc(const Call &call, uint64_t size);
  std::unique_ptr<Stream> stream(const Call &call);
};

struct Instance : plugin::Object {
  Instance(const plugin::Host &, const plugin::Options &) {}
  void caps(QdbCaps &out);
  uint32_t device_count(const Call &) { return 1; }
  void device_info(const Call &call, uint32_t index, QdbDeviceInfo &out);
  std::unique_ptr<Device> open(const Call &call, uint32_t index);
  Artifact compile(const Call &call, const plugin::Request &request);
  Artifact finish(const Call &call, std::string_view target, const QdbArtifact &artifact);
  const void *extension(std::string_view, uint32_t) { return nullptr; }
  void quiesce(uint32_t) {}
};

}  // namespace qd::reference

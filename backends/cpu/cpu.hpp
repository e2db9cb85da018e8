// cpu.hpp: the classes that the plugin's table is made of (qd/plugin.hpp). Device memory is host memory; launches are
// synchronous.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cpu/codegen_abi.h"
#include "backends/cpu/loader.hpp"
#include "backends/cpu/pool.hpp"
#include "qd/plugin.hpp"

namespace qd::cpu {

using plugin::Call;

// A task ready to run: what a QdbEntry is.
struct Entry {
  QdxCpuTask run;
  const QdxCpuMeta *meta;
};

class Mem : public plugin::Object {
 public:
  explicit Mem(uint64_t size);  // throws bad_alloc
  ~Mem();
  void info(QdbMemInfo &) const;
  char *data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  char *data_ = nullptr;
  uint64_t size_, mapped_ = 0;  // mapped_: 0 when the block is of the heap
};

class Module : public plugin::Object {
 public:
  explicit Module(const plugin::Loadable &);  // throws E_ARTIFACT
  QdbEntry *entry(const Call &, std::string_view symbol);

 private:
  std::unique_ptr<Image> image_;
  std::unordered_map<std::string, Entry> entries_;
};

class Stream : public plugin::Object {
 public:
  explicit Stream(Pool &pool) : pool_(pool) {}
  void sync(const Call &) {}
  void copy(const Call &, const QdbCopy &);
  void fill(const Call &, const QdbFill &);
  void launch(const Call &, const QdbLaunch *, uint32_t stride, uint32_t n);

 private:
  Pool &pool_;
};

class Device : public plugin::Object {
 public:
  explicit Device(Pool &pool) : pool_(pool) {}
  void sync(const Call &) {}
  plugin::Blob target(const Call &, uint32_t level);
  std::unique_ptr<Module> load(const Call &, const plugin::Loadable &artifacts) {
    return std::make_unique<Module>(artifacts);
  }
  std::unique_ptr<Mem> alloc(const Call &, uint64_t size) { return std::make_unique<Mem>(size); }
  std::unique_ptr<Stream> stream(const Call &) { return std::make_unique<Stream>(pool_); }

 private:
  Pool &pool_;
};

class Instance : public plugin::Object {
 public:
  Instance(const plugin::Host &, const plugin::Options &);
  void caps(QdbCaps &) const;
  uint32_t device_count(const Call &) const { return 1; }
  void device_info(const Call &, uint32_t index, QdbDeviceInfo &) const;
  std::unique_ptr<Device> open(const Call &, uint32_t) { return std::make_unique<Device>(pool_); }
  plugin::Artifact compile(const Call &, const plugin::Request &);
  plugin::Artifact finish(const Call &, std::string_view, const QdbArtifact &);
  const void *extension(std::string_view, uint32_t) const { return nullptr; }
  void quiesce(uint32_t why);

 private:
  Pool pool_;
};

struct Backend {
  using Instance = cpu::Instance;
  using Device = cpu::Device;
  using Module = cpu::Module;
  using Mem = cpu::Mem;
  using Stream = cpu::Stream;
};

// The code generator beside this object, opened by the first caller. Throws E_NO_CODEGEN with the package to install.
const QdxCpuCodegen &code_generator();

}  // namespace qd::cpu

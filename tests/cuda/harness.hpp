// harness.hpp: the cuda plugin over the fake driver, driven by the smallest host (tests/support/plugin_host.hpp).
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <map>

#include "core/ir/ir.hpp"
#include "qd/plugin_pack.hpp"
#include "tests/cuda/fake_driver.hpp"
#include "tests/support/plugin_host.hpp"

namespace qd::test {

inline FakeDriver &fake() {
  static FakeDriver *driver = [] {
    void *library = dlopen(std::getenv("QD_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return reinterpret_cast<FakeDriverFn>(dlsym(library, "fake_driver"))();
  }();
  return *driver;
}

using OptionList = std::vector<std::pair<std::string, std::string>>;

struct Cuda : Backend {
  Cuda() : Backend(QD_CUDA_PATH) { fake().reset(); }

  std::string other_target;  // to compile for; empty: the device's

  std::string target(uint32_t level) {
    QdbBlob *blob = nullptr;
    check(t->target_of_device(device, level, &blob, &err));
    std::string bytes(blob->data, blob->size);
    host_table()->blob_release(&state, blob);
    return bytes;
  }

  std::string take(QdbArtifactOut &out) {
    std::string bytes(out.blob->data, out.blob->size);
    host_table()->blob_release(&state, out.blob);
    return bytes;
  }

  // The portable artifact of tasks named t0, t1, ...
  QdbStatus compile(const std::vector<std::string> &texts, const OptionList &options, std::string &artifact) {
    std::vector<std::string> units, names;
    for (const auto &text : texts)
      units.push_back(ir::to_wire(ir::parse(text))), names.push_back("t" + std::to_string(names.size()));
    std::vector<QdbTask> tasks;
    for (size_t k = 0; k < units.size(); k++)
      tasks.push_back({{units[k].data(), units[k].size()}, str(names[k]), str(names[k])});
    std::vector<QdbOption> rows;
    for (const auto &[name, value] : options) rows.push_back({str(name), str(value)});
    const std::string bytes = other_target.empty() ? target(1) : other_target;
    QdbCompileReq req{};
    req.struct_size = sizeof req, req.unit = QDB_UNIT_KERNEL;
    req.tasks = tasks.data(), req.n_tasks = uint32_t(tasks.size()), req.task_stride = sizeof(QdbTask);
    req.options = rows.data(), req.n_options = uint32_t(rows.size()), req.option_stride = sizeof(QdbOption);
    req.target = {bytes.data(), bytes.size()};
    QdbArtifactOut out{};
    out.struct_size = sizeof out;
    const QdbStatus status = t->compile(instance, &req, &out, &err);
    if (status >= 0) artifact = take(out);
    return status;
  }

  QdbStatus finish(const std::string &portable, std::string &native, const char *kind = "ptx") {
    const std::string bytes = target(2);
    const QdbBytes level2{bytes.data(), bytes.size()};
    const QdbArtifact in{str(kind), {portable.data(), portable.size()}};
    QdbArtifactOut out{};
    out.struct_size = sizeof out;
    const QdbStatus status = t->finish(instance, &level2, &in, &out, &err);
    if (status >= 0) native = take(out);
    return status;
  }

  QdbStatus load_native(const std::string &native, QdbModule *&module) {
    const QdbArtifact a{str("cubin"), {native.data(), native.size()}};
    const QdbStatus status = t->module_load(device, &a, sizeof a, 1, &module, &err);
    if (status >= 0) modules.push_back(module);
    return status;
  }

  std::string ptx_of(const std::string &text, const OptionList &options = {}) {
    std::string artifact;
    check(compile({text}, options, artifact));
    const auto objects = plugin::unpack_objects(artifact);
    std::string ptx(objects.at(0).bytes);
    if (ptx.empty() || ptx.back() != 0) throw std::runtime_error("PTX does not end with a zero");
    ptx.pop_back();
    return ptx;
  }

  // Entries of the tasks, loaded.
  std::vector<QdbEntry *> entries(const std::vector<std::string> &texts) {
    std::string artifact, native;
    check(compile(texts, {}, artifact));
    check(finish(artifact, native));
    QdbModule *module = nullptr;
    check(load_native(native, module));
    std::vector<QdbEntry *> out;
    for (size_t k = 0; k < texts.size(); k++) {
      const std::string name = "t" + std::to_string(k);
      const QdbStr symbol = str(name);
      out.emplace_back();
      check(t->module_entry(module, &symbol, &out.back(), &err));
    }
    return out;
  }
};

struct Launches {
  explicit Launches(Cuda &cuda) : c(cuda) {}
  Cuda &c;
  std::vector<QdbLaunch> list;
  std::vector<std::vector<uint64_t>> blocks;
  void add(QdbEntry *e, std::vector<uint64_t> args, int64_t begin, int64_t end, uint32_t flags = 0) {
    std::vector<uint64_t> words = {0, 0, 0, uint64_t(list.size())};
    words.insert(words.end(), args.begin(), args.end());
    const uint64_t bytes = 8 * words.size();
    words.resize(std::max<size_t>(words.size(), fake_words));  // the fake driver reads so many
    blocks.push_back(words);
    list.push_back({e, nullptr, bytes, begin, end, uint32_t(list.size()), flags});
  }
  QdbStatus run() {
    for (size_t k = 0; k < list.size(); k++) list[k].args = blocks[k].data();
    return c.t->launch(c.stream, list.data(), sizeof(QdbLaunch), uint32_t(list.size()), &c.err);
  }
};

}  // namespace qd::test

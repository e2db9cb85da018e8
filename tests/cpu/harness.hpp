// harness.hpp: compiles IR text with the cpu plugin and runs it on arrays of the test. Builds on
// tests/support/plugin_host.hpp.
#pragma once
#include <map>

#include "core/ir/ir.hpp"
#include "tests/support/plugin_host.hpp"

namespace qd::test {

struct Options {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<QdbOption> raw() const {
    std::vector<QdbOption> out;
    for (const auto &[name, value] : values) out.push_back({str(name), str(value)});
    return out;
  }
};
inline const Options precise{{{"fast_math", "0"}}};

struct Cpu : Backend {
  Cpu() : Backend(QD_CPU_PATH) {}

  // Artifact bytes of one kernel unit whose tasks are `units`, named task0, task1, ...
  std::string artifact(const std::vector<std::string> &units, const Options &options = {}, uint32_t flags = 0) {
    std::vector<std::string> names;
    for (size_t k = 0; k < units.size(); k++) names.push_back("task" + std::to_string(k));
    std::vector<QdbTask> tasks;
    for (size_t k = 0; k < units.size(); k++)
      tasks.push_back({{units[k].data(), units[k].size()}, str(names[k]), str(names[k])});
    const auto raw = options.raw();
    QdbCompileReq req{};
    req.struct_size = sizeof req, req.unit = QDB_UNIT_KERNEL, req.tasks = tasks.data(),
    req.n_tasks = uint32_t(tasks.size());
    req.task_stride = sizeof(QdbTask), req.options = raw.data(), req.n_options = uint32_t(raw.size()),
    req.option_stride = sizeof(QdbOption);
    req.flags = flags;
    QdbBlob *target = nullptr;
    check(t->target_of_device(device, 1, &target, &err));
    req.target = {target->data, target->size};
    QdbArtifactOut out{};
    out.struct_size = sizeof out;
    const QdbStatus status = t->compile(instance, &req, &out, &err);
    host_table()->blob_release(&state, target);
    check(status);
    std::string bytes(out.blob->data, out.blob->size);
    host_table()->blob_release(&state, out.blob);
    return bytes;
  }
  QdbStatus load_bytes(const std::string &bytes, QdbModule *&module) {
    const QdbArtifact a{str("elf"), {bytes.data(), bytes.size()}};
    return t->module_load(device, &a, sizeof a, 1, &module, &err);
  }
  QdbEntry *entry_of(const std::string &bytes, const std::string &name = "task0") {
    QdbModule *module = nullptr;
    check(load_bytes(bytes, module));
    modules.push_back(module);
    QdbEntry *entry = nullptr;
    const QdbStr n = str(name);
    check(t->module_entry(module, &n, &entry, &err));
    return entry;
  }
  QdbEntry *text(const std::string &ir, const Options &options = {}) {
    return entry_of(artifact({ir::to_wire(ir::parse(ir))}, options));
  }
  void run(QdbEntry *entry, const std::vector<uint64_t> &args, int64_t end, int64_t begin = 0) {
    check(launch(entry, args, begin, end));
  }
};

template <class T>
uint64_t word(const T *p) {
  return reinterpret_cast<uintptr_t>(p);
}
template <class T>
uint64_t bits(T v) {
  uint64_t w = 0;
  std::memcpy(&w, &v, sizeof v);
  return w;
}

}  // namespace qd::test

// module.cpp: modules and entries. An entry knows its task when this process compiled the artifact; one from a cache of
// another process is launched with fewer checks.
#include "backends/checked/checked.hpp"
#include "backends/checked/functions.hpp"

namespace qd::checked {

QdbStatus QDB_CALL module_load(QdbDevice *h, const QdbArtifact *artifacts, uint32_t stride, uint32_t n, QdbModule **out,
                               QdbErr *slot) noexcept {
  return on<Device>(h, "module_load", slot, [&](auto &self, const Frame &f) {
    qd_count_add(&f.instance.counts.load_calls, 1);
    required(out, "module", f.function);
    check_array(artifacts, stride, n, "artifacts", f.function);
    auto made = std::make_shared<Module>();
    for (uint32_t i = 0; i < n; i++) {
      const QdbArtifact &a = plugin::at(artifacts, stride, i);
      check_text(a.kind, "kind", f.element(i));
      if (a.bytes.len) required(a.bytes.ptr, "bytes", f.element(i));
      const std::string_view bytes = plugin::view(a.bytes);
      const std::pair<uint64_t, uint64_t> key{std::hash<std::string_view>()(bytes), bytes.size()};
      std::lock_guard<std::mutex> lock(tables().mutex);
      const auto known = tables().artifacts.find(key);
      if (known != tables().artifacts.end()) made->tasks.insert(known->second.begin(), known->second.end());
    }
    QdbModule *inner = nullptr;
    forward(f, [&](QdbErr *s) { return f.t().module_load(self->inner(), artifacts, stride, n, &inner, s); });
    *out = static_cast<QdbModule *>(make(std::move(made), self.shared(), inner, f.function));
  });
}

void QDB_CALL module_unload(QdbModule *h) noexcept {
  destroying<Module>(h, "module_unload", [](Module &self, const Frame &f) {
    {
      std::lock_guard<std::mutex> lock(tables().mutex);
      for (const auto &[symbol, entry] : self.entries) tables().live.erase(reinterpret_cast<uintptr_t>(entry));
    }
    f.t().module_unload(self.inner());
  });
}

QdbStatus QDB_CALL module_entry(QdbModule *h, const QdbStr *symbol, QdbEntry **out, QdbErr *slot) noexcept {
  return on<Module>(h, "module_entry", slot, [&](auto &self, const Frame &f) {
    required(symbol, "symbol", f.function), required(out, "entry", f.function);
    check_text(*symbol, "symbol", f.function);
    const std::string name(plugin::text(*symbol));
    const auto task = self->tasks.find(name);
    QdbEntry *inner = nullptr;
    try {
      forward(f, [&](QdbErr *s) { return f.t().module_entry(self->inner(), symbol, &inner, s); });
    } catch (const Failure &e) {
      if (e.status == QDB_E_SYMBOL && task != self->tasks.end())
        throw Broken(Violation::missing_symbol, "no \"" + name + "\"", f.function);
      throw;
    }
    {
      std::lock_guard<std::mutex> lock(tables().mutex);
      const auto known = self->entries.find(name);
      if (known != self->entries.end()) {  // asked before: the same handle
        *out = known->second;
        return;
      }
    }
    auto made = std::make_shared<Entry>();
    made->symbol = name;
    if (task != self->tasks.end()) made->task = task->second;
    *out = static_cast<QdbEntry *>(make(std::move(made), self.shared(), inner, f.function));
    std::lock_guard<std::mutex> lock(tables().mutex);
    self->entries.emplace(name, *out);
  });
}

}  // namespace qd::checked

// module.cpp: artifacts to entries. An artifact packs one ELF object a task; every task brings the description that the
// launcher needs. All are loaded into one mapping.
#include "backends/cpu/cpu.hpp"

namespace qd::cpu {

using plugin::Failure;

Module::Module(const plugin::Loadable &artifacts) {
  std::vector<plugin::PackedObject> packed;
  std::vector<std::string_view> objects;
  for (uint32_t i = 0; i < artifacts.n; i++) {
    if (plugin::text(artifacts[i].kind) != "elf")
      throw Failure(QDB_E_ARTIFACT,
                    "expected an artifact of kind elf, found " + std::string(plugin::text(artifacts[i].kind)));
    for (const auto &o : plugin::unpack_objects(plugin::view(artifacts[i].bytes)))
      packed.push_back(o), objects.push_back(o.bytes);
  }
  std::string error;
  image_ = Image::load(objects, error);
  if (!image_) throw Failure(QDB_E_ARTIFACT, error);
  for (const auto &o : packed) {
    const std::string symbol(o.symbol);
    const void *run = image_->symbol(symbol), *meta = image_->symbol(symbol + ".meta", sizeof(QdxCpuMeta));
    if (!run || !meta) throw Failure(QDB_E_ARTIFACT, "an object without the task " + symbol);
    const Entry e{reinterpret_cast<QdxCpuTask>(const_cast<void *>(run)), static_cast<const QdxCpuMeta *>(meta)};
    if (e.meta->version != QDX_CPU_CODEGEN_VERSION || e.meta->n_partials > QDX_CPU_MAX_PARTIALS || !e.meta->cost)
      throw Failure(QDB_E_ARTIFACT, "task " + symbol + " was made by another version of the code generator");
    entries_.emplace(symbol, e);
  }
}

QdbEntry *Module::entry(const Call &, std::string_view symbol) {
  const auto it = entries_.find(std::string(symbol));
  if (it == entries_.end()) throw Failure(QDB_E_SYMBOL, "no task " + std::string(symbol) + " in this module");
  return reinterpret_cast<QdbEntry *>(&it->second);
}

}  // namespace qd::cpu

// module.cpp: artifacts become programs. The units are verified again: a cache may have damaged them.
#include "backends/reference/reference.hpp"

namespace qd::reference {

Module::Module(const plugin::Loadable &artifacts) {
  for (uint32_t i = 0; i < artifacts.n; i++) {
    if (plugin::text(artifacts[i].kind) != "ir") throw Failure(QDB_E_ARTIFACT, "expected an artifact of kind \"ir\"");
    for (const plugin::PackedObject &object : plugin::unpack_objects(plugin::view(artifacts[i].bytes))) {
      view::View unit;
      view::Fault fault;
      if (!unit.read(object.bytes.data(), object.bytes.size(), fault)) throw Failure(QDB_E_ARTIFACT, "damaged artifact: " + fault.message);
      entries[std::string(object.symbol)] = decode(unit);
    }
  }
}

std::unique_ptr<Module> Device::load(const Call &, const plugin::Loadable &artifacts) { return std::make_unique<Module>(artifacts); }

QdbEntry *Module::entry(const Call &, std::string_view symbol) {
  const auto found = entries.find(std::string(symbol));
  if (found == entries.end()) throw Failure(QDB_E_SYMBOL, "the module has no entry \"" + std::string(symbol) + "\"");
  return reinterpret_cast<QdbEntry *>(&found->second);
}

}  // namespace qd::reference

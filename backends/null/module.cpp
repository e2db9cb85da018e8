// module.cpp: artifacts become entries. Anything wrong with an artifact is QDB_E_ARTIFACT: the host compiles again.
#include "backends/null/null.hpp"
#include "qd/ir_view.hpp"

namespace qd::null {

Module::Module(const Call &, const plugin::Loadable &artifacts) {
  for (uint32_t i = 0; i < artifacts.n; i++) {
    if (plugin::text(artifacts[i].kind) != "ir") throw Failure(QDB_E_ARTIFACT, "expected an artifact of kind \"ir\"");
    for (const plugin::PackedObject &object : plugin::unpack_objects(plugin::view(artifacts[i].bytes))) {
      view::View unit;
      view::Fault fault;
      if (!unit.read(object.bytes.data(), object.bytes.size(), fault)) throw Failure(QDB_E_ARTIFACT, "damaged artifact: " + fault.message);
      entries[std::string(object.symbol)] = Entry{unit.arg_words()};
    }
  }
}

std::unique_ptr<Module> Device::load(const Call &call, const plugin::Loadable &artifacts) {
  return std::make_unique<Module>(call, artifacts);
}

QdbEntry *Module::entry(const Call &, std::string_view symbol) {
  const auto found = entries.find(std::string(symbol));
  if (found == entries.end()) throw Failure(QDB_E_SYMBOL, "the module has no entry \"" + std::string(symbol) + "\"");
  return reinterpret_cast<QdbEntry *>(&found->second);
}

}  // namespace qd::null

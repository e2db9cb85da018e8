// module.cpp: artifacts to entries. An artifact packs two objects a task: its code and its description. Each task's
// code is a module of the driver; a kernel is composed of them by name, so editing one task loads one module.
#include "backends/cuda/cuda.hpp"

namespace qd::cuda {

using plugin::Failure;

Code::Code(Device &device, std::string_view cubin, std::string function)
    : device_(device), function_(std::move(function)) {
  const Driver &d = device.driver();
  const Current current(d, device.primary().context);
  const CUresult r = d.cuModuleLoadData(&module_, cubin.data());
  if (!r) return;
  // Whatever is wrong with stored code: it is made again. Only a lost device or missing memory is no fault of the code.
  const QdbStatus status = status_of(r);
  if (status == QDB_E_DEVICE_LOST || status == QDB_E_DEVICE_MEMORY) fail(d, r, "cuModuleLoadData");
  Failure f(QDB_E_ARTIFACT, "the driver refuses stored code: cuModuleLoadData answered " + std::to_string(r));
  f.domain = "cuda", f.native = r;
  throw f;
}

Code::~Code() {
  try {
    const Current current(device_.driver(), device_.primary().context);
    device_.drain();  // a launch may still run it
    device_.driver().cuModuleUnload(module_);
  } catch (const Failure &) {  // the driver is beyond answering
  }
}

Module::~Module() {
  try {
    const Current current(device_.driver(), device_.primary().context);
    for (const auto &[symbol, entry] : entries_) device_.forget(&entry);
  } catch (const Failure &) {  // the driver is beyond answering
  }
}

Module::Module(Device &device, const plugin::Loadable &artifacts) : device_(device) {
  for (uint32_t i = 0; i < artifacts.n; i++) {
    if (plugin::text(artifacts[i].kind) != "cubin")
      throw Failure(QDB_E_ARTIFACT,
                    "expected an artifact of kind cubin, found " + std::string(plugin::text(artifacts[i].kind)));
    const auto objects = plugin::unpack_objects(plugin::view(artifacts[i].bytes));
    for (size_t k = 0; k + 1 < objects.size(); k += 2) {
      const auto &code = objects[k], &meta = objects[k + 1];
      if (meta.symbol != std::string(code.symbol) + ".meta" || meta.bytes.size() != sizeof(QdxCudaMeta) ||
          code.bytes.empty())
        throw Failure(QDB_E_ARTIFACT, "damaged artifact: task " + std::string(code.symbol) + " has no description");
      Entry &e = entries_[std::string(code.symbol)];
      std::memcpy(&e.meta, meta.bytes.data(), sizeof e.meta);
      if (e.meta.version != QDX_CUDA_CODEGEN_VERSION || e.meta.block > device.primary().max_block || !e.meta.batch)
        throw Failure(QDB_E_ARTIFACT, "task " + std::string(code.symbol) + " was made by another version");
      e.symbol = code.symbol;
      e.code = device.code(code.symbol, code.bytes);
    }
  }
}

QdbEntry *Module::entry(const Call &, std::string_view symbol) {
  const auto it = entries_.find(std::string(symbol));
  if (it == entries_.end()) throw Failure(QDB_E_SYMBOL, "no task " + std::string(symbol) + " in this module");
  return reinterpret_cast<QdbEntry *>(&it->second);
}

}  // namespace qd::cuda

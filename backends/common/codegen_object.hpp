// codegen_object.hpp: a plugin's code generator is an object of its own, so that a process that finds all its code in a
// cache never maps LLVM, and a machine that only runs shipped code does not need it at all. For plugins whose table of
// the code generator has `struct_size`, `version` and, last, `compile`.
#pragma once
#include <dlfcn.h>

#include <mutex>
#include <string>

#include "backends/common/codegen_request.hpp"

namespace qd::backends {

struct CodegenName {
  const char *backend;  // file libqd_<backend>_codegen.so beside the plugin, package quadrants-<backend>-codegen
  const char *symbol;   // of the function that gives the table
  uint32_t version;     // of the interface
};

// `inside`: an address in the plugin.
inline std::string beside(const void *inside, const std::string &file) {
  Dl_info here{};
  if (!dladdr(inside, &here) || !here.dli_fname) return file;
  const std::string path = here.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "./" + file : path.substr(0, slash + 1) + file;
}

// Opened by the first caller and never closed, like the plugin. Throws E_NO_CODEGEN with the package to install.
template <class Table>
const Table &code_generator(const CodegenName &name) {
  static std::mutex mutex;
  static const Table *table = nullptr;
  const std::lock_guard lock(mutex);
  if (table) return *table;
  const std::string backend = name.backend, package = "quadrants-" + backend + "-codegen";
  const std::string path =
      beside(reinterpret_cast<const void *>(&code_generator<Table>), "libqd_" + backend + "_codegen.so");
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    throw plugin::Failure(QDB_E_NO_CODEGEN, "this kernel is in no cache, and the code generator of the " + backend +
                                                " backend cannot be opened: " + std::string(why ? why : path) +
                                                ". Install the package " + package);
  }
  const auto get = reinterpret_cast<const Table *(QDB_CALL *)(void)>(dlsym(handle, name.symbol));
  const Table *found = get ? get() : nullptr;
  if (!found || found->version != name.version || !QDB_HAS(found, Table, compile))
    throw plugin::Failure(QDB_E_NO_CODEGEN, path + " speaks version " + std::to_string(found ? found->version : 0) +
                                                " of the interface, expected " + std::to_string(name.version) +
                                                ": install " + package + " of the same release");
  return *(table = found);
}

// `compile(request, out)` calls the table's. The artifact's bytes.
template <class Compile>
plugin::Blob generate(const plugin::Call &call, const plugin::Request &r, Compile compile) {
  QdbArtifactOut out{};
  out.struct_size = sizeof out;
  const QdbCompileReq request = to_raw(r);
  if (const QdbStatus status = compile(&request, &out); status < 0) {
    plugin::Failure failure(status, "the code generator failed");
    failure.reported = true;
    throw failure;
  }
  return call.host.adopt(out.blob);
}

}  // namespace qd::backends

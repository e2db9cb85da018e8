// codegen.cpp: the way to the code generator. It is an object of its own, so that a process that finds all its code in
// a cache never maps LLVM, and a machine that only runs shipped code does not need it at all.
#include <dlfcn.h>

#include <mutex>

#include "backends/cpu/cpu.hpp"

namespace qd::cpu {
namespace {

using plugin::Failure;

constexpr const char *file_name = "libqd_cpu_codegen.so";

std::string beside_this_object() {
  Dl_info here{};
  if (!dladdr(reinterpret_cast<const void *>(&code_generator), &here) || !here.dli_fname) return file_name;
  const std::string path = here.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string("./") + file_name : path.substr(0, slash + 1) + file_name;
}

}  // namespace

const QdxCpuCodegen &code_generator() {
  static std::mutex mutex;
  static const QdxCpuCodegen *table = nullptr;  // of the process: never closed, like this object
  std::lock_guard lock(mutex);
  if (table) return *table;
  const std::string path = beside_this_object();
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    throw Failure(QDB_E_NO_CODEGEN,
                  "this kernel is in no cache, and the code generator of the cpu backend cannot be opened: " +
                      std::string(why ? why : path) + ". Install the package quadrants-cpu-codegen");
  }
  const auto get = reinterpret_cast<QdxCpuCodegenFn>(dlsym(handle, QDX_CPU_CODEGEN_SYMBOL));
  const QdxCpuCodegen *found = get ? get() : nullptr;
  if (!found || found->version != QDX_CPU_CODEGEN_VERSION || !QDB_HAS(found, QdxCpuCodegen, compile))
    throw Failure(QDB_E_NO_CODEGEN, path + " speaks version " + std::to_string(found ? found->version : 0) +
                                        " of the interface, expected " + std::to_string(QDX_CPU_CODEGEN_VERSION) +
                                        ": install quadrants-cpu-codegen of the same release");
  return *(table = found);
}

plugin::Artifact Instance::compile(const Call &call, const plugin::Request &r) {
  QdbArtifactOut out{};
  out.struct_size = sizeof out;
  QdbCompileReq request{};
  request.struct_size = sizeof request;
  request.unit = r.unit;
  request.tasks = r.tasks, request.n_tasks = r.n_tasks, request.task_stride = r.task_stride;
  request.target = plugin::bytes(r.target);
  request.options = r.options.data(), request.n_options = r.options.count(), request.option_stride = r.options.stride();
  request.flags = r.flags;
  const QdbStatus status = code_generator().compile(call.host.table(), call.host.context(), &request, &out, call.slot);
  if (status < 0) {
    Failure failure(status, "the code generator failed");
    failure.reported = true;
    throw failure;
  }
  return {"elf", call.host.adopt(out.blob)};
}

plugin::Artifact Instance::finish(const Call &, std::string_view, const QdbArtifact &) {
  throw Failure(QDB_E_UNSUPPORTED, "code of the cpu backend needs no finishing");
}

}  // namespace qd::cpu

// codegen.cpp: the way to code. PTX comes from the code generator, an object of its own that only a miss in the cache
// opens. Cubins come from the driver's linker, which, unlike loading PTX, works side by side on any number of threads
// and gives back what it made.
#include <dlfcn.h>

#include "backends/cuda/cuda.hpp"
#include "backends/cuda/nonce.hpp"

namespace qd::cuda {
namespace {

using plugin::Failure;

constexpr const char *file_name = "libqd_cuda_codegen.so";

std::string beside_this_object() {
  Dl_info here{};
  if (!dladdr(reinterpret_cast<const void *>(&code_generator), &here) || !here.dli_fname) return file_name;
  const std::string path = here.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string("./") + file_name : path.substr(0, slash + 1) + file_name;
}

struct Link {
  const Driver &driver;
  CUlinkState state = nullptr;
  ~Link() {
    if (state) driver.cuLinkDestroy(state);
  }
};

// Text that the driver refuses is QDB_E_ARTIFACT: it is generated again. With the assembler's own words.
std::string assemble(const Driver &d, std::string_view symbol, std::string_view ptx) {
  char log[4096] = {};
  int options[] = {jit_error_log, jit_error_log_bytes};
  void *values[] = {log, reinterpret_cast<void *>(uintptr_t(sizeof log - 1))};
  Link link{d};
  const auto check = [&](CUresult r, const char *function) {
    if (!r) return;
    const std::string said = log[0] ? std::string(": ") + log : std::string();
    fail(d, r, function + said, std::string(symbol));
  };
  check(d.cuLinkCreate(2, options, values, &link.state), "cuLinkCreate");
  const std::string name(symbol);
  check(d.cuLinkAddData(link.state, jit_input_ptx, const_cast<char *>(ptx.data()), ptx.size(), name.c_str(), 0, nullptr,
                        nullptr),
        "cuLinkAddData");
  void *cubin = nullptr;
  size_t size = 0;
  check(d.cuLinkComplete(link.state, &cubin, &size), "cuLinkComplete");
  return {static_cast<const char *>(cubin), size};
}

// QUADRANTS_LOAD_PTX: the user's text in place of a task's. The host answers only then.
plugin::Blob with_replacements(const Call &call, const plugin::Request &r, plugin::Blob made) {
  std::vector<std::string> texts(r.n_tasks);
  bool any = false;
  for (uint32_t i = 0; i < r.n_tasks; i++) {
    const plugin::Blob theirs = call.host.dump_override("ptx", plugin::text(r.task(i).name));
    if (!theirs) continue;
    texts[i] = std::string(theirs.view()) + '\0';
    any = true;
  }
  if (!any) return made;
  auto objects = plugin::unpack_objects(made.view());
  for (uint32_t i = 0; i < r.n_tasks; i++)
    for (auto &object : objects)
      if (!texts[i].empty() && object.symbol == plugin::text(r.task(i).symbol)) object.bytes = texts[i];
  return plugin::pack_objects(call.host, objects);
}

}  // namespace

const QdxCudaCodegen &code_generator() {
  static std::mutex mutex;
  static const QdxCudaCodegen *table = nullptr;  // of the process: never closed, like this object
  const std::lock_guard lock(mutex);
  if (table) return *table;
  const std::string path = beside_this_object();
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    throw Failure(QDB_E_NO_CODEGEN,
                  "this kernel is in no cache, and the code generator of the cuda backend cannot be opened: " +
                      std::string(why ? why : path) + ". Install the package quadrants-cuda-codegen");
  }
  const auto get = reinterpret_cast<QdxCudaCodegenFn>(dlsym(handle, QDX_CUDA_CODEGEN_SYMBOL));
  const QdxCudaCodegen *found = get ? get() : nullptr;
  if (!found || found->version != QDX_CUDA_CODEGEN_VERSION || !QDB_HAS(found, QdxCudaCodegen, compile))
    throw Failure(QDB_E_NO_CODEGEN, path + " speaks version " + std::to_string(found ? found->version : 0) +
                                        " of the interface, expected " + std::to_string(QDX_CUDA_CODEGEN_VERSION) +
                                        ": install quadrants-cuda-codegen of the same release");
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
  const QdbStr tail = r.options.integer("offline_cache", 1) ? QdbStr{} : plugin::str(nonce_line());
  const QdbStatus status =
      code_generator().compile(call.host.table(), call.host.context(), &request, &tail, &out, call.slot);
  if (status < 0) {
    Failure failure(status, "the code generator failed");
    failure.reported = true;
    throw failure;
  }
  return {"ptx", with_replacements(call, r, call.host.adopt(out.blob))};
}

plugin::Artifact Instance::finish(const Call &call, std::string_view, const QdbArtifact &artifact) {
  if (plugin::text(artifact.kind) != "ptx")
    throw Failure(QDB_E_ARTIFACT,
                  "expected an artifact of kind ptx, found " + std::string(plugin::text(artifact.kind)));
  auto objects = plugin::unpack_objects(plugin::view(artifact.bytes));
  const Primary &primary = primary_of(opened_.load(std::memory_order_relaxed));
  std::vector<std::string> cubins(objects.size() / 2);
  call.host.parallel_for(cubins.size(), 1, [&](uint64_t begin, uint64_t end, uint32_t) {
    const Current current(*primary.driver, primary.context);
    for (uint64_t k = begin; k < end; k++) {
      call.poll();
      const auto &ptx = objects[2 * k];
      if (ptx.bytes.empty() || ptx.bytes.back() != 0)
        throw Failure(QDB_E_ARTIFACT, "damaged artifact: the PTX of " + std::string(ptx.symbol) + " has no end");
      cubins[k] = assemble(*primary.driver, ptx.symbol, ptx.bytes);
    }
  });
  for (size_t k = 0; k < cubins.size(); k++) objects[2 * k].bytes = cubins[k];
  return {"cubin", plugin::pack_objects(call.host, objects)};
}

}  // namespace qd::cuda

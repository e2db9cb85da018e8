// codegen.cpp: the way to code. PTX comes from the code generator, an object of its own that only a miss in the cache
// opens. Cubins come from the driver's linker, which, unlike loading PTX, works side by side on any number of threads
// and gives back what it made.
#include "backends/common/codegen_object.hpp"
#include "backends/cuda/cuda.hpp"
#include "backends/cuda/early_launch.hpp"
#include "backends/cuda/nonce.hpp"

namespace qd::cuda {
namespace {

using plugin::Failure;

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

// The description of a task, for a text of the user's.
std::string described(std::string_view bytes, std::string_view ptx) {
  QdxCudaMeta meta;
  std::memcpy(&meta, bytes.data(), sizeof meta);
  meta.early = waits_first(ptx);
  return {reinterpret_cast<const char *>(&meta), sizeof meta};
}

// QUADRANTS_LOAD_PTX: the user's text in place of a task's. The host answers only then.
plugin::Blob with_replacements(const Call &call, const plugin::Request &r, plugin::Blob made) {
  std::vector<std::string> texts(r.n_tasks), metas(r.n_tasks);
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
    for (size_t k = 0; k + 1 < objects.size(); k += 2)
      if (!texts[i].empty() && objects[k].symbol == plugin::text(r.task(i).symbol))
        objects[k].bytes = texts[i], objects[k + 1].bytes = metas[i] = described(objects[k + 1].bytes, texts[i]);
  return plugin::pack_objects(call.host, objects);
}

}  // namespace

const QdxCudaCodegen &code_generator() {
  return backends::code_generator<QdxCudaCodegen>({"cuda", QDX_CUDA_CODEGEN_SYMBOL, QDX_CUDA_CODEGEN_VERSION});
}

plugin::Artifact Instance::compile(const Call &call, const plugin::Request &r) {
  const QdbStr tail = r.options.integer("offline_cache", 1) ? QdbStr{} : plugin::str(nonce_line());
  auto made = backends::generate(call, r, [&](const QdbCompileReq *request, QdbArtifactOut *out) {
    return code_generator().compile(call.host.table(), call.host.context(), request, &tail, out, call.slot);
  });
  return {"ptx", with_replacements(call, r, std::move(made))};
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

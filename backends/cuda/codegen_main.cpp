// codegen_main.cpp: the code generator object, libqd_cuda_codegen.so: units in, PTX out, LLVM inside and hidden. It
// knows nothing of drivers and devices. Tasks compile side by side on the host's threads; each thread keeps one
// TargetMachine.
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>
#include <mutex>

#include "backends/common/codegen_request.hpp"
#include "backends/common/llvm_emitter/emitter.hpp"
#include "backends/common/llvm_emitter/pipeline.hpp"
#include "backends/common/llvm_emitter/task_text.hpp"
#include "backends/cuda/assembler_faults.hpp"
#include "backends/cuda/codegen_abi.h"
#include "backends/cuda/device_math.hpp"
#include "backends/cuda/early_launch.hpp"
#include "backends/cuda/task_module.hpp"
#include "qd/plugin.hpp"

extern "C" {
void LLVMInitializeNVPTXTargetInfo(void);
void LLVMInitializeNVPTXTarget(void);
void LLVMInitializeNVPTXTargetMC(void);
void LLVMInitializeNVPTXAsmPrinter(void);
}

namespace qd::cuda {
namespace {

using plugin::Failure;

constexpr const char *triple_name = "nvptx64-nvidia-cuda";

struct Settings {
  uint32_t sm = 0, ptx = 0;
  bool fast_math = true;
  int64_t opt_level = 1;
  bool quick() const { return opt_level <= 0; }
};

std::unique_ptr<llvm::TargetMachine> make_machine(const Settings &s) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo(), LLVMInitializeNVPTXTarget(), LLVMInitializeNVPTXTargetMC(),
        LLVMInitializeNVPTXAsmPrinter();
    llvm_emitter::configure_llvm();
  });
  const llvm::Triple triple(triple_name);
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) throw Failure(QDB_E_COMPILE, "LLVM has no nvptx64 target: " + error);
  llvm::TargetOptions o;
  o.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // the operations' own flags say what may be contracted
  const auto level = s.quick() ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, "sm_" + std::to_string(s.sm), "+ptx" + std::to_string(s.ptx), o, {}, {}, level));
  if (!machine) throw Failure(QDB_E_COMPILE, "LLVM cannot generate code for sm_" + std::to_string(s.sm));
  return machine;
}

llvm::TargetMachine &machine_of(const Settings &s) {
  struct Kept {
    uint32_t sm = 0, ptx = 0;
    bool quick = false;
    std::unique_ptr<llvm::TargetMachine> machine;
  };
  thread_local Kept kept;
  if (!kept.machine || kept.sm != s.sm || kept.ptx != s.ptx || kept.quick != s.quick())
    kept = {s.sm, s.ptx, s.quick(), make_machine(s)};
  return *kept.machine;
}

struct TaskCompile {
  const plugin::Host &host;
  const plugin::Request &request;
  const Settings &settings;
  std::string_view tail, name, symbol;

  std::string run(const QdbTask &task, QdxCudaMeta &meta) const {
    view::View unit;
    view::Fault fault;
    if (!unit.read(task.ir.ptr, task.ir.len, fault)) throw Failure(fault.status, fault.message, std::string(name));
    llvm::LLVMContext context;
    auto m = std::make_unique<llvm::Module>("task", context);
    m->setTargetTriple(llvm::Triple(triple_name));
    m->setDataLayout(machine_of(settings).createDataLayout());
    const auto built =
        build_module(*m, unit, llvm::StringRef(symbol.data(), symbol.size()), settings.sm, settings.fast_math);
    meta = built.meta;
    Settings needed = settings;
    needed.ptx = std::max(needed.ptx, built.ptx);
    auto &machine = machine_of(needed);
    if (request.flags & QDB_COMPILE_DUMP_IR)
      m = llvm_emitter::dump_or_replace(host, std::string(name) + "_before_ptx", name, std::move(m));
    std::string why;
    if (!link_device_math(*m, why)) throw Failure(QDB_E_INTERNAL, "device math: " + why, std::string(name));
#ifndef NDEBUG
    llvm_emitter::verify(*m, name);
#endif
    inline_calls(*m);
    const llvm::TargetLibraryInfoImpl library(machine.getTargetTriple(), llvm::VectorLibrary::NoLibrary);
    llvm_emitter::optimise(*m, machine, library,
                           settings.quick() ? llvm_emitter::Effort::quick : llvm_emitter::Effort::scalar);
    avoid_assembler_faults(*m);
    if (request.flags & QDB_COMPILE_KEEP_ASM) host.dump("llvm_optimised", name, llvm_emitter::text_of(*m));
    llvm::SmallVector<char, 0> text;
    if (!llvm_emitter::emit_file(*m, machine, library, llvm::CodeGenFileType::AssemblyFile, text))
      throw Failure(QDB_E_COMPILE, "LLVM writes no PTX for this target", std::string(name));
    std::string ptx(text.data(), text.size());
    while (!ptx.empty() && ptx.back() == 0) ptx.pop_back();
    meta.early = waits_first(ptx);
    ptx += tail;
    if (request.flags & (QDB_COMPILE_KEEP_ASM | QDB_COMPILE_DUMP_IR)) host.dump("ptx", name, ptx);
    ptx += '\0';  // the driver reads up to it
    return ptx;
  }
};

Settings settings_of(const plugin::Request &r) {
  const auto t = backends::read_target<QdxCudaTarget>(r, QDX_CUDA_TARGET_MAGIC, QDX_CUDA_CODEGEN_VERSION);
  Settings s;
#define TARGET(row_sm, row_ptx) \
  if (row_sm == t.sm) s.sm = row_sm, s.ptx = row_ptx;
#include "backends/cuda/targets.def"
  if (!s.sm) throw Failure(QDB_E_UNSUPPORTED, "compile: this version makes no code for sm_" + std::to_string(t.sm));
  s.fast_math = r.options.integer("fast_math", 1) != 0;
  s.opt_level = r.options.integer("opt_level", 1);
  return s;
}

QdbStatus QDB_CALL compile(const QdbHost *host_table, void *host_ctx, const QdbCompileReq *req, const QdbStr *tail,
                           QdbArtifactOut *out, QdbErr *err) {
  const plugin::Host host(host_table, host_ctx);
  return plugin::guard(host, err, [&](const plugin::Call &call) {
    const plugin::Request request = backends::from_raw(*req);
    const Settings settings = settings_of(request);
    std::vector<std::string> texts(request.n_tasks), names(request.n_tasks);
    std::vector<QdxCudaMeta> metas(request.n_tasks);
    host.parallel_for(request.n_tasks, 1, [&](uint64_t begin, uint64_t end, uint32_t) {
      for (uint64_t k = begin; k < end; k++) {
        call.poll();
        const QdbTask &t = request.task(uint32_t(k));
        const TaskCompile task{
            host, request, settings, plugin::text(*tail), plugin::text(t.name), plugin::text(t.symbol)};
        texts[k] = task.run(t, metas[k]);
      }
    });
    std::vector<plugin::PackedObject> packed;
    for (uint32_t k = 0; k < request.n_tasks; k++) {
      const auto symbol = plugin::text(request.task(k).symbol);
      names[k] = std::string(symbol) + ".meta";
      packed.push_back({symbol, texts[k]});
      packed.push_back({names[k], {reinterpret_cast<const char *>(&metas[k]), sizeof metas[k]}});
    }
    auto blob = plugin::pack_objects(host, packed);
    std::memset(out->kind, 0, sizeof out->kind);
    std::memcpy(out->kind, "ptx", 3);
    out->blob = blob.pass();
  });
}

constexpr QdxCudaCodegen table{sizeof(QdxCudaCodegen), QDX_CUDA_CODEGEN_VERSION, compile};

}  // namespace
}  // namespace qd::cuda

extern "C" QDB_EXPORT const QdxCudaCodegen *QDB_CALL qdx_cuda_codegen(void) { return &qd::cuda::table; }

// codegen_main.cpp: the code generator object, libqd_cpu_codegen.so: units in, ELF objects out, LLVM inside and hidden.
// It knows nothing of devices. Tasks compile side by side on the host's threads; each thread keeps one TargetMachine
// per target.
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
#include "backends/cpu/codegen_abi.h"
#include "backends/cpu/vector_math.hpp"
#include "qd/plugin.hpp"

extern "C" {
void LLVMInitializeX86TargetInfo(void);
void LLVMInitializeX86Target(void);
void LLVMInitializeX86TargetMC(void);
void LLVMInitializeX86AsmPrinter(void);
}

namespace qd::cpu {
namespace {

using plugin::Failure;

struct Settings {
  QdxCpuTarget target;
  bool fast_math;
  int64_t opt_level;
};

bool has_feature(const QdxCpuTarget &t, std::string_view wanted) {
  int row = 0;
  bool found = false;
#define FEATURE(name, llvm) found |= wanted == name && (t.features >> row & 1), row++;
#include "backends/cpu/features.def"
  return found;
}

unsigned vector_bits(const QdxCpuTarget &t) {
  return has_feature(t, "avx512f") && has_feature(t, "avx512vl") && has_feature(t, "avx512dq") ? 512
         : has_feature(t, "avx2")                                                              ? 256
                                                                                               : 128;
}

std::string feature_text(const QdxCpuTarget &t) {
  std::string text;
  int row = 0;
  const auto add = [&](std::string_view f,
                       bool on) {  // what the processor lacks is named too: the model may promise it
    if (!text.empty()) text += ',';
    text += on ? '+' : '-';
    text += f.substr(1);
  };
#define FEATURE(name, llvm) add(llvm, t.features >> row++ & 1);
#include "backends/cpu/features.def"
  return text;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Settings &s) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target(), LLVMInitializeX86TargetMC(),
        LLVMInitializeX86AsmPrinter();
    llvm_emitter::configure_llvm();
  });
  const llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) throw Failure(QDB_E_COMPILE, "LLVM has no x86 target: " + error);
  llvm::TargetOptions o;
  o.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // the operations' own flags say what may be contracted
  const auto level = s.opt_level <= 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  // Position-independent small code: it fits anywhere and reaches outside functions through the loader's slots.
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, s.target.cpu, feature_text(s.target), o, llvm::Reloc::PIC_, {}, level));
  if (!machine)
    throw Failure(QDB_E_COMPILE, std::string("LLVM cannot generate code for the processor ") + s.target.cpu);
  return machine;
}

// Making one takes a third of a millisecond.
llvm::TargetMachine &machine_of(const Settings &s) {
  struct Kept {
    QdxCpuTarget target;
    int64_t level;
    std::unique_ptr<llvm::TargetMachine> machine;
  };
  thread_local Kept kept;
  const int64_t level = s.opt_level <= 0 ? 0 : 1;
  if (!kept.machine || kept.level != level || std::memcmp(&kept.target, &s.target, sizeof s.target))
    kept = {s.target, level, make_machine(s)};
  return *kept.machine;
}

// Ticks of the processor where a program may read them, else of a steady clock.
llvm::Value *clock(llvm::IRBuilder<> &b) {
  const bool ticks = b.GetInsertBlock()->getModule()->getTargetTriple().isX86();
  return b.CreateIntrinsic(b.getInt64Ty(),
                           ticks ? llvm::Intrinsic::readcyclecounter : llvm::Intrinsic::readsteadycounter, {});
}

llvm_emitter::TargetHooks hooks() {
  llvm_emitter::TargetHooks h;
  h.max_partials = QDX_CPU_MAX_PARTIALS;
  h.clock = clock;
  h.divide_in_float = true;
  h.joined_adds = 2;
  h.report_symbol = "qd_cpu_report";
  h.math = vector_math;
  return h;
}

llvm::Constant *constant_of(llvm::Module &m, const QdxCpuMeta &meta) {
  return llvm::ConstantDataArray::getRaw(llvm::StringRef(reinterpret_cast<const char *>(&meta), sizeof meta),
                                         sizeof meta, llvm::Type::getInt8Ty(m.getContext()));
}

// The description that the launcher reads: `<symbol>.meta`.
QdxCpuMeta add_meta(llvm::Module &m, llvm::StringRef symbol, const llvm_emitter::TaskInfo &task) {
  QdxCpuMeta meta{};
  meta.version = QDX_CPU_CODEGEN_VERSION;
  meta.cost = task.cost;
  meta.serial = task.serial;
  meta.n_partials = uint32_t(task.partials.size());
  for (size_t k = 0; k < task.partials.size(); k++) {
    meta.partial_op[k] = uint16_t(task.partials[k].op);
    meta.partial_type[k] = uint8_t(task.partials[k].type);
  }
  llvm::Constant *bytes = constant_of(m, meta);
  auto *g =
      new llvm::GlobalVariable(m, bytes->getType(), true, llvm::GlobalValue::ExternalLinkage, bytes, symbol + ".meta");
  g->setAlignment(llvm::Align(8));
  return meta;
}

void set_attributes(llvm::Module &m, const Settings &s) {
  const bool wide = vector_bits(s.target) == 512;
  for (auto &f : m) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("no-jump-tables", "true");
    f.addFnAttr("frame-pointer", "none");
    if (wide) f.addFnAttr("prefer-vector-width", "512");
  }
}

struct TaskCompile {
  const plugin::Host &host;
  const plugin::Request &request;
  const Settings &settings;
  std::string_view name, symbol;

  llvm::SmallVector<char, 0> run(const QdbTask &task) const {
    view::View unit;
    view::Fault fault;
    view::ReadOptions read;
    read.allow_threads = false;
    if (!unit.read(task.ir.ptr, task.ir.len, fault, read))
      throw Failure(fault.status, fault.message, std::string(name));
    auto &machine = machine_of(settings);
    llvm::LLVMContext context;
    auto m = std::make_unique<llvm::Module>("task", context);
    m->setTargetTriple(machine.getTargetTriple());
    m->setDataLayout(machine.createDataLayout());
    const llvm::StringRef id(symbol);
    QdxCpuMeta meta = add_meta(*m, id, llvm_emitter::emit_task(*m, unit, id, hooks(), {settings.fast_math}));
    set_attributes(*m, settings);
    if (request.flags & QDB_COMPILE_DUMP_IR) m = llvm_emitter::dump_or_replace(host, name, name, std::move(m));
#ifndef NDEBUG
    llvm_emitter::verify(*m, name);
#endif
    llvm::TargetLibraryInfoImpl library = vector_library(
        machine.getTargetTriple(), settings.fast_math ? settings.target.vector_math : 0, vector_bits(settings.target));
    meta.polls = llvm_emitter::optimise(
        *m, machine, library, settings.opt_level <= 0 ? llvm_emitter::Effort::quick : llvm_emitter::Effort::usual,
        {"qd_cpu_poll", id,
         !unit.parallel()            ? 0u
         : unit.parallel()->axes > 1 ? 2u
                                     : 1u});
    if (auto *described = m->getNamedGlobal((id + ".meta").str()); described && meta.polls)
      described->setInitializer(constant_of(*m, meta));
    if (request.flags & QDB_COMPILE_KEEP_ASM) keep_assembly(*m, machine, library);
    llvm::SmallVector<char, 0> object;
    if (!llvm_emitter::emit_file(*m, machine, library, llvm::CodeGenFileType::ObjectFile, object))
      throw Failure(QDB_E_COMPILE, "LLVM writes no objects for this target", std::string(name));
    return object;
  }

  void keep_assembly(llvm::Module &m, llvm::TargetMachine &machine, const llvm::TargetLibraryInfoImpl &library) const {
    const std::string copy =
        llvm_emitter::text_of(m);  // code generation changes the module, so the assembly is made of a copy
    host.dump("llvm_optimised", name, copy);
    llvm::SmallVector<char, 0> text;
    std::string why;
    auto again = llvm_emitter::parse(m.getContext(), copy, why);
    if (again && llvm_emitter::emit_file(*again, machine, library, llvm::CodeGenFileType::AssemblyFile, text))
      host.dump("asm", name, {text.data(), text.size()});
  }
};

Settings settings_of(const plugin::Request &r) {
  Settings s{};
  s.target = backends::read_target<QdxCpuTarget>(r, QDX_CPU_TARGET_MAGIC, QDX_CPU_CODEGEN_VERSION);
  s.fast_math = r.options.integer("fast_math", 1) != 0;
  s.opt_level = r.options.integer("opt_level", 1);
  return s;
}

QdbStatus QDB_CALL compile(const QdbHost *host_table, void *host_ctx, const QdbCompileReq *req, QdbArtifactOut *out,
                           QdbErr *err) {
  const plugin::Host host(host_table, host_ctx);
  return plugin::guard(host, err, [&](const plugin::Call &call) {
    const plugin::Request request = backends::from_raw(*req);
    const Settings settings = settings_of(request);
    std::vector<llvm::SmallVector<char, 0>> objects(request.n_tasks);
    host.parallel_for(request.n_tasks, 1, [&](uint64_t begin, uint64_t end, uint32_t) {
      for (uint64_t k = begin; k < end; k++) {
        call.poll();
        const QdbTask &t = request.task(uint32_t(k));
        objects[k] = TaskCompile{host, request, settings, plugin::text(t.name), plugin::text(t.symbol)}.run(t);
      }
    });
    std::vector<plugin::PackedObject> packed;
    for (uint32_t k = 0; k < request.n_tasks; k++)
      packed.push_back({plugin::text(request.task(k).symbol), {objects[k].data(), objects[k].size()}});
    auto blob = plugin::pack_objects(host, packed);
    std::memset(out->kind, 0, sizeof out->kind);
    std::memcpy(out->kind, "elf", 3);
    out->blob = blob.pass();
  });
}

constexpr QdxCpuCodegen table{sizeof(QdxCpuCodegen), QDX_CPU_CODEGEN_VERSION, compile};

}  // namespace
}  // namespace qd::cpu

extern "C" QDB_EXPORT const QdxCpuCodegen *QDB_CALL qdx_cpu_codegen(void) { return &qd::cpu::table; }

// task_module.cpp: see task_module.hpp. What is NVIDIA's in the code of a task: special registers, shuffles, barriers,
// address spaces, the kernel's attributes, and the function that appends to the report buffer.
#include "backends/cuda/task_module.hpp"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <set>
#include <vector>

#include "backends/cuda/device_math.hpp"
#include "backends/cuda/threads.hpp"
#include "qd/plugin.hpp"
#include "qd/wire.h"

namespace qd::cuda {
namespace {

namespace in = llvm::Intrinsic;
constexpr unsigned global_space = 1, shared_space = 3;
constexpr uint32_t early_sm = 90, joined_ptx = 81, warp = 32, usual_block = 256, most_threads = 1024,
                   most_partials = 32;

template <in::ID id>
llvm::Value *special(llvm::IRBuilder<> &b) {
  return b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type *>(), llvm::ArrayRef<llvm::Value *>());
}

llvm::Value *shuffle(llvm::IRBuilder<> &b, llvm::Value *v, unsigned distance) {
  return b.CreateIntrinsic(in::nvvm_shfl_sync_bfly_i32, {},
                           {b.getInt32(~0u), v, b.getInt32(distance), b.getInt32(warp - 1)});
}

void barrier(llvm::IRBuilder<> &b) { b.CreateIntrinsic(in::nvvm_barrier_cta_sync_aligned_all, {}, {b.getInt32(0)}); }

void fence(llvm::IRBuilder<> &b) { special<in::nvvm_membar_gl>(b); }

// sm_90 and PTX 8.1. The address is a multiple of what is changed.
void add_joined(llvm::IRBuilder<> &b, llvm::Value *address, llvm::ArrayRef<llvm::Value *> values) {
  llvm::SmallVector<llvm::Type *> types{address->getType()};
  llvm::SmallVector<llvm::Value *> operands{address};
  for (llvm::Value *v : values) types.push_back(v->getType()), operands.push_back(v);
  const bool four = values.size() == 4;
  auto *code = llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                    four ? "red.relaxed.gpu.global.add.v4.f32 [$0], {$1, $2, $3, $4};"
                                         : "red.relaxed.gpu.global.add.v2.f32 [$0], {$1, $2};",
                                    four ? "l,f,f,f,f,~{memory}" : "l,f,f,~{memory}", /*hasSideEffects=*/true);
  b.CreateCall(code, operands)->setDoesNotThrow();
}

llvm_emitter::TargetHooks hooks(uint32_t sm) {
  llvm_emitter::TargetHooks h;
  h.mapping = llvm_emitter::Mapping::grid;
  h.global_space = global_space;
  h.max_partials = most_partials;
  h.atomic_scope = "device";
  h.wide_sums = true;
  if (sm >= 90) h.joined_adds = 4, h.add_joined = add_joined;
  h.report_symbol = "qd_cuda_report";
  h.math = device_math;
  h.grid.shared_space = shared_space;
  h.grid.own_shared = own_shared;
  h.grid.warp = warp;
  h.grid.block_index = special<in::nvvm_read_ptx_sreg_ctaid_x>;
  h.grid.block_count = special<in::nvvm_read_ptx_sreg_nctaid_x>;
  h.grid.thread_index = special<in::nvvm_read_ptx_sreg_tid_x>;
  h.grid.block_size = special<in::nvvm_read_ptx_sreg_ntid_x>;
  h.grid.shuffle = shuffle;
  h.grid.barrier = barrier;
  h.grid.fence = fence;
  h.grid.exit = end_thread;
  h.grid.together = together;
  h.clock = special<in::nvvm_read_ptx_sreg_clock64>;
  return h;
}

// wire.h, report buffer. Space is reserved by an atomic add, so any number of threads may append at once. Offsets:
// failed 0, dropped 4, used 8, capacity 16 in the header of 24; task 0, site 4, iteration 8, n 16, reserved 20 in a
// record.
const char *const report_text = R"(
define internal void @qd_cuda_report(ptr addrspace(1) %report, i64 %ordinal, i32 %site, i32 %failure,
                                     i64 %iteration, i32 %n, ptr %values) noinline cold nounwind {
entry:
  %none = icmp eq ptr addrspace(1) %report, null
  br i1 %none, label %exit, label %there
there:
  %fails = icmp ne i32 %failure, 0
  br i1 %fails, label %mark, label %reserve
mark:
  store volatile i32 1, ptr addrspace(1) %report, align 4
  br label %reserve
reserve:
  %used = getelementptr i8, ptr addrspace(1) %report, i64 8
  %capacity.at = getelementptr i8, ptr addrspace(1) %report, i64 16
  %n64 = zext i32 %n to i64
  %value.bytes = shl i64 %n64, 3
  %bytes = add i64 %value.bytes, 24
  %at = atomicrmw add ptr addrspace(1) %used, i64 %bytes syncscope("device") monotonic, align 8
  %capacity = load i64, ptr addrspace(1) %capacity.at, align 8
  %end = add i64 %at, %bytes
  %fits = icmp ule i64 %end, %capacity
  br i1 %fits, label %write, label %drop
drop:
  %dropped = getelementptr i8, ptr addrspace(1) %report, i64 4
  %before = atomicrmw add ptr addrspace(1) %dropped, i32 1 syncscope("device") monotonic, align 4
  br label %exit
write:
  %records = getelementptr i8, ptr addrspace(1) %report, i64 24
  %to = getelementptr i8, ptr addrspace(1) %records, i64 %at
  %task = trunc i64 %ordinal to i32
  store i32 %task, ptr addrspace(1) %to, align 8
  %to.site = getelementptr i8, ptr addrspace(1) %to, i64 4
  store i32 %site, ptr addrspace(1) %to.site, align 4
  %to.iteration = getelementptr i8, ptr addrspace(1) %to, i64 8
  store i64 %iteration, ptr addrspace(1) %to.iteration, align 8
  %to.n = getelementptr i8, ptr addrspace(1) %to, i64 16
  store i32 %n, ptr addrspace(1) %to.n, align 8
  %to.reserved = getelementptr i8, ptr addrspace(1) %to, i64 20
  store i32 0, ptr addrspace(1) %to.reserved, align 4
  %to.values = getelementptr i8, ptr addrspace(1) %to, i64 24
  %any = icmp ne i32 %n, 0
  br i1 %any, label %copy, label %exit
copy:
  %k = phi i64 [ 0, %write ], [ %next, %copy ]
  %from = getelementptr i64, ptr %values, i64 %k
  %v = load i64, ptr %from, align 8
  %value.to = getelementptr i64, ptr addrspace(1) %to.values, i64 %k
  store i64 %v, ptr addrspace(1) %value.to, align 8
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %n64
  br i1 %more, label %copy, label %exit
exit:
  ret void
}
)";

// Blocks of the next task may be set up as soon as all of this one's have begun; this one's own wait for the task
// before it. That makes an order of whole tasks: each waits before it does anything, so it ends after the one before
// it.
void start_early(llvm::Function &f) {
  llvm::IRBuilder<> b(&f.getEntryBlock(), f.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  special<in::nvvm_griddepcontrol_launch_dependents>(b);
  special<in::nvvm_griddepcontrol_wait>(b);
}

void add_report(llvm::Module &m) {
  llvm::Function *declared = m.getFunction("qd_cuda_report");
  if (!declared) return;
  llvm::SMDiagnostic problem;
  declared->setName("declared");
  if (llvm::parseAssemblyInto(llvm::MemoryBufferRef(report_text, "report"), &m, nullptr, problem))
    throw plugin::Failure(QDB_E_INTERNAL, "the report function does not parse: " + problem.getMessage().str());
  declared->replaceAllUsesWith(m.getFunction("qd_cuda_report"));
  declared->eraseFromParent();
}

// Of a multiprocessor.
uint32_t threads_at_once(uint32_t sm) {
  switch (sm) {
    case 75: return 1024;
    case 86:
    case 89:
    case 120:
    case 121: return 1536;
    default: return 2048;
  }
}

size_t size_of(const llvm::Function &f) {
  size_t n = 0;
  for (const auto &block : f) n += block.size();
  return n;
}

}  // namespace

BuiltTask build_module(llvm::Module &m, const view::View &unit, llvm::StringRef symbol, uint32_t sm, bool fast_math) {
  if (unit.threads()) check_threads(unit, sm);
  const auto info = llvm_emitter::emit_task(m, unit, symbol, hooks(sm), {fast_math});
  QdxCudaMeta meta{};
  meta.version = QDX_CUDA_CODEGEN_VERSION;
  meta.arg_words = unit.arg_words();
  meta.serial = info.serial;
  meta.partials = uint32_t(info.partials.size());
  meta.scratch = info.ordered;
  meta.batch = info.batch;
  const uint32_t asked = unit.parallel() ? unit.parallel()->block : 0;
  meta.block = asked ? std::min((asked + warp - 1) / warp * warp, most_threads) : usual_block;
  if (unit.threads() && asked) meta.block = asked;  // binding
  meta.asked = asked != 0;
  meta.recursive = unit.recursive();
  if (const uint64_t bytes = llvm_emitter::shared_bytes(unit); bytes > own_shared) meta.shared = uint32_t(bytes);
  meta.axes = unit.parallel() ? unit.parallel()->axes : 0;
  llvm::Function *f = m.getFunction(symbol);
  f->setCallingConv(llvm::CallingConv::PTX_Kernel);
  f->addFnAttr("nvvm.maxntid", std::to_string(info.serial ? 1 : meta.block));
  // Threads that work on rows of a plane are short and wait for memory: as many of them as fit (H200: 47 us to 41).
  if (meta.axes > 1 && meta.batch >= 4)
    f->addFnAttr("nvvm.minctasm", std::to_string(std::max(1u, threads_at_once(sm) / meta.block)));
  // Else the assembler keeps to the 32 registers of a full multiprocessor, and loads that stand early are made late.
  if (info.unrolled) f->addFnAttr("nvvm.minctasm", std::to_string(std::max(1u, most_threads / 2 / meta.block)));
  if (meta.arg_words <= QDX_CUDA_MAX_BLOCK) {
    auto *words = llvm::ArrayType::get(llvm::Type::getInt64Ty(m.getContext()), meta.arg_words);
    f->addParamAttr(0, llvm::Attribute::getWithByValType(m.getContext(), words));
    f->addParamAttr(0, llvm::Attribute::getWithAlignment(m.getContext(), llvm::Align(8)));
    f->addParamAttr(0, llvm::Attribute::ReadOnly);
  }
  if (sm >= early_sm) start_early(*f);
  add_report(m);
  return {meta, info.joined_adds ? joined_ptx : 0};
}

namespace {

using Functions = std::set<const llvm::Function *>;

// Functions that `f` calls, directly or through others.
void callees(const llvm::Function &f, Functions &seen) {
  for (const auto &block : f)
    for (const auto &i : block)
      if (const auto *c = llvm::dyn_cast<llvm::CallBase>(&i))
        if (const auto *callee = c->getCalledFunction(); callee && seen.insert(callee).second) callees(*callee, seen);
}

bool calls_itself(const llvm::Function &f) {
  Functions seen;
  callees(f, seen);
  return seen.count(&f) != 0;
}

}  // namespace

void inline_calls(llvm::Module &m) {
  for (auto &f : m)
    if (f.hasInternalLinkage() && calls_itself(f)) f.addFnAttr(llvm::Attribute::NoInline);
  constexpr size_t small = 200, most_growth = 50000;
  size_t grown = 0;
  for (bool again = true; again;) {
    again = false;
    for (auto &callee : m) {
      if (callee.isDeclaration() || !callee.hasInternalLinkage() || callee.hasFnAttribute(llvm::Attribute::NoInline))
        continue;
      std::vector<llvm::CallBase *> calls;
      for (llvm::User *u : callee.users())
        if (auto *c = llvm::dyn_cast<llvm::CallBase>(u);
            c && c->getCalledFunction() == &callee && c->getFunction() != &callee)
          calls.push_back(c);
      const size_t size = size_of(callee);
      if (calls.empty() || (calls.size() > 1 && size > small && grown > most_growth)) continue;
      for (llvm::CallBase *c : calls) {
        llvm::InlineFunctionInfo info;
        if (llvm::InlineFunction(*c, info).isSuccess()) again = true, grown += size;
      }
    }
  }
  for (auto &f : llvm::make_early_inc_range(m.functions()))
    if (f.use_empty() && (f.isDeclaration() || f.hasInternalLinkage())) f.eraseFromParent();
}

}  // namespace qd::cuda

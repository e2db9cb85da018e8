// pipeline.cpp: see pipeline.hpp. We register the analyses ourselves; one that is missing is an assertion or a null
// call.
#include "backends/common/llvm_emitter/pipeline.hpp"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/BranchProbabilityInfo.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/DemandedBits.h>
#include <llvm/Analysis/LastRunTrackingAnalysis.h>
#include <llvm/Analysis/LoopAccessAnalysis.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MemorySSA.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InferAlignment.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

#include <mutex>

#include "backends/common/llvm_emitter/aligned_loops.hpp"
#include "backends/common/llvm_emitter/early_loads.hpp"
#include "backends/common/llvm_emitter/known_conditions.hpp"

namespace qd::llvm_emitter {
namespace {

struct Managers {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::ModuleAnalysisManager mam;

  Managers(llvm::TargetMachine &tm, const llvm::TargetLibraryInfoImpl &tli) {
    using namespace llvm;
    const auto f = [&](auto a) { fam.registerPass([a] { return a; }); };
    f(AssumptionAnalysis()), f(BasicAA()), f(BlockFrequencyAnalysis()), f(BranchProbabilityAnalysis()),
        f(DemandedBitsAnalysis());
    f(DominatorTreeAnalysis()), f(LastRunTrackingAnalysis()), f(LoopAccessAnalysis()), f(LoopAnalysis()),
        f(MemorySSAAnalysis());
    f(OptimizationRemarkEmitterAnalysis()), f(PassInstrumentationAnalysis()), f(PostDominatorTreeAnalysis());
    f(ScalarEvolutionAnalysis()), f(ScopedNoAliasAA()), f(ShouldRunExtraVectorPasses()), f(TargetLibraryAnalysis(tli));
    fam.registerPass([&] { return tm.getTargetIRAnalysis(); });
    fam.registerPass([] {
      AAManager a;
      a.registerFunctionAnalysis<BasicAA>(), a.registerFunctionAnalysis<ScopedNoAliasAA>();
      return a;
    });
    mam.registerPass([] { return PassInstrumentationAnalysis(); });
    mam.registerPass([] { return ProfileSummaryAnalysis(); });
    lam.registerPass([] { return PassInstrumentationAnalysis(); });
    mam.registerPass([&] { return FunctionAnalysisManagerModuleProxy(fam); });
    fam.registerPass([&] { return ModuleAnalysisManagerFunctionProxy(mam); });
    fam.registerPass([&] { return LoopAnalysisManagerFunctionProxy(lam); });
    lam.registerPass([&] { return FunctionAnalysisManagerLoopProxy(fam); });
  }
};

// The passes in front of vectorisation, and those from there on.
llvm::FunctionPassManager early_passes(Effort effort) {
  using namespace llvm;
  FunctionPassManager p;
  p.addPass(SROAPass(SROAOptions::ModifyCFG));
  p.addPass(EarlyCSEPass());
  p.addPass(SimplifyCFGPass());
  if (effort == Effort::quick) return p;
  p.addPass(createFunctionToLoopPassAdaptor(LoopFullUnrollPass()));
  p.addPass(KnownConditions());
  p.addPass(EarlyCSEPass());
  p.addPass(SimplifyCFGPass());
  p.addPass(KnownConditions());  // jumps that were joined
  p.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  return p;
}

llvm::FunctionPassManager late_passes(Effort effort, bool vectorise) {
  using namespace llvm;
  FunctionPassManager p;
  if (effort == Effort::quick) return p;
  if (vectorise) p.addPass(LoopVectorizePass());
  if (effort == Effort::scalar) p.addPass(AlignedLoops());
  if (effort == Effort::scalar) p.addPass(LoopUnrollPass(LoopUnrollOptions(2, /*OnlyWhenForced=*/true)));
  p.addPass(InstCombinePass(InstCombineOptions().setVerifyFixpoint(false)));
  p.addPass(SimplifyCFGPass());
  if (effort == Effort::scalar) {
    p.addPass(InferAlignmentPass());  // for the target's own pass, which joins loads
    p.addPass(EarlyLoads());
  }
  return p;
}

// The vectoriser asks of each value whether it is the same in all lanes, and walks the whole chain of operands behind
// it: the time is the sum of the lengths of those chains, 0.2 us a step. A loop unrolled into thousands of dependent
// statements would take longer there than everything else together.
constexpr uint64_t longest_chains = 2'000'000;

uint64_t length_of_chains(const llvm::Function &f) {
  llvm::DenseMap<const llvm::Instruction *, uint32_t> depth;
  uint64_t sum = 0;
  for (const auto &block : f)
    for (const auto &i : block) {
      uint32_t deepest = 0;
      if (!llvm::isa<llvm::PHINode>(i))
        for (const auto &operand : i.operands())
          if (const auto *before = llvm::dyn_cast<llvm::Instruction>(operand))
            if (const auto it = depth.find(before); it != depth.end()) deepest = std::max(deepest, it->second);
      sum += depth[&i] = deepest + 1;
    }
  return sum;
}

template <class T>
void set_switch(const char *name, T value) {
  auto &all = llvm::cl::getRegisteredOptions();
  if (const auto it = all.find(name); it != all.end()) static_cast<llvm::cl::opt<T> *>(it->second)->setValue(value);
}

}  // namespace

void configure_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    set_switch("disable-lsr", true);  // two thirds of code generation, and no faster code
    set_switch("enable-epilogue-vectorization", false);
    set_switch("disable-post-ra", true);  // quadratic in the length of a block, and processors reorder anyway
    // From here on sets of accesses that may meet are thinned out, else scheduling is quadratic too.
    set_switch("dag-maps-huge-region", 200u), set_switch("dag-maps-reduction-size", 100u);
    set_switch("cgpp-huge-func", 200u);  // blocks from which only changed ones are prepared again
  });
}

bool optimise(llvm::Module &m, llvm::TargetMachine &tm, const llvm::TargetLibraryInfoImpl &tli, Effort effort,
              const Polls &polls) {
  bool asks = false;
  Managers managers(tm, tli);
  auto early = early_passes(effort);
  for (auto &f : m) {
    if (f.isDeclaration()) continue;
    early.run(f, managers.fam);
    late_passes(effort, effort == Effort::usual && length_of_chains(f) <= longest_chains).run(f, managers.fam);
    if (!polls.symbol.empty()) asks |= add_polls(f, managers.fam, polls);
  }
  return asks;
}

bool emit_file(llvm::Module &m, llvm::TargetMachine &tm, const llvm::TargetLibraryInfoImpl &tli,
               llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &out) {
  llvm::raw_svector_ostream os(out);
  llvm::legacy::PassManager pm;
  pm.add(new llvm::TargetLibraryInfoWrapperPass(tli));
  if (tm.addPassesToEmitFile(pm, os, nullptr, type)) return false;
  pm.run(m);
  return true;
}

}  // namespace qd::llvm_emitter

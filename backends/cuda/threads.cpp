// threads.cpp: see threads.hpp.
#include "backends/cuda/threads.hpp"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "qd/plugin.hpp"

namespace qd::cuda {
namespace {

namespace in = llvm::Intrinsic;
using llvm_emitter::Together;
using view::Op;
using Builder = llvm::IRBuilder<>;

llvm::Value *call(Builder &b, in::ID id, llvm::ArrayRef<llvm::Value *> operands = {}) {
  return b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type *>(), operands);
}

llvm::Value *barrier_vote(Builder &b, const Together &t) {
  constexpr in::ID ids[] = {in::nvvm_barrier_cta_red_and_aligned_all, in::nvvm_barrier_cta_red_or_aligned_all,
                            in::nvvm_barrier_cta_red_popc_aligned_all};
  return b.CreateZExt(call(b, ids[t.kind], {b.getInt32(0), t.x}), b.getInt32Ty());
}

llvm::Value *fence(Builder &b, uint32_t scope) { return call(b, scope < 2 ? in::nvvm_membar_cta : in::nvvm_membar_gl); }

// The last operand holds where segments end and how lanes are clamped: 0 in a shuffle up, 31 else.
llvm::Value *shuffle(Builder &b, const Together &t) {
  constexpr in::ID ids[] = {in::nvvm_shfl_sync_idx_i32, in::nvvm_shfl_sync_up_i32, in::nvvm_shfl_sync_down_i32,
                            in::nvvm_shfl_sync_bfly_i32};
  return call(b, ids[t.kind], {t.mask, t.x, b.CreateAnd(t.y, b.getInt32(31)), b.getInt32(t.kind == 1 ? 0 : 31)});
}

llvm::Value *vote(Builder &b, const Together &t) {
  constexpr in::ID ids[] = {in::nvvm_vote_all_sync, in::nvvm_vote_any_sync, in::nvvm_vote_uni_sync,
                            in::nvvm_vote_ballot_sync};
  return b.CreateZExt(call(b, ids[t.kind], {t.mask, t.x}), b.getInt32Ty());
}

llvm::Value *match(Builder &b, const Together &t) {
  const bool wide = t.x->getType()->isIntegerTy(64);
  if (t.kind == 0) return call(b, wide ? in::nvvm_match_any_sync_i64 : in::nvvm_match_any_sync_i32, {t.mask, t.x});
  return b.CreateExtractValue(
      call(b, wide ? in::nvvm_match_all_sync_i64p : in::nvvm_match_all_sync_i32p, {t.mask, t.x}), 0);
}

}  // namespace

llvm::Value *together(Builder &b, const Together &t) {
  switch (t.op) {
    case Op::barrier:
      return t.kind == 0 ? call(b, in::nvvm_barrier_cta_sync_aligned_all, {b.getInt32(0)})
                         : call(b, in::nvvm_bar_warp_sync, {t.mask});
    case Op::barrier_vote: return barrier_vote(b, t);
    case Op::fence: return fence(b, t.kind);
    case Op::shuffle: return shuffle(b, t);
    case Op::vote: return vote(b, t);
    case Op::match: return match(b, t);
    default: return call(b, in::nvvm_activemask);
  }
}

void end_thread(Builder &b) { call(b, in::nvvm_exit); }

void check_threads(const view::View &unit, uint32_t sm) {
  if (sm < 70 && unit.uses(Op::match))
    throw plugin::Failure(QDB_E_UNSUPPORTED,
                          "warp.match_any and match_all need a GPU of compute capability 7.0 or later");
  if (const uint64_t bytes = llvm_emitter::shared_bytes(unit); bytes > most_shared)
    throw plugin::Failure(QDB_E_UNSUPPORTED, "the shared arrays of a loop need " + std::to_string(bytes) +
                                                 " bytes, a block has at most " + std::to_string(most_shared));
}

}  // namespace qd::cuda

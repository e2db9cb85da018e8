// regions.cpp: structured control flow and calls. Loops are written in rotated form (a guard, then the test at the
// bottom), so that no pass has to rotate them, and count in 64 bits where those cost nothing.
#include <algorithm>
#include <bit>

#include "backends/common/llvm_emitter/emit.hpp"

namespace qd::llvm_emitter {

using view::Op;
using view::op_of;
using view::type_of;

namespace {

unsigned info_bits(view::Type t) { return view::info(t).bytes * 8; }

}  // namespace

void Emit::loop_metadata(llvm::Instruction *latch, bool parallel, uint32_t unroll) {
  llvm::SmallVector<llvm::Metadata *> md{
      nullptr, llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.mustprogress")})};
  if (parallel && access_group)
    md.push_back(
        llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.parallel_accesses"), access_group}));
  unrolled |= unroll > 1;
  if (unroll > 1)
    md.push_back(llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.unroll.count"),
                                             llvm::ConstantAsMetadata::get(b.getInt32(unroll))}));
  auto *id = llvm::MDNode::getDistinct(context, md);
  id->replaceOperandWith(0, id);
  latch->setMetadata(llvm::LLVMContext::MD_loop, id);
}

// Rounds of a loop that a thread of a GPU should have under way at once: it has nothing else to do while it waits for
// the loads of one. As many as keep the loads in registers and the code short. A CPU looks ahead by itself.
uint32_t Emit::unroll_of(uint32_t first, uint32_t last) const {
  constexpr uint32_t most = 16, most_loads = 48, most_records = 640;
  if (!on_grid()) return 1;
  uint32_t loads = 0;
  for (uint32_t i = first + 1; i < last; i++) {
    const Op op = op_of(at(i));
    const auto &row = view::info(op);
    if ((row.flags & view::Loopy) || op == Op::call || op == Op::leave) return 1;
    if ((row.flags & view::Inexact) && op != Op::rsqrt) return 1;
    loads += op == Op::load;
  }
  if (!loads) return 1;
  return std::min(most, std::bit_floor(std::min(most_loads / loads, most_records / (last - first))));
}

Region &Emit::region_of(uint32_t record) {
  size_t k = regions.size();
  while (regions[k - 1].record != record) k--;
  return regions[k - 1];
}

void Emit::open(uint32_t i) {
  const QdInst &r = at(i);
  Region region{op_of(r), i};
  region.wide_mark = wide_written.size();
  const auto block = [&](const char *name) { return llvm::BasicBlock::Create(context, name, f); };
  switch (op_of(r)) {
    case Op::parallel: return parallel(i);
    case Op::loop: {
      llvm::Type *counter = on_grid() ? type(type_of(r)) : b.getInt64Ty();
      llvm::Value *lo = b.CreateSExt(value[r.a], counter), *hi = b.CreateSExt(value[r.b], counter);
      auto *before = b.GetInsertBlock();
      region.head = block("loop"), region.exit = block("looped"), region.limit = hi;
      b.CreateCondBr(b.CreateICmpSLT(lo, hi), region.head, region.exit);
      b.SetInsertPoint(region.head);
      region.index = b.CreatePHI(counter, 2);
      region.index->addIncoming(lo, before);
      if (counter->getIntegerBitWidth() == info_bits(type_of(r))) {
        value[i] = region.index;
      } else {
        value[i] = b.CreateTrunc(region.index, type(type_of(r)), "", false, true);
        wide_of[i] = region.index;
      }
      break;
    }
    case Op::repeat:
      region.head = block("repeat"), region.exit = block("left");
      b.CreateBr(region.head);
      b.SetInsertPoint(region.head);
      break;
    case Op::block: region.exit = block("blocked"); break;
    case Op::when:
      region.head = block("else"), region.exit = block("then_end");
      {
        auto *then = block("then");
        b.CreateCondBr(value[r.a], then, region.head);
        b.SetInsertPoint(then);
      }
      break;
    case Op::other:  // the region of its `when` goes on with the other arm
      region = regions.back();
      regions.pop_back();
      region.op = Op::other, region.record = i;
      b.SetInsertPoint(region.head);
      region.wide_mark = wide_written.size();
      break;
    default: return;
  }
  regions.push_back(region);
}

void Emit::close(uint32_t i) {
  Region region = regions.back();
  for (; wide_written.size() > region.wide_mark; wide_written.pop_back()) wide_of[wide_written.back()] = nullptr;
  if (op_of(at(i)) == Op::other) {
    b.CreateBr(region.exit);
    return;  // open() continues
  }
  regions.pop_back();
  switch (region.op) {
    case Op::loop: {
      llvm::Value *next = b.CreateNSWAdd(region.index, llvm::ConstantInt::get(region.index->getType(), 1));
      region.index->addIncoming(next, b.GetInsertBlock());
      loop_metadata(b.CreateCondBr(b.CreateICmpSLT(next, region.limit), region.head, region.exit), false,
                    unroll_of(region.record, i));
      break;
    }
    case Op::repeat: b.CreateBr(region.head); break;
    case Op::when:
      b.CreateBr(region.exit);
      b.SetInsertPoint(region.head);
      b.CreateBr(region.exit);
      break;
    default: b.CreateBr(region.exit); break;
  }
  b.SetInsertPoint(region.exit);
}

// What follows a `leave` in its region is dead: it goes to a block that nothing reaches.
void Emit::leave(uint32_t i) {
  b.CreateBr(region_of(fn->match[i]).exit);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "dead", f));
}

void Emit::call(uint32_t i) {
  llvm::Function *callee = functions[at(i).a];
  const auto given = unit.operands_before(*fn, i);
  llvm::SmallVector<llvm::Value *> passed{args, iteration ? iteration : i64(0),
                                          draws ? draws : llvm::ConstantPointerNull::get(b.getPtrTy())};
  for (uint32_t k = 0; k < given.count; k++) {
    auto *want = callee->getArg(3 + k)->getType();  // of an argument that nobody reads: a placeholder
    passed.push_back(want == value[given[k]]->getType() ? value[given[k]] : llvm::PoisonValue::get(want));
  }
  value[i] = b.CreateCall(callee, passed);
}

}  // namespace qd::llvm_emitter

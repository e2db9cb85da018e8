// analysis.hpp: what the emitter wants to know about a task before it writes code: which values do not change in the
// parallel loop, which atomic operations need not be atomic, ranges of integers, and how much work a position is.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/common/llvm_emitter/emitter.hpp"

namespace qd::llvm_emitter {

constexpr uint32_t field_bytes = 64;  // memory of fields begins at a multiple

struct Interval {
  int64_t low, high;  // inclusive
};

// An index as a sum: terms that tell iterations apart or are the same in all of them, and a rest within [low, high].
struct Place {
  std::vector<std::pair<uint32_t, int64_t>> terms;  // record, factor; ascending records
  int64_t low = 0, high = 0;
  uint32_t bounded = view::no_value;  // the one term that a symbolic stride bounds
};

// Whether the result shows in which order parts were put together.
inline bool needs_order(const Partial &p) {
  return view::is_float(p.type) && (p.op == view::Op::atomic_add || p.op == view::Op::atomic_mul);
}

class Analysis {
 public:
  Analysis(const view::View &unit, const TargetHooks &hooks);

  uint32_t uses(uint32_t record) const { return uses_[record]; }
  bool in_parallel(uint32_t record) const { return par_ && record > par_->record && record < par_->end; }
  bool invariant(uint32_t record) const;  // same value in every iteration, computable before the loop
  std::optional<Interval> interval(uint32_t record,
                                   int depth = 0) const;  // of an integer value, when both ends are known

  struct Slot {
    uint32_t param, index;  // index: a record with the element's index
    Partial what;
  };
  const std::vector<Slot> &slots() const { return slots_; }
  bool has_ordered_slots() const {
    for (const Slot &s : slots_)
      if (needs_order(s.what)) return true;
    return false;
  }
  int slot_of(uint32_t record) const { return slot_of_[record]; }  // of an atomic record, or -1
  bool exclusive(uint32_t record) const {
    return exclusive_[record];
  }  // an atomic whose element no other iteration touches

  // Accesses of this buffer must not be told to be free of order: two of them meet in one iteration, and the vectoriser
  // would gather strided neighbours into one wide access across the one in between.
  bool ordered(uint32_t param) const { return ordered_[param]; }

  // Bytes that the address of an element is known to be a multiple of.
  uint32_t alignment(uint32_t param, uint32_t index) const;

  // Additions to neighbouring elements with nothing between them that has an effect, to be made as one; null: alone.
  const std::vector<uint32_t> *joined(uint32_t record) const {
    return group_of_[record] < 0 ? nullptr : &groups_[size_t(group_of_[record])];
  }

  bool any_joined() const { return !groups_.empty(); }

  uint32_t cost() const { return cost_; }  // of one position, in 1/64 ns

  // Positions that a thread of a grid may work on side by side: a power of two, 1 where that gains nothing.
  uint32_t batch() const { return batch_; }

 private:
  const QdInst &at(uint32_t r) const { return unit_.entry().code[r]; }
  bool constant(uint32_t r, int64_t &v) const;
  bool same_value(uint32_t a, uint32_t b) const;
  void count_uses();
  void find_partials(uint32_t max_partials);
  void find_exclusive();
  void find_ordered();
  void find_joined(uint32_t most);
  bool joins(uint32_t record, Place &place) const;
  bool may_alias(uint32_t p, uint32_t q) const;
  bool expand(uint32_t record, int64_t factor, Place &place, int depth) const;
  bool one_to_one(uint32_t index, uint64_t &axes, int64_t &stride, Place &place, int depth) const;
  bool symbolic(uint32_t index, uint64_t &axes, Place &place, int depth) const;
  bool below(uint32_t record, uint32_t limit) const;  // 0 <= record < limit, by its loop's bounds
  void estimate();
  void choose_batch();

  const view::View &unit_;
  const view::Parallel *par_;
  std::vector<uint32_t> uses_;
  std::vector<int> slot_of_;
  std::vector<Slot> slots_;
  std::vector<bool> exclusive_, touched_elsewhere_;  // the latter by parameter: in a function that the task may call
  std::vector<bool> ordered_;                        // by parameter
  std::vector<int> group_of_;                        // by record
  std::vector<std::vector<uint32_t>> groups_;
  mutable std::vector<int8_t> invariant_;  // 0 unknown, 1 yes, 2 no
  uint32_t cost_ = 1, batch_ = 1;
};

}  // namespace qd::llvm_emitter

// regions.hpp: where the records of a function stand: which region holds each, which statement of depth 0 it belongs
// to, and which consumer an `operand` record is attached to. Computed in one scan; passes here ask instead of tracking
// depth.
#pragma once
#include <span>
#include <vector>

#include "core/ir/func.hpp"

namespace qd::split {

using ir::Inst;
using ir::no_val;
using ir::Op;
using ir::Val;

struct Regions {
  std::vector<Val> parent;     // record that opened the region holding this one (`other` for alternatives), or no_val
  std::vector<Val> statement;  // record of depth 0 that this one belongs to; of `operand`, its consumer's
  std::vector<Val> consumer;   // of `operand`: the record that takes it; of others themselves
  std::vector<Val> opener;     // of `other` and `end`: the record that they close; of `leave`: the label that it ends
  std::vector<Val> closer;     // of records that open a region: the record that closes it
};
Regions regions_of(std::span<const Inst> code);

// Calls f(value, field) for each field of the record that names another record.
template <class F>
void each_use(const Inst &in, F f) {
  const auto sig = ir::info(in.op).sig;
  for (size_t i = 0; i < sig.size(); ++i)
    if (ir::names_record(sig[i]) && in.arg[i] != no_val) f(in.arg[i], i);
}

// True for each record of the entry that an effect depends on; records of `other`, `end` and `operand` follow their
// owners.
std::vector<char> live_records(std::span<const Inst> code, const Regions &);

}  // namespace qd::split

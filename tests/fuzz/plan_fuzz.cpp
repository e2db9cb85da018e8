// Hostile bytes against the reader of stored plans: edits of a valid one. What is accepted is written again to the same
// bytes and can be evaluated within its words.
#include <cstdlib>

#include "core/ir/ir.hpp"
#include "core/split/split.hpp"

using namespace qd;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::string valid = split::to_bytes(split::split(ir::parse(R"(func @p($x: buf f32 2, $n: i32) {
  %n = arg.i32 $n
  %z = const.i32 0
  %two = const.i32 2
  %d = mul.i32 %n, %two
  operand %z, %d
  parallel.i32 1, 0 {
    %i = axis.i32 0
    %c = const.f32 7
    store $x, %i, %c
  }
})")));
  std::string bytes = valid;
  for (size_t i = 0; i + 3 <= size; i += 3)
    bytes[(size_t(data[i]) << 8 | data[i + 1]) % bytes.size()] = char(data[i + 2]);
  if (size % 3 == 1) bytes.resize(bytes.size() - size_t(data[size - 1]) % bytes.size());
  const auto plan = split::plan_from_bytes(bytes);
  if (!plan) return 0;
  if (split::to_bytes(*plan) != bytes) std::abort();
  const std::vector<uint64_t> words(plan->n_words, 3);
  for (const auto &t : plan->tasks) split::positions(t.extent, words.data());
  return 0;
}

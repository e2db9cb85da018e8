// plan.hpp: what a kernel is after the split: tasks with their identity, and how a launch feeds them. Plain data
// without pointers, so that it can be stored. Names and report sites live here and never in a task's bytes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/digest.hpp"
#include "core/ir/func.hpp"

namespace qd::split {

// Pure records that the host can evaluate from the kernel's words: `arg.T w` and `shape.T w` read word w, constants and
// arithmetic are as in ops.def, operands are earlier records.
struct HostProgram {
  std::vector<ir::Inst> code;
  std::vector<uint32_t> bounds;  // records that hold lo and hi of each axis, in the type of the parallel
};

enum class ExtentKind : uint8_t {
  fixed,     // `positions` says it
  one_word,  // a single axis from 0 to the parameter or extent in word `word`, read as `type`
  program,   // evaluated at each launch
  unknown,   // depends on memory: the plugin finds it (QDB_LAUNCH_RANGE_UNKNOWN)
};

struct Extent {
  ExtentKind kind = ExtentKind::fixed;
  ir::Type type = ir::Type::i32;
  uint32_t word = 0;
  int64_t positions = 1;  // of the grid; 1 for serial tasks
  HostProgram program;
};

struct WordMove {
  uint32_t to, from, count;
};  // task words <- kernel words
struct ScratchMove {
  uint32_t to;
  uint32_t offset;
};  // task word <- address of this byte of the scratch memory

struct Task {
  std::string bytes;     // canonical wire form: the identity
  cache::Digest digest;  // of bytes
  std::string symbol;    // "qd_" and 16 digits of the digest
  std::string name;      // for people
  uint32_t n_words = 0;  // of the argument block, hidden words included
  std::vector<WordMove> words;
  std::vector<ScratchMove> scratch;
  Extent extent;
  bool parallel = false;        // a parallel loop, else a serial run
  bool reports = false;         // may append to the report buffer
  bool fails = false;           // may report a failure: later tasks of the launch ask the flag
  bool random = false;          // draws numbers: its block changes with each launch
  std::vector<uint32_t> sites;  // kernel's report site of each of the task's
};

enum class StepKind : uint8_t { task };
struct Step {
  StepKind kind = StepKind::task;
  uint32_t task = 0;
  uint32_t section = 0;  // steps of different ones may run side by side; 0: in order with all
};

struct Plan {
  std::string name;
  std::vector<Step> steps;  // in program order
  std::vector<Task> tasks;
  uint32_t n_words = 0;  // kernel words
  uint32_t scratch_bytes = 0;
  uint32_t n_outputs = 0;  // 8-byte slots of the result buffer
};

inline std::string symbol_of(const cache::Digest &d) { return "qd_" + d.hex().substr(0, 16); }

// The stored form (plan_wire.cpp). Raised when the fields of a plan or their meaning change.
inline constexpr int plan_version = 3;
std::string to_bytes(const Plan &);
std::optional<Plan> plan_from_bytes(std::string_view);  // nothing: not such bytes, or a number in them can't be right

// Number of positions of the grid for these kernel words; extents of kind `unknown` give -1. No allocation.
int64_t positions(const Extent &, const uint64_t *kernel_words);

}  // namespace qd::split

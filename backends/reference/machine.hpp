// machine.hpp: the pre-decoded form of a task and the state of the machine that runs it. Every record becomes one Step at the
// same index, so that jump targets are record numbers; a Step holds the function that does it and where its operands are.
//
// Registers are 64-bit words, values zero-extended. The frame of a function is: one register a record, then its arguments, then
// the results of its calls, then its local arrays (one word an element).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "qd/ir_view.hpp"
#include "qd/plugin.hpp"

namespace qd::reference {

struct Machine;
struct Step;
using Handler = const Step *(*)(const Step *, Machine &);  // the next step, or NULL to stop

struct Step {
  Handler fn = nullptr;
  uint64_t imm = 0;                 // constant, word of the argument block, ...
  const Step *target = nullptr;     // where a jump goes
  uint32_t dst = 0, a = 0, b = 0, c = 0;
};
static_assert(sizeof(Step) == 40);

struct Code {  // of one function
  std::vector<Step> steps;       // one a record, and a last one that stops
  std::vector<uint32_t> lists;   // register numbers of `operand` values, joined
  uint32_t frame = 0;            // words
  uint32_t n_records = 0, n_args = 0, n_results = 0;
};

struct Program {
  std::vector<Code> functions;
  uint32_t arg_words = 0;
  uint32_t block = 0;               // threads that work together, 0: none do
  std::vector<uint64_t> shared;     // bytes of each shared buffer; its address is word arg_words + k in front of the handlers
  bool parallel = false;
  uint32_t first = 0;               // record of the parallel
  std::vector<uint32_t> bounds;     // registers of lo, hi per axis
  view::Type type{};                // of the parallel
};

Program decode(const view::View &unit);
Handler handler_of(const view::View &unit, const QdInst &record, view::Type operand);
extern const Handler stop_handler, jump_back_handler;
inline constexpr uint32_t warp = 32;  // threads of a subgroup

// Memory for frames: chunks that never move, so that registers can be addressed while calls go deeper.
class Frames {
 public:
  uint64_t *push(uint32_t words);
  void pop(uint32_t words);
  void clear();

 private:
  struct Chunk {
    std::unique_ptr<uint64_t[]> words;
    size_t size = 0, used = 0;
  };
  std::vector<Chunk> chunks_;
  size_t top_ = 0;
};

struct Activation {  // a call that waits for its callee
  const Step *call;
  uint64_t *registers;
  const Code *code;
};

inline constexpr uint32_t max_call_depth = 10000;
inline constexpr uint32_t steps_between_polls = 1u << 16;  // back edges and calls

struct Machine {
  uint64_t *r = nullptr;         // registers of the running function
  const uint64_t *args = nullptr;  // argument block
  const Code *code = nullptr;
  const Program *program = nullptr;
  const plugin::Call *call = nullptr;
  int64_t iteration = 0;
  uint32_t draw = 0;
  uint32_t ordinal = 0;
  uint32_t countdown = steps_between_polls;
  const Step *waiting = nullptr;  // what this thread of a block waits for; its result goes to s->dst
  uint32_t thread = 0;            // place in the block
  int64_t axis[view::max_axes] = {};
  std::vector<Activation> stack{};
  Frames frames{};

  void run(const Step *s) {
    while (s) s = s->fn(s, *this);
  }
  void back_edge() {
    if (--countdown != 0) return;
    countdown = steps_between_polls;
    call->poll();
  }
};

// Runs the positions [begin, end) of a program whose threads work together, block by block (threads.cpp). `main` has run the
// records before the parallel; `place` puts a machine at a position.
void run_blocks(Machine &main, const Step *body, int64_t begin, int64_t end, const std::function<void(Machine &, int64_t)> &place);

// Runs one task; throws Failure. The machine is only there to reuse its memory.
void run(Machine &machine, const plugin::Call &call, const Program &program, const QdbLaunch &launch);

}  // namespace qd::reference

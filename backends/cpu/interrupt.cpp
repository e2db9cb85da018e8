// interrupt.cpp: see interrupt.hpp. A question costs as much as some rounds of a loop, so the time between two decides
// after how many the next one comes.
#include "backends/cpu/interrupt.hpp"

#include <setjmp.h>

#include <algorithm>
#include <utility>

namespace qd::cpu {
namespace {

constexpr uint32_t most_rounds = 1u << 20;
constexpr uint64_t soon = 100'000, late = 3'000'000;  // ticks of the processor: some 30 us and 1 ms

struct Running {
  Stop *stop;
  uint32_t rounds = 1;
  uint64_t asked_at = 0;
  jmp_buf leave;
};
thread_local Running *running = nullptr;  // innermost: a signal handler may launch, too

}  // namespace

void run_stoppable(Stop &stop, QdxCpuTask run, const uint64_t *args, int64_t begin, int64_t end, void *partials) {
  Running mine{&stop, 1, __builtin_ia32_rdtsc(), {}};
  Running *const outer = std::exchange(running, &mine);
  if (!_setjmp(mine.leave)) run(args, begin, end, partials);
  running = outer;
}

uint32_t poll() {
  Running &r = *running;
  if (r.stop->asked()) _longjmp(r.leave, 1);
  const uint64_t now = __builtin_ia32_rdtsc(), passed = now - std::exchange(r.asked_at, now);
  if (passed < soon) r.rounds = std::min(r.rounds * 4, most_rounds);
  else if (passed > late) r.rounds = std::max(r.rounds / 4, 1u);
  return r.rounds;
}

}  // namespace qd::cpu

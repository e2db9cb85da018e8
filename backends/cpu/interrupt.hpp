// interrupt.hpp: leaving a task in the middle. Code whose loops may go on for long asks now and then: the launching
// thread asks the host, and the pool's threads look whether it was told to stop. The call into the code is then left by
// a jump: generated code holds nothing that would have to be given back.
#pragma once
#include <atomic>
#include <thread>

#include "backends/cpu/codegen_abi.h"
#include "qd/plugin.hpp"

namespace qd::cpu {

class Stop {  // of one task of a launch; made by the launching thread
 public:
  explicit Stop(const plugin::Call &call) : call_(call) {}
  bool asked() {  // by the host, now or before
    if (!asked_.load(std::memory_order_relaxed) && std::this_thread::get_id() == launching_ && call_.cancelled())
      asked_.store(true, std::memory_order_relaxed);
    return asked_.load(std::memory_order_relaxed);
  }
  bool was_asked() const { return asked_.load(std::memory_order_relaxed); }

 private:
  const plugin::Call &call_;
  const std::thread::id launching_ = std::this_thread::get_id();
  std::atomic<bool> asked_{false};
};

// A call of code that asks. It may come back early, then `stop` was asked.
void run_stoppable(Stop &stop, QdxCpuTask run, const uint64_t *args, int64_t begin, int64_t end, void *partials);

// What the code calls, within run_stoppable: after how many rounds to ask again. Doesn't come back when it is to stop.
uint32_t poll();

}  // namespace qd::cpu

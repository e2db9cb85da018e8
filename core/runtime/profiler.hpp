// profiler.hpp: times of tasks, for a Context with `kernel_profiler`. Inside core/runtime only.
//
// Each task is a call of the plugin of its own. Where launches are over when the call returns, a clock is read around
// it; else the stream gets an event before and behind each task, and the times are asked for when somebody wants them,
// so that the device is never waited for. Where a device has no such events, it is waited for after each task.
#pragma once
#include <deque>
#include <span>
#include <unordered_map>

#include "core/compile/backend.hpp"
#include "core/runtime/session.hpp"

namespace qd {

class Profiler final : public Resource {
 public:
  explicit Profiler(std::shared_ptr<Session>);  // within a Use, like everything here
  ~Profiler() { session_->remove(this); }
  void release() noexcept override;

  void launch(plugin::Stream &, const compile::LaunchNames &, std::span<const QdbLaunch>);
  Profile read();
  void clear();

 private:
  using Timer = std::unique_ptr<plugin::Event>;
  struct Names {  // rows of a launch
    uint32_t kernel;
    std::vector<uint32_t> tasks;
  };
  struct Pending {  // a launch that may still run: task k between timers k and k + 1
    Names names;
    std::vector<Timer> timers;
  };
  struct Table {
    std::vector<Profile::Row> rows;
    std::unordered_map<std::string, uint32_t> number;
    uint32_t row(const std::string &name);
  };

  void launch_by_clock(plugin::Stream &, const compile::LaunchNames &, std::span<const QdbLaunch>);
  void launch_by_events(plugin::Stream &, const compile::LaunchNames &, std::span<const QdbLaunch>);
  // All below: with the lock.
  Names rows_of(const compile::LaunchNames &);
  void add(const Names &, std::span<const double> bounds);  // milliseconds from the origin, one more than tasks
  Timer timer();
  void settle(size_t left);  // asks the oldest pending launches for their times

  const std::shared_ptr<Session> session_;
  const bool events_;
  std::mutex mutex_;
  Table tasks_, kernels_;
  std::deque<Profile::Record> trace_;
  int64_t origin_ns_ = -1;  // of the clock: when the first launch began
  std::deque<Pending> pending_;
  size_t pending_tasks_ = 0;
  std::vector<Timer> spare_;
  Timer anchor_;  // of the events: the end of the launch that was settled last
  double anchor_ms_ = 0;
};

}  // namespace qd

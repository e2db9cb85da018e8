// profiler.cpp: see profiler.hpp. Times that a device tells are differences of two events, as floats of milliseconds in
// CUDA's case: they are taken between neighbours and added up, so that a long run loses no digits.
#include "core/runtime/profiler.hpp"

#include <algorithm>

#include "core/support/trace.hpp"

namespace qd {
namespace {

constexpr size_t longest_trace = 100'000, most_pending_tasks = 4096;

void note(Profile::Row &row, double ms) {
  row.min = row.count ? std::min(row.min, ms) : ms;
  row.max = std::max(row.max, ms);
  row.total += ms;
  ++row.count;
}

}  // namespace

Profiler::Profiler(std::shared_ptr<Session> session)
    : session_(std::move(session)), events_(!session_->synchronous() && plugin::Event::can_time(session_->instance())) {
  session_->add(this);
}

void Profiler::release() noexcept {
  const std::lock_guard lock(mutex_);
  pending_.clear();
  spare_.clear();
  anchor_.reset();
}

uint32_t Profiler::Table::row(const std::string &name) {
  const auto [it, is_new] = number.try_emplace(name, uint32_t(rows.size()));
  if (is_new) rows.push_back({name});
  return it->second;
}

Profiler::Names Profiler::rows_of(const compile::LaunchNames &names) {
  Names r{kernels_.row(names.kernel), {}};
  for (const auto &task : names.tasks)
    r.tasks.push_back(tasks_.row(task.name + (task.parallel ? "_range_for" : "_serial")));
  return r;
}

void Profiler::add(const Names &names, std::span<const double> bounds) {
  double whole = 0;
  for (size_t k = 0; k + 1 < bounds.size(); ++k) {
    const double ms = bounds[k + 1] - bounds[k];
    note(tasks_.rows[names.tasks[k]], ms);
    whole += ms;
    trace_.push_back({names.tasks[k], bounds[k], ms});
    if (trace_.size() > longest_trace) trace_.pop_front();
  }
  note(kernels_.rows[names.kernel], whole);
}

void Profiler::launch(plugin::Stream &stream, const compile::LaunchNames &names, std::span<const QdbLaunch> launches) {
  if (events_) launch_by_events(stream, names, launches);
  else launch_by_clock(stream, names, launches);
}

void Profiler::launch_by_clock(plugin::Stream &stream, const compile::LaunchNames &names,
                               std::span<const QdbLaunch> launches) {
  const bool waits = !session_->synchronous();
  if (waits) stream.sync();
  std::vector<int64_t> ns{trace::now_ns()};
  ns.reserve(launches.size() + 1);
  for (size_t k = 0; k < launches.size(); ++k) {
    stream.launch(launches.subspan(k, 1));
    if (waits) stream.sync();
    ns.push_back(trace::now_ns());
  }
  const std::lock_guard lock(mutex_);
  if (origin_ns_ < 0) origin_ns_ = ns[0];
  std::vector<double> bounds;
  for (int64_t t : ns) bounds.push_back(double(t - origin_ns_) * 1e-6);
  add(rows_of(names), bounds);
}

Profiler::Timer Profiler::timer() {
  if (spare_.empty()) return plugin::Event::create_timer(session_->device());
  Timer t = std::move(spare_.back());
  spare_.pop_back();
  return t;
}

void Profiler::launch_by_events(plugin::Stream &stream, const compile::LaunchNames &names,
                                std::span<const QdbLaunch> launches) {
  const std::lock_guard lock(mutex_);
  Pending p{rows_of(names), {}};
  for (size_t k = 0; k <= launches.size(); ++k) p.timers.push_back(timer());
  p.timers[0]->record(stream);
  for (size_t k = 0; k < launches.size(); ++k) {
    stream.launch(launches.subspan(k, 1));
    p.timers[k + 1]->record(stream);
  }
  pending_tasks_ += launches.size();
  pending_.push_back(std::move(p));
  if (pending_tasks_ > most_pending_tasks) settle(most_pending_tasks / 2);
}

void Profiler::settle(size_t left) {
  while (!pending_.empty() && pending_tasks_ > left) {
    Pending p = std::move(pending_.front());
    pending_.pop_front();
    pending_tasks_ -= p.timers.size() - 1;
    p.timers.back()->sync();
    std::vector<double> bounds{anchor_ms_};
    if (anchor_) bounds[0] += double(p.timers[0]->ns_since(*anchor_)) * 1e-6;
    for (size_t k = 1; k < p.timers.size(); ++k)
      bounds.push_back(bounds.back() + double(p.timers[k]->ns_since(*p.timers[k - 1])) * 1e-6);
    add(p.names, bounds);
    if (anchor_) spare_.push_back(std::move(anchor_));
    anchor_ = std::move(p.timers.back());
    anchor_ms_ = bounds.back();
    p.timers.pop_back();
    for (Timer &t : p.timers) spare_.push_back(std::move(t));
  }
}

Profile Profiler::read() {
  const std::lock_guard lock(mutex_);
  settle(0);
  return {tasks_.rows, kernels_.rows, {trace_.begin(), trace_.end()}};
}

void Profiler::clear() {
  const std::lock_guard lock(mutex_);
  while (!pending_.empty()) {
    for (Timer &t : pending_.front().timers) spare_.push_back(std::move(t));
    pending_.pop_front();
  }
  pending_tasks_ = 0;
  tasks_ = {};
  kernels_ = {};
  trace_.clear();
  origin_ns_ = -1;
  if (anchor_) spare_.push_back(std::move(anchor_));
  anchor_ms_ = 0;
}

}  // namespace qd

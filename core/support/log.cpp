// log.cpp: spdlog on standard error. The logger is made by the first line that is written, so a quiet program never
// sets one up.
#include "core/support/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>

#include "core/api/core.hpp"

namespace qd {
namespace {

std::atomic<int> level_ = log_info;

spdlog::logger &logger() {
  static spdlog::logger *made = [] {
    auto *l =
        new spdlog::logger("quadrants", std::make_shared<spdlog::sinks::stderr_sink_mt>());  // outlives every thread
    l->set_level(spdlog::level::trace);
    l->set_pattern("[quadrants] [%l] %v");
    l->flush_on(spdlog::level::trace);
    return l;
  }();
  return *made;
}

constexpr spdlog::level::level_enum levels[] = {spdlog::level::off,  spdlog::level::err,   spdlog::level::warn,
                                                spdlog::level::info, spdlog::level::debug, spdlog::level::trace};

}  // namespace

bool log_enabled(int level) { return level <= level_.load(std::memory_order_relaxed) && level > log_off; }

void log_line(int level, std::string_view component, std::string_view message) {
  if (!log_enabled(level)) return;
  auto as = levels[std::clamp(level, 0, int(log_trace))];
  try {
    if (component.empty()) logger().log(as, spdlog::string_view_t(message.data(), message.size()));
    else
      logger().log(as, "{}: {}", spdlog::string_view_t(component.data(), component.size()),
                   spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {  // a line that can't be written is no reason to fail
  }
}

void log_line(int level, const std::string &message) { log_line(level, {}, message); }
void set_log_level(int level) { level_ = std::clamp(level, int(log_off), int(log_trace)); }
int log_level() { return level_.load(std::memory_order_relaxed); }

}  // namespace qd

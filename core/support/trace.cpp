// trace.cpp: see trace.hpp. Events are kept in memory and written when the trace stops, so that writing costs the
// program nothing while it runs; their number is bounded.
#include "core/support/trace.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <vector>

#include "core/api/core.hpp"

namespace qd {
namespace trace {
namespace {

constexpr size_t most_events = 1u << 20;

struct Event {
  std::string category, name, note;
  int64_t begin, end;
  long thread;
};

std::mutex mutex;
std::vector<Event> events;
std::string path;
size_t lost = 0;

void append_text(std::string &out, std::string_view s) {
  out += '"';
  for (unsigned char c : s) {
    if (c == '"' || c == '\\') out += '\\', out += char(c);
    else if (c < 32) out += ' ';
    else out += char(c);
  }
  out += '"';
}

void append_event(std::string &out, const Event &e) {
  char numbers[160];
  out += "{\"ph\":\"X\",\"cat\":";
  append_text(out, e.category);
  out += ",\"name\":";
  append_text(out, e.name);
  std::snprintf(numbers, sizeof numbers, ",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%ld,\"tid\":%ld", double(e.begin) / 1e3,
                double(e.end - e.begin) / 1e3, long(::getpid()), e.thread);
  out += numbers;
  if (!e.note.empty()) {
    out += ",\"args\":{\"result\":";
    append_text(out, e.note);
    out += '}';
  }
  out += '}';
}

std::string text_of_events() {
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  bool first = true;
  for (const Event &e : events) {
    out += first ? "\n" : ",\n";
    append_event(out, e);
    first = false;
  }
  return out + "\n],\"otherData\":{\"lost\":" + std::to_string(lost) + "}}\n";
}

}  // namespace

std::atomic<bool> on{false};

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void add(std::string_view category, std::string_view name, std::string_view note, int64_t begin, int64_t end) {
  static thread_local const long thread = ::syscall(SYS_gettid);
  const std::lock_guard lock(mutex);
  if (!on.load(std::memory_order_relaxed)) return;
  if (events.size() >= most_events) {
    ++lost;
    return;
  }
  events.push_back({std::string(category), std::string(name), std::string(note), begin, end, thread});
}

}  // namespace trace

void trace_start(const std::string &path) {
  const std::lock_guard lock(trace::mutex);
  trace::path = path;
  trace::on = true;
}

void trace_add(std::string_view category, std::string_view name, std::string_view note, int64_t begin_ns,
               int64_t end_ns) {
  if (trace::on.load(std::memory_order_relaxed)) trace::add(category, name, note, begin_ns, end_ns);
}

void trace_stop() {
  std::string text, path;
  {
    const std::lock_guard lock(trace::mutex);
    if (!trace::on.exchange(false)) return;
    text = trace::text_of_events();
    path = std::move(trace::path);
    trace::events.clear();
    trace::lost = 0;
  }
  bool written = false;
  if (std::FILE *file = std::fopen(path.c_str(), "wb")) {
    written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    written = std::fclose(file) == 0 && written;
  }
  if (!written) log_line(2, "the trace can't be written to " + path + ": give trace= (or QD_TRACE) another file");
}

}  // namespace qd

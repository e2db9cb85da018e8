// trace.hpp: spans of time for the Chrome trace viewer or Perfetto: phases of compiles, tiers that answered, launches,
// on the threads where they happen. While nobody asked for a trace a span is one relaxed load; start and stop are
// declared in core/api/core.hpp.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace qd::trace {

extern std::atomic<bool> on;
int64_t now_ns();  // of the steady clock
void add(std::string_view category, std::string_view name, std::string_view note, int64_t begin_ns, int64_t end_ns);

class Span {
 public:
  // `category` must outlive the span.
  Span(const char *category, const std::string &name)
      : category_(on.load(std::memory_order_relaxed) ? category : nullptr), name_(name) {
    if (category_) begin_ = now_ns();
  }
  ~Span() {
    if (category_) add(category_, name_, note_, begin_, now_ns());
  }
  Span(const Span &) = delete;
  Span &operator=(const Span &) = delete;
  void note(const char *text) { note_ = text; }  // how it came out: "disk", "compiled"

 private:
  const char *const category_;
  const std::string &name_;
  const char *note_ = "";
  int64_t begin_ = 0;
};

}  // namespace qd::trace

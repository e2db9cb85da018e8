// staging.cpp: see staging.hpp. Arrays are joined into spans of host memory first, so that a view and its base are one
// piece on the device. A kernel may write a part of an array, so what it writes is copied in as well; what it
// only asks for its shape isn't. The memory is kept for the next call; two calls at once have their own, and so has a
// call on a stream of its own, which an earlier launch may still run beside.
#include "staging.hpp"

#include <algorithm>
#include <utility>

namespace qd::py {
namespace {

struct Span {
  uint64_t begin, end;  // host addresses
  Use use;
  std::shared_ptr<Buffer> buffer;
};

Use use_of(const Specialisation &s, const HostArray &a) {
  Use use = Use::none;
  for (uint32_t k = 0; k < a.n_targets; ++k)
    if (a.targets[k].part == 0) use = std::max(use, s.uses[a.targets[k].word]);
  return use;
}

std::vector<Span> spans_of(const Specialisation &s, const std::vector<HostArray> &arrays) {
  std::vector<Span> spans;
  for (const HostArray &a : arrays) spans.push_back({a.address, a.address + a.bytes, use_of(s, a), nullptr});
  std::sort(spans.begin(), spans.end(), [](const Span &x, const Span &y) { return x.begin < y.begin; });
  size_t n = 0;
  for (Span &x : spans) {
    if (n && x.begin < spans[n - 1].end) {
      spans[n - 1].end = std::max(spans[n - 1].end, x.end);
      spans[n - 1].use = std::max(spans[n - 1].use, x.use);
    } else {
      spans[n++] = x;
    }
  }
  spans.resize(n);
  return spans;
}

std::shared_ptr<Buffer> take(std::vector<std::shared_ptr<Buffer>> &kept, Context &context, uint64_t bytes) {
  for (auto &b : kept)
    if (b && b->size() >= bytes && b->size() / 2 <= bytes) return std::exchange(b, nullptr);
  return context.alloc(bytes);
}

}  // namespace

void launch_staged(Specialisation &s, uint64_t *words, const std::vector<HostArray> &arrays) {
  std::vector<Span> spans = spans_of(s, arrays);
  const bool usual = !Stream::in_use();
  auto kept = usual ? std::exchange(s.staging, {}) : decltype(s.staging)();  // another thread's call finds none
  Context &context = *executable_handle(s.executable_object.get()).context;
  {
    const WithoutGil nogil;
    for (Span &x : spans) {
      x.buffer = take(kept, context, std::max<uint64_t>(x.end - x.begin, 64));
      if (x.use != Use::none) x.buffer->copy_in(0, reinterpret_cast<const void *>(uintptr_t(x.begin)), x.end - x.begin);
    }
    for (const HostArray &a : arrays) {
      const auto x = std::upper_bound(spans.begin(), spans.end(), a.address,
                                      [](uint64_t address, const Span &span) { return address < span.begin; });
      const Span &home = *std::prev(x);
      for (uint32_t k = 0; k < a.n_targets; ++k)
        if (a.targets[k].part == 0) words[a.targets[k].word] = home.buffer->address() + (a.address - home.begin);
    }
    s.executable->launch(words);
    for (const Span &x : spans)
      if (x.use == Use::writes) x.buffer->copy_out(0, reinterpret_cast<void *>(uintptr_t(x.begin)), x.end - x.begin);
    kept.clear();
  }
  if (usual)
    for (Span &x : spans) s.staging.push_back(std::move(x.buffer));
}

}  // namespace qd::py

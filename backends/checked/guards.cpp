// guards.cpp: the bytes around each allocation, written once and compared after whatever may write. Mapped memory is
// read in place, other memory through copies on a stream of our own.
#include "backends/checked/checked.hpp"

namespace qd::checked {
namespace {

constexpr uint64_t zero_window = 1 << 16;  // at each end: reading all of a large allocation would make its pages real

// What guards hold: no byte is like its neighbours, so a write of any one value is seen.
const char *pattern() {
  static const auto bytes = [] {
    std::vector<char> b(guard_bytes);
    for (size_t i = 0; i < b.size(); i++) b[i] = char(0x5a ^ i * 37);
    return b;
  }();
  return bytes.data();
}

void move(const Frame &f, Device &d, const QdbCopy &c) {
  std::lock_guard<std::mutex> lock(d.transfer);
  if (!d.transfers) forward(f, [&](QdbErr *s) { return f.t().stream_create(d.inner(), &d.transfers, s); });
  forward(f, [&](QdbErr *s) { return f.t().copy(d.transfers, &c, sizeof c, 1, s); });
  forward(f, [&](QdbErr *s) { return f.t().stream_sync(d.transfers, s); });
}

// `offset` counts from the start of the wrapped plugin's allocation.
void read(const Frame &f, const Mem &m, uint64_t offset, char *to, uint64_t n) {
  if (m.host) std::memcpy(to, m.host - guard_bytes + offset, n);
  else move(f, *m.device, {nullptr, reinterpret_cast<uintptr_t>(to), m.inner(), offset, n});
}

void check_side(const Frame &f, const Mem &m, uint64_t offset, const char *side) {
  char found[guard_bytes];
  read(f, m, offset, found, guard_bytes);
  const size_t at = size_t(std::mismatch(found, found + guard_bytes, pattern()).first - found);
  if (at == guard_bytes) return;
  const size_t distance = offset ? at : guard_bytes - at;
  const std::string what = "a byte written " + std::to_string(distance) + " bytes " + side + " of an allocation of " +
                           std::to_string(m.size);
  paint(f, const_cast<Mem &>(m));  // told once
  throw Broken(Violation::guard_written, what, f.function);
}

void check_zero_at(const Frame &f, const Mem &m, uint64_t offset, uint64_t n) {
  std::vector<char> found(n);
  read(f, m, guard_bytes + offset, found.data(), n);
  const auto bad = std::find_if(found.begin(), found.end(), [](char c) { return c != 0; });
  if (bad != found.end())
    throw Broken(Violation::bad_memory,
                 "a byte that is not zero at " + std::to_string(offset + uint64_t(bad - found.begin())), f.function);
}

}  // namespace

void paint(const Frame &f, Mem &m) {
  for (const uint64_t offset : {uint64_t(0), guard_bytes + m.size}) {
    if (m.host) std::memcpy(m.host - guard_bytes + offset, pattern(), guard_bytes);
    else move(f, *m.device, {m.inner(), offset, nullptr, reinterpret_cast<uintptr_t>(pattern()), guard_bytes});
  }
}

void check_zero(const Frame &f, Mem &m) {
  const uint64_t n = std::min(m.size, zero_window);
  check_zero_at(f, m, 0, n);
  if (m.size > n) check_zero_at(f, m, m.size - n, n);
}

void check_guards(const Frame &f, const Mem &m) {
  std::lock_guard<std::mutex> lock(m.guard);
  if (m.gone) return;
  check_side(f, m, 0, "in front");
  check_side(f, m, guard_bytes + m.size, "behind the end");
}

void check_all_guards(const Frame &f, Device &d) {
  std::vector<std::shared_ptr<Mem>> all;  // not in use: the host may free one meanwhile
  {
    std::lock_guard<std::mutex> lock(tables().mutex);
    for (const auto &[address, mem] : d.memory)
      if (auto m = mem.lock()) all.push_back(std::static_pointer_cast<Mem>(m));
  }
  for (const auto &m : all) check_guards(f, *m);
}

std::unique_ptr<Using<Mem>> holder(Device &d, uint64_t address, uint64_t size) {
  std::lock_guard<std::mutex> lock(tables().mutex);
  auto at = d.memory.upper_bound(address);
  if (at == d.memory.begin()) return nullptr;
  auto m = std::static_pointer_cast<Mem>((--at)->second.lock());
  const uint64_t offset = address - at->first;
  if (!m || offset > m->size || size > m->size - offset) return nullptr;
  return std::make_unique<Using<Mem>>(std::move(m));
}

}  // namespace qd::checked

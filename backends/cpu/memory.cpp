// memory.cpp: device memory is zeroed host memory, 64-byte aligned. Large blocks are mapped, so that the system's zero
// pages are used as they are and huge pages may be; small ones come from the heap. Copies and fills are plain loops of
// the C library.
#include <sys/mman.h>

#include <cstring>
#include <new>

#include "backends/cpu/cpu.hpp"

namespace qd::cpu {
namespace {

constexpr uint64_t mapped_from = 1u << 20, huge_page = 2u << 20;

char *place(QdbMem *mem, uint64_t offset, uint64_t size, const char *what) {
  if (!mem) return reinterpret_cast<char *>(offset);  // a host address
  const auto *m = plugin::object<Mem>(mem);
  if (offset > m->size() || size > m->size() - offset)
    throw plugin::Failure(QDB_E_INVALID, std::string(what) + ": bytes " + std::to_string(offset) + " to " +
                                             std::to_string(offset + size) + " of memory of " +
                                             std::to_string(m->size()) + " bytes");
  return m->data() + offset;
}

}  // namespace

Mem::Mem(uint64_t size) : size_(size) {
  if (size > uint64_t(PTRDIFF_MAX) - 2 * huge_page) throw std::bad_alloc();
  if (size < mapped_from) {
    data_ = static_cast<char *>(::operator new(size, std::align_val_t(64)));
    std::memset(data_, 0, size);
    return;
  }
  mapped_ = size;
  void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  if (size >= huge_page) madvise(p, size, MADV_HUGEPAGE);  // a wish; refusal changes nothing
  data_ = static_cast<char *>(p);
}

Mem::~Mem() {
  if (mapped_) munmap(data_, mapped_);
  else ::operator delete(data_, std::align_val_t(64));
}

void Mem::info(QdbMemInfo &m) const {
  m.size = size_;
  m.address = reinterpret_cast<uint64_t>(data_);
  m.host = data_;
}

void Stream::copy(const Call &, const QdbCopy &c) {
  if (c.size)
    std::memmove(place(c.dst, c.dst_offset, c.size, "copy to"), place(c.src, c.src_offset, c.size, "copy from"),
                 c.size);
}

void Stream::fill(const Call &, const QdbFill &f) {
  const uint32_t w = f.pattern_bytes;
  if ((w != 1 && w != 2 && w != 4 && w != 8) || f.size % w)
    throw plugin::Failure(QDB_E_INVALID,
                          "fill: " + std::to_string(f.size) + " bytes with a pattern of " + std::to_string(w));
  char *to = place(f.dst, f.dst_offset, f.size, "fill");
  if (w == 1 || f.pattern == 0) return void(std::memset(to, int(f.pattern & 255), f.size));
  for (uint64_t at = 0; at < f.size; at += w) std::memcpy(to + at, &f.pattern, w);
}

}  // namespace qd::cpu

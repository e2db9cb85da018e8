// host_memory.hpp: memory, copies and fills of backends whose device memory is host memory (null, reference).
// Everything is synchronous, so a stream has nothing to wait for.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "qd/plugin.hpp"

namespace qd::host_memory {

using plugin::Failure;

// calloc, so that the kernel hands out zero pages only when they are touched; aligned by hand.
struct Mem : plugin::Object {
  explicit Mem(uint64_t bytes) : size(bytes) {
    if (bytes <= SIZE_MAX - alignment) base = std::calloc(size_t(bytes) + alignment, 1);
    if (!base) throw Failure(QDB_E_DEVICE_MEMORY, "no memory for " + std::to_string(bytes) + " bytes");
    data = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(base) + alignment - 1) / alignment * alignment);
  }
  Mem(const Mem &) = delete;
  Mem &operator=(const Mem &) = delete;
  ~Mem() { std::free(base); }

  void info(QdbMemInfo &out) const {
    out.size = size;
    out.address = reinterpret_cast<uintptr_t>(data);
    out.host = data;
  }

  static constexpr size_t alignment = 64;
  uint64_t size;
  void *base = nullptr;
  char *data = nullptr;
};

// A place of a copy or fill: an offset in `mem`, or a host address when mem is NULL.
inline char *place(QdbMem *mem, uint64_t offset, uint64_t size, const char *what) {
  if (!mem) {
    if (offset == 0 && size != 0) throw Failure(QDB_E_INVALID, std::string(what) + " is a null host address");
    return reinterpret_cast<char *>(uintptr_t(offset));
  }
  Mem &m = *plugin::object<Mem>(mem);
  if (offset > m.size || size > m.size - offset)
    throw Failure(QDB_E_INVALID, std::string(what) + ": bytes " + std::to_string(offset) + " + " +
                                     std::to_string(size) + " lie outside an allocation of " + std::to_string(m.size));
  return m.data + offset;
}

inline void copy(const QdbCopy &c) {
  char *dst = place(c.dst, c.dst_offset, c.size, "destination of a copy");
  const char *src = place(c.src, c.src_offset, c.size, "source of a copy");
  if (c.size) std::memmove(dst, src, size_t(c.size));
}

inline void fill(const QdbFill &f) {
  const uint32_t n = f.pattern_bytes;
  if ((n != 1 && n != 2 && n != 4 && n != 8) || f.size % n != 0)
    throw Failure(QDB_E_INVALID,
                  "fill of " + std::to_string(f.size) + " bytes with a pattern of " + std::to_string(n) + " bytes");
  char *dst = place(f.dst, f.dst_offset, f.size, "destination of a fill");
  if (!f.size) return;
  std::memcpy(dst, &f.pattern, n);
  for (uint64_t done = n; done < f.size;) {  // doubling
    const uint64_t step = std::min(done, f.size - done);
    std::memcpy(dst + done, dst, size_t(step));
    done += step;
  }
}

}  // namespace qd::host_memory

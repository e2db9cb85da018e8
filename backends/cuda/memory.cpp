// memory.cpp: allocations, copies, fills. Pageable host memory goes through pinned buffers in lanes, a lane a thread:
// while the device copies one buffer of a lane, its thread fills or empties the other, and fresh pages of the host's
// memory are made while the device works. Small copies are the driver's.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "backends/cuda/cuda.hpp"

namespace qd::cuda {
namespace {

using plugin::Failure;

constexpr uint64_t staged_from = 256u << 10;

CUdeviceptr place(QdbMem *mem, uint64_t offset, uint64_t size, const char *what) {
  const auto *m = plugin::object<Mem>(mem);
  if (offset > m->size() || size > m->size() - offset)
    throw Failure(QDB_E_INVALID, std::string(what) + ": bytes " + std::to_string(offset) + " to " +
                                     std::to_string(offset + size) + " of memory of " + std::to_string(m->size()) +
                                     " bytes");
  return m->address() + offset;
}

// Makes the pages that bytes are about to be written to. Where the system can't, writing does it, a fault a page.
void populate(char *to, uint64_t size) {
#ifndef MADV_POPULATE_WRITE
  constexpr int MADV_POPULATE_WRITE = 23;
#endif
  static const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(to) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(to) + size) / page * page;
  if (end > begin) (void)madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_WRITE);
}

}  // namespace

Mem::Mem(Device &device, uint64_t size) : device_(device), size_(size) {
  const Current current(device.driver(), device.primary().context);
  address_ = device.allocate(size);
}

Mem::~Mem() {
  try {
    const Current current(device_.driver(), device_.primary().context);
    device_.release(address_);
  } catch (const Failure &) {  // the driver is beyond answering
  }
}

void Mem::info(QdbMemInfo &m) const {
  m.size = size_;
  m.address = address_;
  m.host = nullptr;
}

// Calls body(lane, first piece, step) for each lane, side by side on the host's threads, within the context.
template <class F>
void Stream::in_lanes(const Call &call, uint64_t pieces, F &&body) {
  auto &staging = device_.staging();
  const std::lock_guard lock(staging.mutex);
  const uint64_t lanes = std::min<uint64_t>({pieces, Device::Staging::most, std::max(call.host.workers(), 1u)});
  call.host.parallel_for(lanes, 1, [&](uint64_t begin, uint64_t end, uint32_t) {
    const Current current(device_.driver(), device_.primary().context);
    for (uint64_t k = begin; k < end; k++) body(device_.lane(uint32_t(k)), k, lanes);
  });
}

void Stream::to_device(const Call &call, CUdeviceptr to, const char *from, uint64_t size) {
  const Driver &d = device_.driver();
  if (size < staged_from) return QDX_CUDA(d, cuMemcpyHtoDAsync, to, from, size, stream_);
  constexpr uint64_t bytes = Device::Lane::bytes;
  const uint64_t pieces = (size + bytes - 1) / bytes;
  in_lanes(call, pieces, [&](Device::Lane &lane, uint64_t piece, uint64_t step) {
    for (int k = 0; piece < pieces; piece += step, k ^= 1) {
      const uint64_t at = piece * bytes, n = std::min(bytes, size - at);
      QDX_CUDA(d, cuEventSynchronize, lane.done[k]);  // of a copy out of this buffer, also an earlier call's
      std::memcpy(lane.data[k], from + at, n);
      QDX_CUDA(d, cuMemcpyHtoDAsync, to + at, lane.data[k], n, stream_);
      QDX_CUDA(d, cuEventRecord, lane.done[k], stream_);
    }
  });
}

void Stream::to_host(const Call &call, char *to, CUdeviceptr from, uint64_t size) {
  const Driver &d = device_.driver();
  if (size < staged_from) return QDX_CUDA(d, cuMemcpyDtoHAsync, to, from, size, stream_);
  constexpr uint64_t bytes = Device::Lane::bytes;
  const uint64_t pieces = (size + bytes - 1) / bytes;
  const auto length = [&](uint64_t piece) { return std::min(bytes, size - piece * bytes); };
  in_lanes(call, pieces, [&](Device::Lane &lane, uint64_t piece, uint64_t step) {
    const auto start = [&](uint64_t p, int k) {
      QDX_CUDA(d, cuEventSynchronize, lane.done[k]);
      QDX_CUDA(d, cuMemcpyDtoHAsync, lane.data[k], from + p * bytes, length(p), stream_);
      QDX_CUDA(d, cuEventRecord, lane.done[k], stream_);
    };
    start(piece, 0);
    for (int k = 0; piece < pieces; piece += step, k ^= 1) {
      if (piece + step < pieces) start(piece + step, k ^ 1);
      populate(to + piece * bytes, length(piece));
      QDX_CUDA(d, cuEventSynchronize, lane.done[k]);
      std::memcpy(to + piece * bytes, lane.data[k], length(piece));
    }
  });
}

void Stream::copy(const Call &call, const QdbCopy &c) {
  if (!c.size) return;
  const Driver &d = device_.driver();
  const Current current(d, device_.primary().context);
  const auto host = [](uint64_t address) { return reinterpret_cast<char *>(uintptr_t(address)); };
  if (c.dst && c.src) {
    QDX_CUDA(d, cuMemcpyDtoDAsync, place(c.dst, c.dst_offset, c.size, "copy to"),
             place(c.src, c.src_offset, c.size, "copy from"), c.size, stream_);
  } else if (c.dst) {
    to_device(call, place(c.dst, c.dst_offset, c.size, "copy to"), host(c.src_offset), c.size);
  } else if (c.src) {
    to_host(call, host(c.dst_offset), place(c.src, c.src_offset, c.size, "copy from"), c.size);
  } else {
    QDX_CUDA(d, cuStreamSynchronize, stream_);
    std::memmove(host(c.dst_offset), host(c.src_offset), c.size);
  }
}

// The driver fills with up to four bytes; eight are written once and doubled.
void Stream::fill(const Call &, const QdbFill &f) {
  const uint32_t w = f.pattern_bytes;
  if ((w != 1 && w != 2 && w != 4 && w != 8) || f.size % w)
    throw Failure(QDB_E_INVALID, "fill: " + std::to_string(f.size) + " bytes with a pattern of " + std::to_string(w));
  if (!f.size) return;
  const Driver &d = device_.driver();
  const Current current(d, device_.primary().context);
  const CUdeviceptr to = place(f.dst, f.dst_offset, f.size, "fill");
  const auto low = unsigned(f.pattern);
  if (w == 8 && f.pattern >> 32 != low) {
    QDX_CUDA(d, cuMemcpyHtoDAsync, to, &f.pattern, 8, stream_);
    for (uint64_t done = 8; done < f.size; done *= 2)
      QDX_CUDA(d, cuMemcpyDtoDAsync, to + done, to, std::min(done, f.size - done), stream_);
  } else if (w >= 4) {
    QDX_CUDA(d, cuMemsetD32Async, to, low, f.size / 4, stream_);
  } else if (w == 2) {
    QDX_CUDA(d, cuMemsetD16Async, to, static_cast<unsigned short>(low), f.size / 2, stream_);
  } else {
    QDX_CUDA(d, cuMemsetD8Async, to, static_cast<unsigned char>(low), f.size, stream_);
  }
}

}  // namespace qd::cuda

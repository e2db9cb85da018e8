// memory.cpp: allocations, copies, fills. Pageable host memory goes through two pinned buffers: while the device copies
// one, the host fills or empties the other, on several threads where there is much of it. Small copies are the
// driver's.
#include <cstring>

#include "backends/cuda/cuda.hpp"

namespace qd::cuda {
namespace {

using plugin::Failure;

constexpr uint64_t staged_from = 256u << 10, copy_grain = 512u << 10;

CUdeviceptr place(QdbMem *mem, uint64_t offset, uint64_t size, const char *what) {
  const auto *m = plugin::object<Mem>(mem);
  if (offset > m->size() || size > m->size() - offset)
    throw Failure(QDB_E_INVALID, std::string(what) + ": bytes " + std::to_string(offset) + " to " +
                                     std::to_string(offset + size) + " of memory of " + std::to_string(m->size()) +
                                     " bytes");
  return m->address() + offset;
}

// The first touch of fresh pages is what costs: threads share it.
void copy_host(const Call &call, char *to, const char *from, uint64_t size) {
  if (size <= copy_grain) return void(std::memcpy(to, from, size));
  call.host.parallel_for(size, copy_grain, [&](uint64_t begin, uint64_t end, uint32_t) {
    std::memcpy(to + begin, from + begin, end - begin);
  });
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

void Stream::to_device(const Call &call, CUdeviceptr to, const char *from, uint64_t size) {
  const Driver &d = device_.driver();
  if (size < staged_from) return QDX_CUDA(d, cuMemcpyHtoDAsync, to, from, size, stream_);
  auto &s = device_.staging();
  const std::lock_guard lock(s.mutex);
  int k = 0;
  for (uint64_t at = 0; at < size; at += Device::Staging::bytes, k ^= 1) {
    const uint64_t n = std::min(Device::Staging::bytes, size - at);
    QDX_CUDA(d, cuEventSynchronize, s.done[k]);  // of a copy out of this buffer, also an earlier call's
    copy_host(call, s.data[k], from + at, n);
    QDX_CUDA(d, cuMemcpyHtoDAsync, to + at, s.data[k], n, stream_);
    QDX_CUDA(d, cuEventRecord, s.done[k], stream_);
  }
}

void Stream::to_host(const Call &call, char *to, CUdeviceptr from, uint64_t size) {
  const Driver &d = device_.driver();
  if (size < staged_from) return QDX_CUDA(d, cuMemcpyDtoHAsync, to, from, size, stream_);
  auto &s = device_.staging();
  const std::lock_guard lock(s.mutex);
  const uint64_t step = Device::Staging::bytes, pieces = (size + step - 1) / step;
  const auto length = [&](uint64_t piece) { return std::min(step, size - piece * step); };
  const auto start = [&](uint64_t piece) {
    const int k = int(piece & 1);
    QDX_CUDA(d, cuEventSynchronize, s.done[k]);
    QDX_CUDA(d, cuMemcpyDtoHAsync, s.data[k], from + piece * step, length(piece), stream_);
    QDX_CUDA(d, cuEventRecord, s.done[k], stream_);
  };
  start(0);
  for (uint64_t piece = 0; piece < pieces; piece++) {
    if (piece + 1 < pieces) start(piece + 1);
    QDX_CUDA(d, cuEventSynchronize, s.done[piece & 1]);
    copy_host(call, to + piece * step, s.data[piece & 1], length(piece));
  }
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

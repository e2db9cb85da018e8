// launch.cpp: streams and launches. A launch is one call of the driver: the argument block is the kernel's first
// parameter, copied by the driver, so nothing is allocated and nothing has to be kept. Grids are no larger than what
// the device runs at once, times a few: threads walk on by grid strides.
#include <algorithm>
#include <climits>

#include "backends/cuda/cuda.hpp"

namespace qd::cuda {
namespace {

constexpr uint32_t smallest_block = 64;

// Blocks per place on the device (measured on an H200). Reductions and grids of several axes want few long-lived
// threads, because each of them begins with shuffles or divisions; everything else the balance of many.
uint32_t waves(const QdxCudaMeta &m) { return m.partials ? 1 : m.axes > 1 ? 2 : 32; }

// Of reductions: a word for each block and partial result that has to be added in order, behind a counter.
constexpr uint64_t most_partials = 32, most_blocks_at_once = 32;
uint64_t scratch_words(const Primary &p) { return most_partials * most_blocks_at_once * p.multiprocessors; }

}  // namespace

Stream::Stream(Device &device) : device_(device) {
  const Current current(device.driver(), device.primary().context);
  QDX_CUDA(device.driver(), cuStreamCreate, &stream_, stream_non_blocking);
  device.add(this);
}

Stream::~Stream() {
  device_.remove(this);
  try {
    const Current current(device_.driver(), device_.primary().context);
    device_.driver().cuStreamSynchronize(stream_);
    if (scratch_) device_.release(scratch_);
    device_.driver().cuStreamDestroy(stream_);
  } catch (const plugin::Failure &) {  // the driver is beyond answering
  }
}

void Stream::sync(const Call &) {
  const Current current(device_.driver(), device_.primary().context);
  QDX_CUDA(device_.driver(), cuStreamSynchronize, stream_);
}

// Launches of one stream run one after another, so they share it.
CUdeviceptr Stream::scratch() {
  std::call_once(scratch_once_, [&] { scratch_ = device_.allocate(8 * (1 + scratch_words(device_.primary()))); });
  return scratch_;
}

// Once an entry: finds its function, which loads its code, and how many blocks the device runs at once.
void Stream::prepare(Entry &e) {
  const std::lock_guard lock(device_.prepare_mutex);
  if (e.function.load(std::memory_order_relaxed)) return;
  const Driver &d = device_.driver();
  const Primary &p = device_.primary();
  CUfunction f = nullptr;
  if (const CUresult r = d.cuModuleGetFunction(&f, e.code->module(), e.symbol.c_str()))
    fail(d, r, "cuModuleGetFunction", e.symbol);
  e.block = e.meta.serial ? 1 : e.meta.block;
  int blocks = 0;
  if (const CUresult r = d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, int(e.block), 0))
    fail(d, r, "cuOccupancyMaxActiveBlocksPerMultiprocessor", e.symbol);
  e.places = uint32_t(std::max(blocks, 1)) * p.multiprocessors;
  e.most_blocks = uint32_t(std::min<uint64_t>(uint64_t(e.places) * waves(e.meta), INT_MAX));
  if (e.meta.scratch) e.most_blocks = uint32_t(std::min<uint64_t>(e.most_blocks, scratch_words(p) / e.meta.scratch));
  e.function.store(f, std::memory_order_release);
}

// An argument block too large for a parameter: it travels through memory.
void Stream::launch_large(Entry &e, const QdbLaunch &l, void **parameters, uint32_t blocks, uint32_t size) {
  const Driver &d = device_.driver();
  CUdeviceptr block = device_.allocate(l.arg_bytes);
  parameters[0] = &block;
  CUresult r = d.cuMemcpyHtoDAsync(block, l.args, l.arg_bytes, stream_);
  if (!r) r = d.cuLaunchKernel(e.function.load(), blocks, 1, 1, size, 1, 1, 0, stream_, parameters, nullptr);
  device_.release(block);
  if (r) fail(d, r, "cuLaunchKernel", e.symbol);
}

void Stream::launch_one(const QdbLaunch &l) {
  Entry &e = *reinterpret_cast<Entry *>(l.entry);
  if (l.arg_bytes < 8ull * e.meta.arg_words)
    throw plugin::Failure(QDB_E_INVALID,
                          "launch: expected " + std::to_string(8 * e.meta.arg_words) + " bytes of arguments, found " +
                              std::to_string(l.arg_bytes),
                          e.symbol);
  int64_t begin = l.begin, end = l.end, check = l.flags & QDB_LAUNCH_REPORTS ? 1 : 0;
  const bool unknown = (l.flags & QDB_LAUNCH_RANGE_UNKNOWN) && !e.meta.serial;
  if (unknown) begin = 0, end = INT64_MIN;
  else if (begin >= end && !(l.flags & QDB_LAUNCH_RANGE_UNKNOWN)) return;
  if (!e.function.load(std::memory_order_acquire)) prepare(e);
  uint32_t blocks = 1, block = e.block;
  if (!e.meta.serial) {
    blocks = e.most_blocks;
    if (!unknown) {
      const uint64_t n = uint64_t(end) - uint64_t(begin);
      // Few positions: smaller blocks, so that every multiprocessor has some.
      while (!e.meta.asked && block > smallest_block && n < uint64_t(block) * 2 * device_.primary().multiprocessors)
        block /= 2;
      uint64_t wanted = (n + block - 1) / block;
      // Enough for every thread: it works on several positions side by side.
      if (wanted / e.meta.batch >= e.places) wanted = (wanted + e.meta.batch - 1) / e.meta.batch;
      blocks = uint32_t(std::min<uint64_t>(wanted, blocks));
    }
  }
  CUdeviceptr memory = e.meta.scratch ? scratch() : 0;
  void *parameters[] = {const_cast<void *>(l.args), &begin, &end, &check, &memory};
  if (e.meta.arg_words > QDX_CUDA_MAX_BLOCK) return launch_large(e, l, parameters, blocks, block);
  const Driver &d = device_.driver();
  const CUresult r = d.cuLaunchKernel(e.function.load(std::memory_order_relaxed), blocks, 1, 1, block, 1, 1, 0, stream_,
                                      parameters, nullptr);
  if (r) [[unlikely]]
    fail(d, r, "cuLaunchKernel", e.symbol);
}

void Stream::launch(const Call &, const QdbLaunch *launches, uint32_t stride, uint32_t n) {
  const Current current(device_.driver(), device_.primary().context);
  for (uint32_t i = 0; i < n; i++) launch_one(plugin::at(launches, stride, i));
}

}  // namespace qd::cuda

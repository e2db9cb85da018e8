// launch.cpp: launches. A task is one call of the driver: the argument block is the kernel's first
// parameter, copied by the driver, so nothing is allocated and nothing has to be kept. Several become a graph. Grids
// are no larger than what the device runs at once, times a few: threads walk on by grid strides.
#include <algorithm>
#include <climits>

#include "backends/cuda/cuda.hpp"

namespace qd::cuda {
namespace {

constexpr uint32_t smallest_block = 64, most_lanes = 8;

uint32_t lane_of(uint32_t flags) {
  const uint32_t section = QDB_LAUNCH_SECTION_OF(flags);
  return section ? 1 + (section - 1) % most_lanes : 0;
}

// Blocks per place on the device (measured on an H200). Reductions and grids of several axes want few long-lived
// threads, because each of them ends with shuffles or begins with divisions; everything else the balance of many.
uint32_t waves(const QdxCudaMeta &m) {
  if (m.partials) return 1;
  return m.axes > 1 && m.batch == 1 ? 1 : 32;
}

// Of reductions: a word for each block and partial result that has to be added in order, behind a counter.
constexpr uint64_t most_partials = 32, most_blocks_at_once = 32;
uint64_t scratch_words(const Primary &p) { return most_partials * most_blocks_at_once * p.multiprocessors; }

}  // namespace

// Launches of one stream, or lane of it, run one after another, so they share it; calls on one stream come one at a
// time.
CUdeviceptr Stream::scratch(uint32_t k) {
  CUdeviceptr &address = k ? lane(k).scratch : scratch_;
  if (!address) address = device_.allocate(8 * (1 + scratch_words(device_.primary())));
  return address;
}

// The assembler knows how much stack code needs, unless functions call themselves. All threads that the device runs at
// once have one of this size.
void Stream::make_room_for_recursion() {
  constexpr size_t bytes = 4096;
  const Driver &d = device_.driver();
  size_t now = 0;
  QDX_CUDA(d, cuCtxGetLimit, &now, limit_stack_size);
  if (now < bytes) QDX_CUDA(d, cuCtxSetLimit, limit_stack_size, bytes);
}

void Stream::allow_shared(const Entry &e, CUfunction f) {
  const Driver &d = device_.driver();
  if (e.meta.shared > device_.primary().max_shared)
    throw plugin::Failure(QDB_E_UNSUPPORTED,
                          "the shared arrays of a loop need " + std::to_string(e.meta.shared) +
                              " bytes, a block of this device has at most " +
                              std::to_string(device_.primary().max_shared),
                          e.symbol);
  if (const CUresult r = d.cuFuncSetAttribute(f, function_shared_bytes, int(e.meta.shared)))
    fail(d, r, "cuFuncSetAttribute", e.symbol);
}

// Once an entry: finds its function, which loads its code, and how many blocks the device runs at once.
void Stream::prepare(Entry &e) {
  const std::lock_guard lock(device_.prepare_mutex);
  if (e.function.load(std::memory_order_relaxed)) return;
  const Driver &d = device_.driver();
  const Primary &p = device_.primary();
  CUfunction f = nullptr;
  if (const CUresult r = d.cuModuleGetFunction(&f, e.code->module(), e.code->function().c_str()))
    fail(d, r, "cuModuleGetFunction", e.symbol);
  if (e.meta.recursive) make_room_for_recursion();
  e.early = e.meta.early && p.early;
  e.block = e.meta.serial ? 1 : e.meta.block;
  if (e.meta.shared) allow_shared(e, f);
  int blocks = 0;
  if (const CUresult r = d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, int(e.block), e.meta.shared))
    fail(d, r, "cuOccupancyMaxActiveBlocksPerMultiprocessor", e.symbol);
  e.places = uint32_t(std::max(blocks, 1)) * p.multiprocessors;
  e.most_blocks = uint32_t(std::min<uint64_t>(uint64_t(e.places) * waves(e.meta), INT_MAX));
  if (e.meta.scratch) e.most_blocks = uint32_t(std::min<uint64_t>(e.most_blocks, scratch_words(p) / e.meta.scratch));
  e.function.store(f, std::memory_order_release);
}

// An argument block too large for a parameter: it travels through memory.
void Stream::launch_large(Ready &r, CUstream stream) {
  const Driver &d = device_.driver();
  const uint64_t bytes = 8ull * r.entry->meta.arg_words;
  CUdeviceptr block = device_.allocate(bytes);
  void *parameters[] = {&block, &r.begin, &r.end, &r.check, &r.scratch};
  CUresult failed = d.cuMemcpyHtoDAsync(block, r.args, bytes, stream);
  if (!failed)
    failed = d.cuLaunchKernel(r.entry->function.load(), r.blocks, 1, 1, r.block, 1, 1, r.entry->meta.shared, stream,
                              parameters, nullptr);
  device_.release(block);
  if (failed) fail(d, failed, "cuLaunchKernel", r.entry->symbol);
}

// Geometry and range of a task. False: it has nothing to do.
bool Stream::ready(const QdbLaunch &l, Ready &r) {
  Entry &e = *reinterpret_cast<Entry *>(l.entry);
  if (l.arg_bytes < 8ull * e.meta.arg_words)
    throw plugin::Failure(QDB_E_INVALID,
                          "launch: expected " + std::to_string(8 * e.meta.arg_words) + " bytes of arguments, found " +
                              std::to_string(l.arg_bytes),
                          e.symbol);
  r = {.entry = &e,
       .blocks = 1,
       .block = 0,
       .begin = l.begin,
       .end = l.end,
       .check = l.flags & QDB_LAUNCH_REPORTS ? 1 : 0,
       .scratch = 0,
       .args = l.args,
       .lane = device_.settings().each ? 0 : lane_of(l.flags)};
  const bool unknown = (l.flags & QDB_LAUNCH_RANGE_UNKNOWN) && !e.meta.serial;
  if (unknown) r.begin = 0, r.end = INT64_MIN;
  else if (r.begin >= r.end && !(l.flags & QDB_LAUNCH_RANGE_UNKNOWN)) return false;
  if (!e.function.load(std::memory_order_acquire)) prepare(e);
  r.block = e.block;
  if (e.meta.scratch) r.scratch = scratch(r.lane);
  if (e.meta.serial) return true;
  r.blocks = e.most_blocks;
  if (unknown) return true;
  const uint64_t n = uint64_t(r.end) - uint64_t(r.begin);
  // Few positions: smaller blocks, so that every multiprocessor has some.
  while (!e.meta.asked && r.block > smallest_block && n < uint64_t(r.block) * 2 * device_.primary().multiprocessors)
    r.block /= 2;
  uint64_t wanted = (n + r.block - 1) / r.block;
  // Enough for every thread: it works on several positions side by side.
  if (wanted / e.meta.batch >= e.places) wanted = (wanted + e.meta.batch - 1) / e.meta.batch;
  r.blocks = uint32_t(std::min<uint64_t>(wanted, r.blocks));
  return true;
}

void Stream::launch_one(Ready &r, CUstream stream) {
  if (r.entry->meta.arg_words > QDX_CUDA_MAX_BLOCK) return launch_large(r, stream);
  const Driver &d = device_.driver();
  const CUfunction f = r.entry->function.load(std::memory_order_relaxed);
  void *parameters[] = {const_cast<void *>(r.args), &r.begin, &r.end, &r.check, &r.scratch};
  const unsigned shared = r.entry->meta.shared;
  CUresult failed = 0;
  if (r.entry->early) {
    const LaunchConfig config{{r.blocks, 1, 1}, {r.block, 1, 1}, shared, stream, &early_launch, 1};
    failed = d.cuLaunchKernelEx(&config, f, parameters, nullptr);
  } else {
    failed = d.cuLaunchKernel(f, r.blocks, 1, 1, r.block, 1, 1, shared, stream, parameters, nullptr);
  }
  if (failed) [[unlikely]]
    fail(d, failed, "cuLaunchKernel", r.entry->symbol);
  if (device_.settings().each)
    if (const CUresult fault = d.cuStreamSynchronize(stream)) fail(d, fault, "cuStreamSynchronize", r.entry->symbol);
}

// Several tasks: as a graph where there is one.
void Stream::launch_many(const Entry *first) {
  bool fits = graphs_on_;
  for (const Ready &r : ready_) fits = fits && r.entry->meta.arg_words <= QDX_CUDA_MAX_BLOCK;
  if (fits && ready_.size() > 1) {
    const std::lock_guard lock(graphs_mutex_);
    auto &graph = graphs_[first];
    if (!graph) graph = std::make_unique<Graph>(device_.driver());
    if (graph->launch(ready_, stream_)) return;
  }
  if (std::any_of(ready_.begin(), ready_.end(), [](const Ready &r) { return r.lane != 0; })) return launch_in_lanes();
  for (Ready &r : ready_) launch_one(r, stream_);
}

void Stream::launch(const Call &, const QdbLaunch *launches, uint32_t stride, uint32_t n) {
  const Current current(device_.driver(), device_.primary().context);
  Ready one;
  if (n == 1) {
    if (ready(*launches, one)) launch_one(one, stream_);
    return;
  }
  ready_.clear();
  for (uint32_t i = 0; i < n; i++)
    if (ready(plugin::at(launches, stride, i), one)) ready_.push_back(one);
  if (n) launch_many(reinterpret_cast<const Entry *>(launches->entry));
}

void Stream::forget(const Entry *first) {
  const std::lock_guard lock(graphs_mutex_);
  graphs_.erase(first);
}

}  // namespace qd::cuda

// device.cpp: the instance and its devices. The driver is opened by the first question about devices, never before.
#include <algorithm>
#include <map>

#include "backends/cuda/cuda.hpp"
#include "backends/cuda/names.hpp"
#include "backends/cuda/target.hpp"
#include "qd/wire.h"

namespace qd::cuda {
namespace {

uint32_t attribute(const Driver &d, int what, CUdevice device) {
  int value = 0;
  QDX_CUDA(d, cuDeviceGetAttribute, &value, what, device);
  return uint32_t(value);
}

CUdevice device_of(const Driver &d, uint32_t index) {
  CUdevice device = 0;
  QDX_CUDA(d, cuDeviceGet, &device, int(index));
  return device;
}

uint32_t capability_of(const Driver &d, CUdevice device) {
  return attribute(d, attribute_cc_major, device) * 10 + attribute(d, attribute_cc_minor, device);
}

// Above 48 KiB it has to be asked for, kernel by kernel.
uint32_t max_shared_of(const Driver &d, CUdevice device) {
  return std::max(attribute(d, attribute_max_shared_asked_for, device), attribute(d, attribute_max_shared, device));
}

// Freed memory stays with the pool: giving it back to the system costs more than most kernels.
bool keep_pool(const Driver &d, CUdevice device) {
  CUmemoryPool pool = nullptr;
  if (!d.cuMemAllocAsync || !d.cuMemFreeAsync || !d.cuDeviceGetDefaultMemPool || !d.cuMemPoolSetAttribute) return false;
  if (!attribute(d, attribute_memory_pools, device) || d.cuDeviceGetDefaultMemPool(&pool, device)) return false;
  uint64_t keep = UINT64_MAX;
  return d.cuMemPoolSetAttribute(pool, pool_release_threshold, &keep) == 0;
}

}  // namespace

const Primary &primary_of(uint32_t index) {
  static std::mutex mutex;
  static auto &kept = *new std::map<uint32_t, Primary>;  // until the process ends
  const std::lock_guard lock(mutex);
  if (const auto it = kept.find(index); it != kept.end()) return it->second;
  const Driver &d = driver();
  Primary p{&d, device_of(d, index), nullptr, 0, 0, 0, 0, false, false};
  p.capability = capability_of(d, p.device);
  if (!code_target(p.capability))
    throw plugin::Failure(QDB_E_NO_DEVICE, "device " + std::to_string(index) + " has compute capability " +
                                               std::to_string(p.capability / 10) + "." +
                                               std::to_string(p.capability % 10) + ", expected 6.0 or newer");
  p.multiprocessors = attribute(d, attribute_sm_count, p.device);
  p.max_block = attribute(d, attribute_max_block, p.device);
  p.max_shared = max_shared_of(d, p.device);
  QDX_CUDA(d, cuDevicePrimaryCtxRetain, &p.context, p.device);
  p.pools = keep_pool(d, p.device);
  p.early = p.capability >= 90 && d.cuLaunchKernelEx;
  return kept.emplace(index, p).first->second;
}

void Instance::caps(QdbCaps &c) const {
  c.units = QDB_UNIT_TASK | QDB_UNIT_KERNEL;
  c.caps = QDB_CAP_COMPILE_MT | QDB_CAP_OFFLINE | QDB_CAP_THREADS | QDB_CAP_FINISH | QDB_CAP_RECURSION;
  c.ir_major = QD_WIRE_MAJOR, c.ir_minor = QD_WIRE_MINOR;
}

uint32_t Instance::device_count(const Call &) const {
  const Driver &d = driver();
  int n = 0;
  QDX_CUDA(d, cuDeviceGetCount, &n);
  return uint32_t(std::max(n, 0));
}

void Instance::device_info(const Call &, uint32_t index, QdbDeviceInfo &out) const {
  const Driver &d = driver();
  const CUdevice device = device_of(d, index);
  out.kind = QDB_KIND_GPU;
  QDX_CUDA(d, cuDeviceGetName, out.name, int(sizeof out.name), device);
  plugin::copy_text(out.isa, "sm_" + std::to_string(capability_of(d, device)));
  plugin::copy_text(out.driver_version,
                    "CUDA " + std::to_string(d.version / 1000) + "." + std::to_string(d.version % 1000 / 10));
  size_t bytes = 0;
  QDX_CUDA(d, cuDeviceTotalMem, &bytes, device);
  out.total_memory = bytes;
  out.subgroup_size = 32;
  out.max_block_threads = attribute(d, attribute_max_block, device);
  out.max_block_shared = max_shared_of(d, device);
  out.clock_khz = attribute(d, attribute_clock_khz, device);
}

std::unique_ptr<Device> Instance::open(const Call &, uint32_t index) {
  auto device = std::make_unique<Device>(primary_of(index), settings_);
  opened_.store(index, std::memory_order_relaxed);
  return device;
}

Settings::Settings(const plugin::Options &o)
    : graphs(o.integer("graphs", 1) != 0),
      each(o.integer("debug", 0) != 0),
      memory_mib(uint64_t(std::max<int64_t>(o.integer("device_memory_mib", 0), 0))),
      memory_permille(uint64_t(std::max<int64_t>(o.integer("device_memory_permille", 0), 0))) {}

Device::Device(const Primary &p, const Settings &settings) : primary_(p), settings_(settings) {
  const Driver &d = driver();
  const Current current(d, p.context);
  CUresult r = d.cuStreamCreate(&service_, stream_non_blocking);
  if (!r) r = d.cuEventCreate(&order_, event_disable_timing);
  if (!r && p.pools) r = take_memory();
  if (!r) return;
  if (order_) d.cuEventDestroy(order_);
  if (service_) d.cuStreamDestroy(service_);
  fail(d, r, "opening the device with " + std::to_string(wanted_memory() >> 20) + " MiB taken beforehand");
}

uint64_t Device::wanted_memory() const {
  size_t total = 0;
  if (!settings_.memory_permille || driver().cuDeviceTotalMem(&total, primary_.device)) total = 0;
  return std::max<uint64_t>(settings_.memory_mib << 20, total / 1000 * settings_.memory_permille);
}

// device_memory_GB, device_memory_fraction: what the pool once had, it keeps.
CUresult Device::take_memory() {
  const Driver &d = driver();
  const uint64_t bytes = wanted_memory();
  CUdeviceptr p = 0;
  if (!bytes) return 0;
  CUresult r = d.cuMemAllocAsync(&p, bytes, service_);
  if (!r) r = d.cuMemFreeAsync(p, service_);
  return r ? r : d.cuStreamSynchronize(service_);
}

// Errors are not looked at: a lost device answers each of these with its old error.
Device::~Device() {
  const Driver &d = driver();
  try {
    const Current current(d, primary_.context);
    for (Lane &lane : staging_.lanes)
      for (int side = 0; side < 2; side++) {
        if (lane.data[side]) d.cuMemFreeHost(lane.data[side]);
        if (lane.done[side]) d.cuEventDestroy(lane.done[side]);
      }
    d.cuStreamSynchronize(service_);
    d.cuEventDestroy(order_);
    d.cuStreamDestroy(service_);
  } catch (const plugin::Failure &) {  // the driver is beyond answering
  }
}

void Device::sync(const Call &) {
  const Current current(driver(), primary_.context);
  const std::lock_guard lock(streams_mutex_);
  for (const Stream *s : streams_) QDX_CUDA(driver(), cuStreamSynchronize, s->raw());
}

void Device::drain() noexcept {
  const std::lock_guard lock(streams_mutex_);
  for (const Stream *s : streams_) driver().cuStreamSynchronize(s->raw());
}

plugin::Blob Device::target(const Call &call, uint32_t level) {
  const QdxCudaTarget t = target_of(primary_.capability, uint32_t(driver().version), level);
  return call.host.blob(std::string_view(reinterpret_cast<const char *>(&t), sizeof t));
}

// What the stream is given from here on finds memory that was allocated before it cleared.
CUresult Device::add(Stream *s) {
  const std::lock_guard lock(streams_mutex_);
  streams_.push_back(s);
  const CUresult r = driver().cuEventRecord(order_, service_);
  return r ? r : driver().cuStreamWaitEvent(s->raw(), order_, 0);
}

void Device::remove(Stream *s) {
  const std::lock_guard lock(streams_mutex_);
  std::erase(streams_, s);
}

void Device::forget(const Entry *e) {
  const std::lock_guard lock(streams_mutex_);
  for (Stream *s : streams_) s->forget(e);
}

// In whole words: an atomic of a byte works on the four around it. The host waits for nothing: allocation and clearing
// are in the order of a stream of their own, for which the others wait. Only when memory is short are frees waited for.
CUdeviceptr Device::allocate(uint64_t size) {
  size = (size + 15) / 16 * 16;
  const Driver &d = driver();
  CUdeviceptr p = 0;
  const auto attempt = [&] { return primary_.pools ? d.cuMemAllocAsync(&p, size, service_) : d.cuMemAlloc(&p, size); };
  CUresult r = attempt();
  if (r && status_of(r) == QDB_E_DEVICE_MEMORY && d.cuStreamSynchronize(service_) == 0) r = attempt();
  if (r) fail(d, r, "an allocation of " + std::to_string(size) + " bytes");
  r = d.cuMemsetD8Async(p, 0, size, service_);
  if (!r) r = publish();
  if (r) {
    release(p);
    fail(d, r, "clearing new memory");
  }
  return p;
}

CUresult Device::publish() {
  const Driver &d = driver();
  const std::lock_guard lock(streams_mutex_);
  CUresult r = d.cuEventRecord(order_, service_);
  for (const Stream *s : streams_)
    if (!r) r = d.cuStreamWaitEvent(s->raw(), order_, 0);
  return r;
}

void Device::release(CUdeviceptr p) noexcept {
  const Driver &d = driver();
  if (!primary_.pools) {
    drain();
    d.cuMemFree(p);
    return;
  }
  const std::lock_guard lock(streams_mutex_);
  for (const Stream *s : streams_) {
    if (d.cuEventRecord(order_, s->raw()) == 0) d.cuStreamWaitEvent(service_, order_, 0);
  }
  d.cuMemFreeAsync(p, service_);
}

std::shared_ptr<Code> Device::code(std::string_view symbol, std::string_view cubin) {
  std::string key(symbol);
  key += '/' + std::to_string(cubin.size()) + '/' + std::to_string(std::hash<std::string_view>()(cubin));
  const std::lock_guard lock(code_mutex_);
  auto &slot = codes_[key];
  auto found = slot.lock();
  if (found) return found;
  if (const auto name = names_.find(std::string(symbol)); name != names_.end())
    found = named_code(symbol, name->second, cubin);
  if (!found) found = std::make_shared<Code>(*this, cubin, std::string(symbol));
  slot = found;
  return found;
}

// Null where the driver doesn't take the code under another name: no tool may keep a program from running.
std::shared_ptr<Code> Device::named_code(std::string_view symbol, const std::string &name, std::string_view cubin) {
  const std::string other = renamed(cubin, symbol, name);
  if (other.empty()) return nullptr;
  try {
    const Current current(driver(), primary_.context);
    auto code = std::make_shared<Code>(*this, other, name);
    CUfunction f = nullptr;
    return driver().cuModuleGetFunction(&f, code->module(), name.c_str()) == 0 ? code : nullptr;
  } catch (const plugin::Failure &) { return nullptr; }
}

void Device::name(std::string_view symbol, std::string_view name) {
  const std::lock_guard lock(code_mutex_);
  names_.try_emplace(std::string(symbol), name);
}

Device::Lane &Device::lane(uint32_t k) {
  const Driver &d = driver();
  Lane &lane = staging_.lanes[k];
  for (int side = 0; side < 2; side++) {
    void *p = nullptr;
    if (!lane.data[side]) QDX_CUDA(d, cuMemHostAlloc, &p, Lane::bytes, 0), lane.data[side] = static_cast<char *>(p);
    if (!lane.done[side]) QDX_CUDA(d, cuEventCreate, &lane.done[side], event_disable_timing);
  }
  return lane;
}

}  // namespace qd::cuda

// fake_driver.cpp: a library that stands in for libcuda.so.1 in tests. It has every function of driver.def, keeps
// device memory on the host, runs nothing, records each call with its arguments, and fails call number n with any code.
// On its clock a kernel takes half a millisecond.
// With QD_FAKE_PTXAS (path of ptxas) its linker assembles PTX for real, so that code is checked without a GPU.
#include "tests/cuda/fake_driver.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/driver.hpp"

using namespace qd::cuda;

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

struct State {
  std::mutex mutex;
  std::vector<std::string> calls;
  std::map<std::string, int> counts;
  std::vector<FakeLaunch> launches;
  int until_failure = -1, failure = 0;
  std::string failing;  // name of the function; empty: any
  int sm = 90, version = 13000, devices = 1;
  uint64_t live = 0, words = 0;
  std::set<void *> held;  // device and pinned memory: what a lost device keeps is no leak
  std::string last_ptx;
  double clock_ms = 0;
  std::map<CUevent, double> timers;  // events that keep time: when they were recorded last
  int lost = 0, until_lost = 0;  // the answer to everything, after so many calls
};
State &state() {
  static auto &s = *new State;
  return s;
}
thread_local std::vector<CUcontext> contexts;

char a_context, a_module;
std::atomic<uint64_t> handles{0x100};
template <class T>
T new_handle() {
  return reinterpret_cast<T>(handles.fetch_add(16));
}

// Records a call; the answer that the test ordered, or 0.
CUresult record(const char *name, const std::string &arguments = {}) {
  State &s = state();
  const std::lock_guard lock(s.mutex);
  s.calls.push_back(std::string(name) + (arguments.empty() ? "" : " " + arguments));
  s.counts[name]++;
  if (s.lost && s.until_lost-- <= 0) return s.lost;
  if (s.until_failure < 0 || (!s.failing.empty() && s.failing != name)) return 0;
  return s.until_failure-- == 0 ? s.failure : 0;
}

template <class T>
std::string text(T *p) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%p", reinterpret_cast<const void *>(p));
  return buffer;
}

void hold(void *p) {
  const std::lock_guard lock(state().mutex);
  state().held.insert(p);
}
void let_go(void *p) {
  {
    const std::lock_guard lock(state().mutex);
    state().held.erase(p);
  }
  std::free(p);
}

CUresult allocate(const char *name, CUdeviceptr *out, size_t bytes) {
  if (const CUresult r = record(name, std::to_string(bytes))) return r;
  *out = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  if (!*out) return 2;
  hold(reinterpret_cast<void *>(*out));
  if (bytes < 1u << 30) std::memset(reinterpret_cast<void *>(*out), 0xcd, bytes);  // larger ones are only held
  state().live++;
  return 0;
}
CUresult release(const char *name, CUdeviceptr p) {
  const CUresult r = record(name);
  if (p) let_go(reinterpret_cast<void *>(p)), state().live--;
  return r;
}

struct Linker {
  std::string ptx, cubin;
  char *log = nullptr;
  size_t log_bytes = 0;
};

CUresult assemble(Linker &l) {
  const char *ptxas = std::getenv("QD_FAKE_PTXAS");
  if (!ptxas) {
    l.cubin = "cubin of\n" + l.ptx;
    return 0;
  }
  char name[] = "/tmp/qd_fake_XXXXXX";
  const int file = mkstemp(name);
  const std::string in = name, out = in + ".cubin", said = in + ".log";
  const bool written = write(file, l.ptx.data(), l.ptx.size()) == ssize_t(l.ptx.size());
  close(file);
  const std::string command =
      std::string(ptxas) + " -arch=sm_" + std::to_string(state().sm) + " " + in + " -o " + out + " >" + said + " 2>&1";
  const int status = written ? std::system(command.c_str()) : -1;
  const auto read = [](const std::string &path) {
    std::ifstream f(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(f), {});
  };
  l.cubin = read(out);
  const std::string log = read(said);
  if (status != 0 && l.log && l.log_bytes) std::snprintf(l.log, l.log_bytes, "%s", log.c_str());
  for (const std::string &path : {in, out, said}) std::remove(path.c_str());
  return status == 0 ? 0 : 218;
}

}  // namespace

FAKE FakeDriver *fake_driver() {
  static FakeDriver table{
      [](const char *name) {
        const std::lock_guard lock(state().mutex);
        return state().counts[name];
      },
      [] {
        const std::lock_guard lock(state().mutex);
        std::string all;
        for (const auto &c : state().calls) all += c + "\n";
        static thread_local std::string kept;
        return (kept = all).c_str();
      },
      [] {
        State &s = state();
        const std::lock_guard lock(s.mutex);
        s.calls.clear(), s.counts.clear(), s.launches.clear();
        s.until_failure = -1, s.lost = 0;
      },
      [](const char *name, int calls, int code) {
        State &s = state();
        const std::lock_guard lock(s.mutex);
        s.failing = name, s.until_failure = calls, s.failure = code;
      },
      [](int sm, int version, int devices) { state().sm = sm, state().version = version, state().devices = devices; },
      [](uint64_t words) { state().words = words; },
      [] { return state().launches.size(); },
      [](size_t k) -> const FakeLaunch * { return &state().launches[k]; },
      [] { return state().live; },
      [] { return state().last_ptx.c_str(); },
      [] {
        const std::lock_guard lock(state().mutex);
        return state().until_failure >= 0;
      },
      [](int calls, int code) {
        State &s = state();
        const std::lock_guard lock(s.mutex);
        s.until_lost = calls, s.lost = code;
      },
  };
  return &table;
}

// For ctypes, which finds members of the table by their place: these by name.
FAKE const char *fake_last_ptx() { return state().last_ptx.c_str(); }
FAKE const char *fake_calls() { return fake_driver()->calls(); }
FAKE void fake_lose(int code) { fake_driver()->lose(0, code); }

FAKE CUresult cuInit(unsigned) {
  if (const char *sm = std::getenv("QD_FAKE_SM")) state().sm = std::atoi(sm);
  if (const char *version = std::getenv("QD_FAKE_VERSION")) state().version = std::atoi(version);
  return record("cuInit");
}
FAKE CUresult cuDriverGetVersion(int *v) { return *v = state().version, record("cuDriverGetVersion"); }
FAKE CUresult cuGetErrorName(CUresult, const char **t) { return *t = "FAKE_ERROR", 0; }
FAKE CUresult cuGetErrorString(CUresult, const char **t) { return *t = "as the test ordered", 0; }
FAKE CUresult cuDeviceGetCount(int *n) { return *n = state().devices, record("cuDeviceGetCount"); }
FAKE CUresult cuDeviceGet(CUdevice *d, int n) { return *d = n, record("cuDeviceGet"); }
FAKE CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  return std::snprintf(name, size_t(size), "Fake GPU"), 0;
}
FAKE CUresult cuDeviceGetAttribute(int *v, int what, CUdevice) {
  *v = what == attribute_cc_major       ? state().sm / 10
       : what == attribute_cc_minor     ? state().sm % 10
       : what == attribute_sm_count     ? 4
       : what == attribute_max_block    ? 1024
       : what == attribute_memory_pools ? 1
       : what == attribute_max_shared   ? 48 << 10
       : what == attribute_max_shared_asked_for ? state().sm == 90 ? 227 << 10 : 99 << 10
       : what == attribute_clock_khz    ? 1980000
                                        : 0;
  return record("cuDeviceGetAttribute");
}
FAKE CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) { return *bytes = size_t(1) << 33, 0; }
FAKE CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice) {
  return *c = reinterpret_cast<CUcontext>(&a_context), record("cuDevicePrimaryCtxRetain");
}
FAKE CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return record("cuDevicePrimaryCtxRelease"); }
FAKE CUresult cuCtxGetCurrent(CUcontext *c) {
  *c = contexts.empty() ? nullptr : contexts.back();
  return record("cuCtxGetCurrent");
}
FAKE CUresult cuCtxPushCurrent_v2(CUcontext c) { return contexts.push_back(c), record("cuCtxPushCurrent"); }
FAKE CUresult cuCtxPopCurrent_v2(CUcontext *c) {
  if (contexts.empty()) return 201;
  *c = contexts.back();
  contexts.pop_back();
  return record("cuCtxPopCurrent");
}
FAKE CUresult cuCtxSynchronize() { return record("cuCtxSynchronize"); }
FAKE CUresult cuModuleLoadData(CUmodule *m, const void *) {
  return *m = reinterpret_cast<CUmodule>(&a_module), record("cuModuleLoadData");
}
FAKE CUresult cuModuleUnload(CUmodule) { return record("cuModuleUnload"); }
FAKE CUresult cuModuleGetFunction(CUfunction *f, CUmodule, const char *name) {
  static std::mutex mutex;
  static auto &names = *new std::map<std::string, std::string>;
  const std::lock_guard lock(mutex);
  auto &kept = names[name];
  kept = name;
  *f = reinterpret_cast<CUfunction>(&kept);
  return record("cuModuleGetFunction", name);
}
FAKE CUresult cuCtxGetLimit(size_t *value, int) { return *value = 1024, record("cuCtxGetLimit"); }
FAKE CUresult cuCtxSetLimit(int limit, size_t value) {
  return record("cuCtxSetLimit", std::to_string(limit) + " " + std::to_string(value));
}
FAKE CUresult cuFuncSetAttribute(CUfunction, int what, int value) {
  return record("cuFuncSetAttribute", std::to_string(what) + " " + std::to_string(value));
}
FAKE CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction, int, size_t) {
  return *n = 2, record("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}
FAKE CUresult cuLinkCreate_v2(unsigned n, int *options, void **values, CUlinkState *out) {
  if (const CUresult r = record("cuLinkCreate")) return r;
  auto *l = new Linker;
  for (unsigned k = 0; k < n; k++) {
    if (options[k] == jit_error_log) l->log = static_cast<char *>(values[k]);
    if (options[k] == jit_error_log_bytes) l->log_bytes = size_t(values[k]);
  }
  *out = reinterpret_cast<CUlinkState>(l);
  return 0;
}
FAKE CUresult cuLinkAddData_v2(CUlinkState l, int, void *data, size_t size, const char *, unsigned, int *, void **) {
  auto &link = *reinterpret_cast<Linker *>(l);
  const auto *bytes = static_cast<const char *>(data);
  if (size == 0 || bytes[size - 1] != 0) return 1;  // text ends with a zero
  link.ptx.assign(bytes, size - 1);
  {
    const std::lock_guard lock(state().mutex);
    state().last_ptx = link.ptx;
  }
  return record("cuLinkAddData");
}
FAKE CUresult cuLinkComplete(CUlinkState l, void **cubin, size_t *size) {
  auto &link = *reinterpret_cast<Linker *>(l);
  if (const CUresult r = record("cuLinkComplete")) return r;
  if (const CUresult r = assemble(link)) return r;
  *cubin = link.cubin.data(), *size = link.cubin.size();
  return 0;
}
FAKE CUresult cuLinkDestroy(CUlinkState l) { return delete reinterpret_cast<Linker *>(l), record("cuLinkDestroy"); }
FAKE CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { return allocate("cuMemAlloc", p, n); }
FAKE CUresult cuMemFree_v2(CUdeviceptr p) { return release("cuMemFree", p); }
FAKE CUresult cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream) { return allocate("cuMemAllocAsync", p, n); }
FAKE CUresult cuMemFreeAsync(CUdeviceptr p, CUstream) { return release("cuMemFreeAsync", p); }
FAKE CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *p, CUdevice) { return *p = nullptr, 0; }
FAKE CUresult cuMemPoolSetAttribute(CUmemoryPool, int, void *) { return 0; }
FAKE CUresult cuMemHostAlloc(void **p, size_t n, unsigned) {
  if (const CUresult r = record("cuMemHostAlloc")) return r;
  return hold(*p = std::malloc(n)), 0;
}
FAKE CUresult cuMemFreeHost(void *p) { return let_go(p), record("cuMemFreeHost"); }

namespace {
CUresult move(const char *name, void *to, const void *from, size_t n) {
  if (const CUresult r = record(name, std::to_string(n))) return r;
  std::memmove(to, from, n);
  return 0;
}
template <class T>
CUresult set(const char *name, CUdeviceptr p, T value, size_t n) {
  if (const CUresult r = record(name, std::to_string(n))) return r;
  for (size_t k = 0; k < n; k++) std::memcpy(reinterpret_cast<char *>(p) + k * sizeof value, &value, sizeof value);
  return 0;
}
void *pointer(CUdeviceptr p) { return reinterpret_cast<void *>(p); }
}  // namespace

FAKE CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream) {
  return move("cuMemcpyHtoDAsync", pointer(to), from, n);
}
FAKE CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream) {
  return move("cuMemcpyDtoHAsync", to, pointer(from), n);
}
FAKE CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) {
  return move("cuMemcpyDtoDAsync", pointer(to), pointer(from), n);
}
FAKE CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream) {
  return set("cuMemsetD8Async", p, v, n);
}
FAKE CUresult cuMemsetD16Async(CUdeviceptr p, unsigned short v, size_t n, CUstream) {
  return set("cuMemsetD16Async", p, v, n);
}
FAKE CUresult cuMemsetD32Async(CUdeviceptr p, unsigned v, size_t n, CUstream) {
  return set("cuMemsetD32Async", p, v, n);
}
FAKE CUresult cuStreamCreate(CUstream *s, unsigned flags) {
  return *s = new_handle<CUstream>(), record("cuStreamCreate", std::to_string(flags));
}
FAKE CUresult cuStreamDestroy_v2(CUstream) { return record("cuStreamDestroy"); }
FAKE CUresult cuStreamSynchronize(CUstream) { return record("cuStreamSynchronize"); }
FAKE CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned) {
  return record("cuStreamWaitEvent", text(s) + " " + text(e));
}
FAKE CUresult cuEventCreate(CUevent *e, unsigned flags) {
  *e = new_handle<CUevent>();
  {
    const std::lock_guard lock(state().mutex);
    if (!(flags & event_disable_timing)) state().timers[*e] = -1;
  }
  return record("cuEventCreate");
}
FAKE CUresult cuEventDestroy_v2(CUevent e) {
  {
    const std::lock_guard lock(state().mutex);
    state().timers.erase(e);
  }
  return record("cuEventDestroy");
}
FAKE CUresult cuEventRecord(CUevent e, CUstream s) {
  {
    const std::lock_guard lock(state().mutex);
    if (const auto timer = state().timers.find(e); timer != state().timers.end()) timer->second = state().clock_ms;
  }
  return record("cuEventRecord", text(e) + " " + text(s));
}
FAKE CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
  if (const CUresult r = record("cuEventElapsedTime")) return r;
  const std::lock_guard lock(state().mutex);
  const auto begin = state().timers.find(from), end = state().timers.find(to);
  if (begin == state().timers.end() || end == state().timers.end() || begin->second < 0 || end->second < 0) return 400;
  *ms = float(end->second - begin->second);
  return 0;
}
FAKE CUresult cuEventSynchronize(CUevent) { return record("cuEventSynchronize"); }

namespace {
// What a kernel would have got: copied at once, as the driver does.
FakeLaunch taken(const std::string &name, unsigned grid, unsigned block, unsigned shared, void **parameters,
                 CUstream stream) {
  FakeLaunch l{};
  std::snprintf(l.name, sizeof l.name, "%s", name.c_str());
  l.grid = grid, l.block = block, l.shared = shared, l.stream = reinterpret_cast<uint64_t>(stream);
  std::memcpy(&l.begin, parameters[1], 8), std::memcpy(&l.end, parameters[2], 8),
      std::memcpy(&l.check, parameters[3], 8);
  std::memcpy(&l.scratch, parameters[4], 8);
  if (state().words) std::memcpy(l.words, parameters[0], 8 * std::min<uint64_t>(state().words, fake_words));
  return l;
}
FakeLaunch taken(const KernelNode &n) {
  return taken(*reinterpret_cast<std::string *>(n.function), n.grid[0], n.block[0], n.shared, n.parameters, nullptr);
}
using FakeGraph = std::vector<FakeLaunch>;
FakeGraph &nodes_of(CUgraph g) { return *reinterpret_cast<FakeGraph *>(g); }
FakeGraph &nodes_of(CUgraphExec g) { return *reinterpret_cast<FakeGraph *>(g); }
}  // namespace

namespace {
// Both ways to launch count as one function.
CUresult launch(CUfunction f, const unsigned (&grid)[3], const unsigned (&block)[3], unsigned shared, CUstream stream,
                void **parameters, bool early) {
  const std::string &name = *reinterpret_cast<std::string *>(f);
  if (const CUresult r = record("cuLaunchKernel", early ? name + " early" : name)) return r;
  if (grid[1] != 1 || grid[2] != 1 || block[1] != 1 || block[2] != 1 || contexts.empty()) return 1;
  const std::lock_guard lock(state().mutex);
  state().launches.push_back(taken(name, grid[0], block[0], shared, parameters, stream));
  state().launches.back().early = early;
  state().clock_ms += 0.5;
  return 0;
}
}  // namespace

FAKE CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, CUstream stream, void **parameters, void **) {
  return launch(f, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, false);
}
FAKE CUresult cuLaunchKernelEx(const LaunchConfig *c, CUfunction f, void **parameters, void **) {
  if (c->n_attributes != 1 || c->attributes->id != 6 || c->attributes->value != 1 || state().sm < 90) return 1;
  return launch(f, c->grid, c->block, c->shared, c->stream, parameters, true);
}
FAKE CUresult cuGraphCreate(CUgraph *g, unsigned) {
  if (const CUresult r = record("cuGraphCreate")) return r;
  return *g = reinterpret_cast<CUgraph>(new FakeGraph), 0;
}
FAKE CUresult cuGraphDestroy(CUgraph g) { return delete &nodes_of(g), record("cuGraphDestroy"); }
// A node is known by its place, counted from 1.
FAKE CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *after, size_t n_after,
                                   const KernelNode *node) {
  if (const CUresult r = record("cuGraphAddKernelNode")) return r;
  const size_t place = nodes_of(g).size();
  FakeLaunch l = taken(*node);
  for (size_t k = 0; k < n_after; k++) {
    const auto other = reinterpret_cast<size_t>(after[k]);
    if (other < 1 || other > place) return 1;
    l.after |= 1ull << (other - 1);
  }
  nodes_of(g).push_back(l);
  *out = reinterpret_cast<CUgraphNode>(place + 1);
  return 0;
}
FAKE CUresult cuGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
                                        const GraphEdge *edge, size_t n) {
  if (const CUresult r = record("cuGraphAddDependencies")) return r;
  const auto first = reinterpret_cast<size_t>(*from), second = reinterpret_cast<size_t>(*to);
  if (n != 1 || edge->from_port != 1 || edge->type != 1 || first < 1 || first >= second) return 1;
  FakeLaunch &l = nodes_of(g).at(second - 1);
  l.after |= 1ull << (first - 1), l.early = true;
  return 0;
}
FAKE CUresult cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, unsigned long long) {
  if (const CUresult r = record("cuGraphInstantiateWithFlags")) return r;
  return *e = reinterpret_cast<CUgraphExec>(new FakeGraph(nodes_of(g))), 0;
}
FAKE CUresult cuGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode n, const KernelNode *node) {
  if (const CUresult r = record("cuGraphExecKernelNodeSetParams")) return r;
  FakeLaunch &kept = nodes_of(e).at(reinterpret_cast<size_t>(n) - 1);
  const uint64_t after = kept.after;
  const bool early = kept.early;
  kept = taken(*node), kept.after = after, kept.early = early;
  return 0;
}
FAKE CUresult cuGraphExecDestroy(CUgraphExec e) { return delete &nodes_of(e), record("cuGraphExecDestroy"); }
FAKE CUresult cuGraphLaunch(CUgraphExec e, CUstream stream) {
  if (const CUresult r = record("cuGraphLaunch")) return r;
  const std::lock_guard lock(state().mutex);
  for (FakeLaunch l : nodes_of(e)) l.stream = reinterpret_cast<uint64_t>(stream), state().launches.push_back(l);
  return 0;
}

// driver.hpp: the NVIDIA driver as a table of functions, opened at run time. The first user opens it; a process without
// one gets a Failure that says what to install, each time it asks. Types are ours (driver.def).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "qd/plugin.hpp"

namespace qd::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUlinkState = struct CUlinkState_st *;
using CUmemoryPool = struct CUmemPoolHandle_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;

struct KernelNode {  // CUDA_KERNEL_NODE_PARAMS of the first version, which every driver takes
  CUfunction function;
  unsigned grid[3], block[3], shared;
  void **parameters, **extra;
};

struct LaunchAttribute {
  int id;
  alignas(8) int value;
  char rest[60];
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared;
  CUstream stream;
  const LaunchAttribute *attributes;
  unsigned n_attributes;
};
struct GraphEdge {
  unsigned char from_port, to_port, type, reserved[5];
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56 && sizeof(GraphEdge) == 8);
// A launch, and a node of a graph, that begins before what is in front of it has ended.
inline constexpr LaunchAttribute early_launch{6, 1, {}};
inline constexpr GraphEdge early_edge{1, 0, 1, {}};

// Numbers of the driver's enumerations that we use.
inline constexpr int limit_stack_size = 0;
inline constexpr int attribute_max_block = 1, attribute_sm_count = 16, attribute_cc_major = 75, attribute_cc_minor = 76,
                     attribute_memory_pools = 115, attribute_clock_khz = 13, attribute_max_shared = 8,
                     attribute_max_shared_asked_for = 97;
inline constexpr int function_shared_bytes = 8;  // that a launch may bring beside the code's own
inline constexpr int jit_error_log = 5, jit_error_log_bytes = 6, jit_input_ptx = 1, pool_release_threshold = 4;
inline constexpr unsigned stream_default = 0, stream_non_blocking = 1, event_default = 0,
                          event_disable_timing = 2;
inline constexpr int oldest_driver = 11040;  // CUDA 11.4, driver 470

struct Driver {
#define FN(need, name, symbol, parameters) CUresult(*name) parameters = nullptr;
#include "backends/cuda/driver.def"
  int version = 0;  // 1000 * major + 10 * minor of the CUDA release that it speaks
};

// Throws NO_DRIVER or OLD_DRIVER; also when cuInit failed, with NO_DEVICE where the driver has no GPU.
const Driver &driver();

[[noreturn]] void fail(const Driver &, CUresult, const std::string &what, std::string where = {});
inline void check(const Driver &d, CUresult r, const char *function) {
  if (r != 0) [[unlikely]]
    fail(d, r, function);
}
QdbStatus status_of(CUresult);

// Calls a function of the table and throws when it fails: QDX_CUDA(driver, cuStreamSynchronize, stream).
#define QDX_CUDA(d, name, ...) ::qd::cuda::check(d, (d).name(__VA_ARGS__), #name)

// Makes a context current for a scope, and leaves what was current as it was. Free when it is current already.
class Current {
 public:
  Current(const Driver &d, CUcontext context) : d_(d) {
    CUcontext now = nullptr;
    QDX_CUDA(d, cuCtxGetCurrent, &now);
    if (now == context) return;
    QDX_CUDA(d, cuCtxPushCurrent, context);
    pushed_ = true;
  }
  ~Current() {
    CUcontext ours;
    if (pushed_) d_.cuCtxPopCurrent(&ours);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

 private:
  const Driver &d_;
  bool pushed_ = false;
};

}  // namespace qd::cuda

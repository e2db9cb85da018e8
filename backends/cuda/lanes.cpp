// lanes.cpp: tasks of a launch that may run side by side. Each lane is a stream of its own that begins where the
// launch's stream is, and that the launch's stream waits for; so what comes before and behind such tasks knows nothing
// of them.
#include <algorithm>

#include "backends/cuda/cuda.hpp"

namespace qd::cuda {

// Made when it is first asked for; kept for the stream's later launches.
Lane &Stream::lane(uint32_t k) {
  if (lanes_.size() < k) lanes_.resize(k);
  Lane &lane = lanes_[k - 1];
  const Driver &d = device_.driver();
  if (!lane.stream) QDX_CUDA(d, cuStreamCreate, &lane.stream, stream_non_blocking);
  if (!lane.done) QDX_CUDA(d, cuEventCreate, &lane.done, event_disable_timing);
  return lane;
}

void Stream::drop_lanes() noexcept {
  const Driver &d = device_.driver();
  for (Lane &lane : lanes_) {
    if (lane.scratch) device_.release(lane.scratch);
    if (lane.done) d.cuEventDestroy(lane.done);
    if (lane.stream) d.cuStreamDestroy(lane.stream);
  }
  lanes_.clear();
}

// The stream waits for what the lanes have.
CUresult Stream::join_lanes() noexcept {
  const Driver &d = device_.driver();
  CUresult first = 0;
  for (Lane &lane : lanes_) {
    if (!lane.busy) continue;
    lane.busy = false;
    CUresult r = d.cuEventRecord(lane.done, lane.stream);
    if (!r) r = d.cuStreamWaitEvent(stream_, lane.done, 0);
    if (!first) first = r;
  }
  return first;
}

void Stream::launch_in_lanes() {
  const Driver &d = device_.driver();
  bool apart = false;
  try {
    for (Ready &r : ready_) {
      if (!r.lane) {
        if (apart) check(d, join_lanes(), "cuStreamWaitEvent");
        apart = false;
        launch_one(r, stream_);
        continue;
      }
      if (!apart) QDX_CUDA(d, cuEventRecord, order_, stream_);
      apart = true;
      Lane &l = lane(r.lane);
      if (!l.busy) QDX_CUDA(d, cuStreamWaitEvent, l.stream, order_, 0);
      l.busy = true;
      launch_one(r, l.stream);
    }
  } catch (...) {
    join_lanes();
    throw;
  }
  if (apart) check(d, join_lanes(), "cuStreamWaitEvent");
}

}  // namespace qd::cuda

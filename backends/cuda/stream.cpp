// stream.cpp: streams, events, and order with streams of other libraries (extension "qd.streams").
#include <algorithm>

#include "backends/cuda/cuda.hpp"
#include "backends/cuda/names.hpp"
#include "qd/ext_names.h"
#include "qd/ext_streams.h"

namespace qd::cuda {

using plugin::Failure;

// The first stream of a device takes part in the order of the driver's default stream, which is where PyTorch, CuPy and
// Numba launch unless told otherwise; that order costs nothing while nobody uses it. Others are free of it.
Stream::Stream(Device &device)
    : device_(device), graphs_on_(device.settings().graphs && !device.settings().each && has_graphs(device.driver())) {
  const Driver &d = device.driver();
  const Current current(d, device.primary().context);
  in_default_order_ = device.first_stream();
  CUresult r = d.cuStreamCreate(&stream_, in_default_order_ ? stream_default : stream_non_blocking);
  if (!r) r = d.cuEventCreate(&order_, event_disable_timing);
  if (!r) r = device.add(this);
  if (!r) return;
  device.remove(this);
  if (order_) d.cuEventDestroy(order_);
  if (stream_) d.cuStreamDestroy(stream_);
  fail(d, r, "cuStreamCreate");
}

Stream::~Stream() {
  device_.remove(this);
  const Driver &d = device_.driver();
  try {
    const Current current(d, device_.primary().context);
    d.cuStreamSynchronize(stream_);
    graphs_.clear();
    drop_lanes();
    if (scratch_) device_.release(scratch_);
    d.cuEventDestroy(order_);
    d.cuStreamDestroy(stream_);
  } catch (const Failure &) {  // the driver is beyond answering
  }
}

void Stream::sync(const Call &) {
  const Current current(device_.driver(), device_.primary().context);
  QDX_CUDA(device_.driver(), cuStreamSynchronize, stream_);
}

// 0 and 1 are the default stream, in whose order the first stream is anyhow.
bool Stream::ordered_with(uint64_t native) const {
  return native == uint64_t(reinterpret_cast<uintptr_t>(stream_)) || (in_default_order_ && native <= 1);
}

void Stream::after_native(uint64_t native) {
  if (ordered_with(native)) return;
  const Driver &d = device_.driver();
  const Current current(d, device_.primary().context);
  QDX_CUDA(d, cuEventRecord, order_, reinterpret_cast<CUstream>(uintptr_t(native)));
  QDX_CUDA(d, cuStreamWaitEvent, stream_, order_, 0);
}

void Stream::before_native(uint64_t native) {
  if (ordered_with(native)) return;
  const Driver &d = device_.driver();
  const Current current(d, device_.primary().context);
  QDX_CUDA(d, cuEventRecord, order_, stream_);
  QDX_CUDA(d, cuStreamWaitEvent, reinterpret_cast<CUstream>(uintptr_t(native)), order_, 0);
}

Event::Event(Device &device, bool keeps_time) : device_(device) {
  const Current current(device.driver(), device.primary().context);
  QDX_CUDA(device.driver(), cuEventCreate, &event_, keeps_time ? event_default : event_disable_timing);
}

Event::~Event() {
  try {
    const Current current(device_.driver(), device_.primary().context);
    device_.driver().cuEventDestroy(event_);
  } catch (const Failure &) {  // the driver is beyond answering
  }
}

void Event::record(const Stream &s) {
  const Current current(device_.driver(), device_.primary().context);
  QDX_CUDA(device_.driver(), cuEventRecord, event_, s.raw());
}

void Event::wait(const Stream &s) {
  const Current current(device_.driver(), device_.primary().context);
  QDX_CUDA(device_.driver(), cuStreamWaitEvent, s.raw(), event_, 0);
}

void Event::sync() {
  const Current current(device_.driver(), device_.primary().context);
  QDX_CUDA(device_.driver(), cuEventSynchronize, event_);
}

uint64_t Event::since(const Event &earlier) const {
  const Current current(device_.driver(), device_.primary().context);
  float ms = 0;
  QDX_CUDA(device_.driver(), cuEventElapsedTime, &ms, earlier.event_, event_);
  return uint64_t(std::max(ms, 0.0f) * 1e6);
}

namespace {

template <class T>
uint64_t number(T *handle) {
  return uint64_t(reinterpret_cast<uintptr_t>(handle));
}

template <bool keeps_time>
QdbStatus QDB_CALL event_create(QdbDevice *h, QdbEvent **out, QdbErr *slot) {
  return plugin::on<Device>(h, slot, [&](Device &self, plugin::Shared &shared, const Call &) {
    plugin::require(out, "event");
    plugin::give(shared, std::make_unique<Event>(self, keeps_time), out);
  });
}
QdbStatus QDB_CALL timer_elapsed(QdbEvent *from, QdbEvent *to, uint64_t *ns, QdbErr *slot) {
  return plugin::on<Event>(to, slot, [&](Event &self, plugin::Shared &, const Call &) {
    plugin::require(from, "earlier event");
    plugin::require(ns, "nanoseconds");
    *ns = self.since(*plugin::object<Event>(from));
  });
}
QdbStatus QDB_CALL event_record(QdbEvent *h, QdbStream *s, QdbErr *slot) {
  return plugin::on<Event>(h, slot, [&](Event &self, plugin::Shared &, const Call &) {
    plugin::require(s, "stream");
    self.record(*plugin::object<Stream>(s));
  });
}
QdbStatus QDB_CALL event_wait(QdbEvent *h, QdbStream *s, QdbErr *slot) {
  return plugin::on<Event>(h, slot, [&](Event &self, plugin::Shared &, const Call &) {
    plugin::require(s, "stream");
    self.wait(*plugin::object<Stream>(s));
  });
}
QdbStatus QDB_CALL event_sync(QdbEvent *h, QdbErr *slot) {
  return plugin::on<Event>(h, slot, [](Event &self, plugin::Shared &, const Call &) { self.sync(); });
}
QdbStatus QDB_CALL after_native(QdbStream *h, uint64_t native, QdbErr *slot) {
  return plugin::on<Stream>(h, slot, [&](Stream &self, plugin::Shared &, const Call &) { self.after_native(native); });
}
QdbStatus QDB_CALL before_native(QdbStream *h, uint64_t native, QdbErr *slot) {
  return plugin::on<Stream>(h, slot, [&](Stream &self, plugin::Shared &, const Call &) { self.before_native(native); });
}

constexpr QdExtStreams streams = {sizeof(QdExtStreams),
                                  0,
                                  [](QdbStream *h) { return h ? number(plugin::object<Stream>(h)->raw()) : 0; },
                                  [](QdbEvent *h) { return h ? number(plugin::object<Event>(h)->raw()) : 0; },
                                  event_create<false>,
                                  [](QdbEvent *h) { plugin::drop<Event>(h); },
                                  event_record,
                                  event_wait,
                                  event_sync,
                                  after_native,
                                  before_native,
                                  event_create<true>,
                                  timer_elapsed};

}  // namespace

const void *Instance::extension(std::string_view name, uint32_t version) const {
  if (name == QD_EXT_NAMES_NAME && version == QD_EXT_NAMES_VERSION) return names_extension();
  return name == QD_EXT_STREAMS_NAME && version == QD_EXT_STREAMS_VERSION ? &streams : nullptr;
}

}  // namespace qd::cuda

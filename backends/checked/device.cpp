// device.cpp: instances, devices, streams, and what they say of themselves.
#include "backends/checked/checked.hpp"
#include "backends/checked/functions.hpp"

namespace qd::checked {
namespace {

// A plugin keeps the host of its last negotiation until an instance takes a copy: both steps under one lock.
std::mutex create_mutex;

template <class T>
uint64_t plugin_caps(const T &instance) {
  Guarded<QdbCaps> out;
  Slot slot;
  slot.silent = true;
  return instance.wrapped->table.caps(instance.inner(), &out.value, slot.handle()) == QDB_OK ? out.value.caps : 0;
}

std::string target_bytes(const Frame &frame, Device &d, uint32_t level) {
  QdbBlob *blob = nullptr;
  forward(frame, [&](QdbErr *slot) { return frame.t().target_of_device(d.inner(), level, &blob, slot); });
  if (!blob) throw Broken(Violation::no_object, "success and a NULL blob", frame.function);
  return std::string(frame.host().adopt(blob).view());
}

}  // namespace

QdbStatus QDB_CALL instance_create(const QdbInstanceDesc *desc, QdbInstance **out, QdbErr *slot) noexcept {
  static const char *const function = "instance_create";
  Wrapped &w = *last_wrapped();
  return plugin::guard(w.host, slot, [&](const Call &call) {
    required(desc, "desc", function), required(out, "out", function);
    check_size(desc->struct_size, QDB_END(QdbInstanceDesc, reserved), "desc", function);
    check_options(desc->options, desc->option_stride, desc->n_options, function);
    auto made = std::make_unique<Instance>();
    made->wrapped = &w, made->instance = made.get();
    made->counts.struct_size = sizeof(QdTestCounts);
    QdbInstance *inner = nullptr;
    {
      std::lock_guard<std::mutex> lock(create_mutex);
      renew(w);
      forward(Frame{call, *made, function}, [&](QdbErr *s) { return w.table.instance_create(desc, &inner, s); });
    }
    Instance *kept = made.release();
    *out =
        static_cast<QdbInstance *>(make(std::shared_ptr<Instance>(kept, [](Instance *) {}), nullptr, inner, function));
    kept->caps = plugin_caps(*kept);
    keep_instance(kept);
  });
}

void QDB_CALL instance_destroy(QdbInstance *h) noexcept {
  destroying<Instance>(h, "instance_destroy", [](Instance &self, const Frame &f) {
    self.destroyed.store(true);
    f.t().instance_destroy(self.inner());
  });
}

// Called where no lock may be taken: in a child between fork and anything else, or while the process ends.
void QDB_CALL instance_quiesce(QdbInstance *h, uint32_t why) noexcept {
  Instance *self = find_instance(reinterpret_cast<uintptr_t>(h));
  if (!self || self->destroyed.load())
    return remember(Broken(self ? Violation::dead_handle : Violation::unknown_handle, "a handle of no instance",
                           "instance_quiesce"));
  if (why != 1 && why != 2)
    return remember(Broken(Violation::bad_value, "why " + std::to_string(why), "instance_quiesce"));
  if (why == 1) leave_parent(self->handle);
  self->quiesced.store(why);
  self->wrapped->table.instance_quiesce(self->inner(), why);
}

QdbStatus QDB_CALL caps(QdbInstance *h, QdbCaps *out, QdbErr *slot) noexcept {
  return on<Instance>(h, "caps", slot, [&](auto &self, const Frame &f) {
    required(out, "caps", f.function);
    check_size(out->struct_size, 8, "caps", f.function);
    Guarded<QdbCaps> answer;
    forward(f, [&](QdbErr *s) { return f.t().caps(self->inner(), &answer.value, s); });
    answer.check(f.function);
    const QdbCaps &c = answer.value;
    if (!c.units || c.units & ~(QDB_UNIT_TASK | QDB_UNIT_KERNEL))
      throw Broken(Violation::bad_answer, "units " + std::to_string(c.units), f.function);
    if (c.ir_major == 0) throw Broken(Violation::bad_answer, "IR major 0", f.function);
    if (c.caps != self->caps) throw Broken(Violation::bad_answer, "capabilities that changed", f.function);
    if ((c.caps & QDB_CAP_FINISH) && !f.t().finish)
      throw Broken(Violation::bad_answer, "QDB_CAP_FINISH without finish", f.function);
    give(c, out);
  });
}

// The counts are ours: the plugin's own would tell of our second compile(). No other extension is let through: its
// functions would be given our handles.
const void *QDB_CALL extension(QdbInstance *h, const QdbStr *name, uint32_t version) noexcept {
  const void *answer = nullptr;
  without_slot("extension", [&] {
    const Using<Instance> self(h, "extension");
    required(name, "name", "extension");
    const QdbBackend &t = self->wrapped->table;
    if (plugin::text(*name) == QD_EXT_COUNTS_NAME && t.extension && t.extension(self->inner(), name, version))
      answer = &self->counts;
  });
  return answer;
}

QdbStatus QDB_CALL device_count(QdbInstance *h, uint32_t *out, QdbErr *slot) noexcept {
  return on<Instance>(h, "device_count", slot, [&](auto &self, const Frame &f) {
    required(out, "count", f.function);
    forward(f, [&](QdbErr *s) { return f.t().device_count(self->inner(), out, s); });
  });
}

QdbStatus QDB_CALL device_info(QdbInstance *h, uint32_t index, QdbDeviceInfo *out, QdbErr *slot) noexcept {
  return on<Instance>(h, "device_info", slot, [&](auto &self, const Frame &f) {
    required(out, "info", f.function);
    check_size(out->struct_size, 8, "info", f.function);
    Guarded<QdbDeviceInfo> answer;
    forward(f, [&](QdbErr *s) { return f.t().device_info(self->inner(), index, &answer.value, s); });
    answer.check(f.function);
    const QdbDeviceInfo &d = answer.value;
    check_ends(d.name, "name", f.function), check_ends(d.isa, "isa", f.function),
        check_ends(d.driver_version, "driver_version", f.function);
    if (d.kind < QDB_KIND_CPU || d.kind > QDB_KIND_OTHER)
      throw Broken(Violation::bad_answer, "kind " + std::to_string(d.kind), f.function);
    give(d, out);
  });
}

QdbStatus QDB_CALL device_open(QdbInstance *h, uint32_t index, QdbDevice **out, QdbErr *slot) noexcept {
  return on<Instance>(h, "device_open", slot, [&](auto &self, const Frame &f) {
    required(out, "device", f.function);
    QdbDevice *inner = nullptr;
    forward(f, [&](QdbErr *s) { return f.t().device_open(self->inner(), index, &inner, s); });
    auto made = std::make_shared<Device>();
    made->index = index;
    *out = static_cast<QdbDevice *>(make(std::move(made), self.shared(), inner, f.function));
  });
}

void QDB_CALL device_close(QdbDevice *h) noexcept {
  destroying<Device>(h, "device_close", [](Device &self, const Frame &f) {
    if (self.transfers) f.t().stream_destroy(self.transfers);
    f.t().device_close(self.inner());
  });
}

QdbStatus QDB_CALL device_sync(QdbDevice *h, QdbErr *slot) noexcept {
  return on<Device>(h, "device_sync", slot, [&](auto &self, const Frame &f) {
    forward(f, [&](QdbErr *s) { return f.t().device_sync(self->inner(), s); });
    check_all_guards(f, *self);
  });
}

QdbStatus QDB_CALL target_of_device(QdbDevice *h, uint32_t level, QdbBlob **out, QdbErr *slot) noexcept {
  return on<Device>(h, "target_of_device", slot, [&](auto &self, const Frame &f) {
    required(out, "target", f.function);
    if (level != 1 && level != 2) throw Broken(Violation::bad_value, "level " + std::to_string(level), f.function);
    const std::string now = target_bytes(f, *self, level);
    bool changed = false;
    {
      std::lock_guard<std::mutex> lock(self->transfer);
      std::string &first = self->target[level];
      if (first.empty()) first = now;
      changed = now != first;
    }
    if (changed || target_bytes(f, *self, level) != now)
      throw Broken(Violation::unstable_target, "other bytes than before for level " + std::to_string(level),
                   f.function);
    *out = f.host().blob(now).pass();
  });
}

QdbStatus QDB_CALL stream_create(QdbDevice *h, QdbStream **out, QdbErr *slot) noexcept {
  return on<Device>(h, "stream_create", slot, [&](auto &self, const Frame &f) {
    required(out, "stream", f.function);
    QdbStream *inner = nullptr;
    forward(f, [&](QdbErr *s) { return f.t().stream_create(self->inner(), &inner, s); });
    *out = static_cast<QdbStream *>(make(std::make_shared<Stream>(), self.shared(), inner, f.function));
  });
}

void QDB_CALL stream_destroy(QdbStream *h) noexcept {
  destroying<Stream>(h, "stream_destroy", [](Stream &self, const Frame &f) { f.t().stream_destroy(self.inner()); });
}

QdbStatus QDB_CALL stream_sync(QdbStream *h, QdbErr *slot) noexcept {
  return on<Stream>(h, "stream_sync", slot, [&](auto &self, const Frame &f) {
    const Turn turn(*self, f.function);
    forward(f, [&](QdbErr *s) { return f.t().stream_sync(self->inner(), s); });
    check_all_guards(f, *self->device);
  });
}

}  // namespace qd::checked

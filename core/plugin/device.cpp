// device.cpp: the handles below an instance: device, module, memory, stream, event. All alike: one checked call each,
// and a destructor that says nothing to a plugin that was quiesced.
#include "core/plugin/host.hpp"

namespace qd::plugin {
namespace {

std::function<bool()> &launch_poll() {
  static auto &poll = *new std::function<bool()>;  // outlives every launch, those at exit too
  return poll;
}

// What each of these calls needs at hand.
struct Call {
  const Library &library;
  const QdbBackend &table;
  Inside inside;
  QdbErr err;
  explicit Call(const Instance &i) : library(i.library()), table(i.library().table), inside(&i.services()) {
    i.require();
  }
  explicit Call(const Device &d) : Call(*d.instance()) {}
  void check(QdbStatus status, const char *what) { plugin::check(library, status, err, what); }
};

template <class F>
void destroy(const Instance &i, F &&f) {
  if (i.quiesced()) return;
  Inside inside(&i.services());
  f(i.library().table);
}

}  // namespace

std::shared_ptr<Device> Device::open(std::shared_ptr<Instance> instance, uint32_t index) {
  std::shared_ptr<Device> device(new Device(std::move(instance)));
  Call c(*device);
  c.check(c.table.device_open(device->instance_->raw(), index, &device->handle_, &c.err), "device_open");
  if (!device->handle_) no_handle(c.library, "device_open");
  return device;
}

Device::~Device() {
  if (handle_) destroy(*instance_, [this](const QdbBackend &t) { t.device_close(handle_); });
}

std::string Device::target(uint32_t level) const {
  Call c(*this);
  QdbBlob *blob = nullptr;
  QdbStatus status = c.table.target_of_device(handle_, level, &blob, &c.err);
  cache::Blob target = take(blob);
  c.check(status, "target_of_device");
  if (!target) no_handle(c.library, "target_of_device");
  return std::string(target->view());
}

void Device::sync() const {
  Call c(*this);
  c.check(c.table.device_sync(handle_, &c.err), "device_sync");
}

void Device::name(std::string_view symbol, std::string_view name) const {
  std::string plain(name);
  for (char &c : plain)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  const QdbStr s = str(symbol), n = str(plain);
  Call c(*this);
  c.check(instance_->names()->task(handle_, &s, &n, &c.err), "names.task");
}

std::unique_ptr<Module> Module::load(std::shared_ptr<Device> device, std::span<const Artifact> artifacts) {
  std::unique_ptr<Module> module(new Module(std::move(device)));
  std::vector<QdbArtifact> list;
  list.reserve(artifacts.size());
  for (const Artifact &a : artifacts) list.push_back({str(a.kind), bytes(a.bytes->view())});
  Call c(*module->device_);
  c.check(c.table.module_load(module->device_->raw(), list.data(), sizeof(QdbArtifact), uint32_t(list.size()),
                              &module->handle_, &c.err),
          "module_load");
  if (!module->handle_) no_handle(c.library, "module_load");
  return module;
}

Module::~Module() {
  if (handle_) destroy(*device_->instance(), [this](const QdbBackend &t) { t.module_unload(handle_); });
}

QdbEntry *Module::entry(std::string_view symbol) const {
  Call c(*device_);
  QdbStr name = str(symbol);
  QdbEntry *entry = nullptr;
  c.check(c.table.module_entry(handle_, &name, &entry, &c.err), "module_entry");
  if (!entry) no_handle(c.library, "module_entry");
  return entry;
}

std::unique_ptr<Memory> Memory::alloc(std::shared_ptr<Device> device, uint64_t size) {
  std::unique_ptr<Memory> memory(new Memory(std::move(device)));
  Call c(*memory->device_);
  c.check(c.table.mem_alloc(memory->device_->raw(), size, &memory->handle_, &c.err), "mem_alloc");
  if (!memory->handle_) no_handle(c.library, "mem_alloc");
  memory->info_.struct_size = sizeof(QdbMemInfo);
  c.check(c.table.mem_info(memory->handle_, &memory->info_, &c.err), "mem_info");
  return memory;
}

Memory::~Memory() {
  if (handle_) destroy(*device_->instance(), [this](const QdbBackend &t) { t.mem_free(handle_); });
}

std::unique_ptr<Stream> Stream::create(std::shared_ptr<Device> device) {
  std::unique_ptr<Stream> stream(new Stream(std::move(device)));
  Call c(*stream->device_);
  c.check(c.table.stream_create(stream->device_->raw(), &stream->handle_, &c.err), "stream_create");
  if (!stream->handle_) no_handle(c.library, "stream_create");
  return stream;
}

Stream::~Stream() {
  if (handle_) destroy(*device_->instance(), [this](const QdbBackend &t) { t.stream_destroy(handle_); });
}

void Stream::sync() {
  Call c(*device_);
  c.check(c.table.stream_sync(handle_, &c.err), "stream_sync");
}

void Stream::copy(std::span<const QdbCopy> copies) {
  Call c(*device_);
  c.check(c.table.copy(handle_, copies.data(), sizeof(QdbCopy), uint32_t(copies.size()), &c.err), "copy");
}

void Stream::fill(std::span<const QdbFill> fills) {
  Call c(*device_);
  c.check(c.table.fill(handle_, fills.data(), sizeof(QdbFill), uint32_t(fills.size()), &c.err), "fill");
}

void Stream::launch(std::span<const QdbLaunch> launches) {
  Call c(*device_);
  c.err.cancelled = &launch_poll();
  c.check(c.table.launch(handle_, launches.data(), sizeof(QdbLaunch), uint32_t(launches.size()), &c.err), "launch");
}

uint64_t Stream::native() const {
  const QdExtStreams *x = device_->instance()->streams();
  return x && !device_->instance()->quiesced() ? x->native_stream(handle_) : 0;
}

void Stream::after(uint64_t native) {
  Call c(*device_);
  if (const QdExtStreams *x = device_->instance()->streams())
    c.check(x->after_native(handle_, native, &c.err), "after_native");
}

void Stream::before(uint64_t native) {
  Call c(*device_);
  if (const QdExtStreams *x = device_->instance()->streams())
    c.check(x->before_native(handle_, native, &c.err), "before_native");
}

std::unique_ptr<Event> Event::made_by(std::shared_ptr<Device> device,
                                      decltype(QdExtStreams::event_create) QdExtStreams::*make, const char *name) {
  std::unique_ptr<Event> event(new Event(std::move(device)));
  Call c(*event->device_);
  c.check((event->device_->instance()->streams()->*make)(event->device_->raw(), &event->handle_, &c.err), name);
  if (!event->handle_) no_handle(c.library, name);
  return event;
}

std::unique_ptr<Event> Event::create(std::shared_ptr<Device> device) {
  return made_by(std::move(device), &QdExtStreams::event_create, "event_create");
}

std::unique_ptr<Event> Event::create_timer(std::shared_ptr<Device> device) {
  return made_by(std::move(device), &QdExtStreams::timer_create, "timer_create");
}

bool Event::can_time(const Instance &i) {
  const QdExtStreams *x = i.streams();
  return x && QDB_HAS(x, QdExtStreams, timer_elapsed) && x->timer_create && x->timer_elapsed;
}

uint64_t Event::ns_since(const Event &earlier) const {
  Call c(*device_);
  uint64_t ns = 0;
  c.check(device_->instance()->streams()->timer_elapsed(earlier.handle_, handle_, &ns, &c.err), "timer_elapsed");
  return ns;
}

Event::~Event() {
  const Instance &i = *device_->instance();
  if (handle_) destroy(i, [&](const QdbBackend &) { i.streams()->event_destroy(handle_); });
}

uint64_t Event::native() const { return device_->instance()->streams()->native_event(handle_); }

void Event::record(Stream &s) {
  Call c(*device_);
  c.check(device_->instance()->streams()->event_record(handle_, s.raw(), &c.err), "event_record");
}

void Event::wait(Stream &s) {
  Call c(*device_);
  c.check(device_->instance()->streams()->event_wait(handle_, s.raw(), &c.err), "event_wait");
}

void Event::sync() {
  Call c(*device_);
  c.check(device_->instance()->streams()->event_sync(handle_, &c.err), "event_sync");
}

}  // namespace qd::plugin

void qd::set_launch_poll(std::function<bool()> poll) { plugin::launch_poll() = std::move(poll); }

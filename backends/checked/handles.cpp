// handles.cpp: the numbers that the host holds, and what each stands for. Number = 8 * serial + kind, serials are never
// reused, so a number says of itself whether it was ever given out, as what, and by which process.
#include <cstdio>
#include <new>

#include "backends/checked/checked.hpp"

namespace qd::checked {
namespace {

std::atomic<Tables *> current{nullptr};
std::atomic<Instance *> instances{nullptr};

std::string name_of(uint64_t handle, Kind expected) {
  char hex[32];
  std::snprintf(hex, sizeof hex, "%#llx", static_cast<unsigned long long>(handle));
  return std::string(hex) + " as " + kind_names[size_t(expected)];
}

// Asks the parent's instances once what they say in this process. The one call with the lock held: it must come back at
// once.
void test_fork() {
  for (Instance *i = instances.load(); i; i = i->next) {
    if (i->quiesced.load() != 1 || i->fork_tested) continue;
    i->fork_tested = true;
    Slot slot;
    slot.silent = true;
    uint32_t n = 0;
    const QdbStatus status = i->wrapped->table.device_count(i->inner(), &n, slot.handle());
    if (status != QDB_E_FORKED) throw Broken(Violation::not_forked, "status " + std::to_string(status), "device_count");
  }
}

// The key of a plugin's handle among those of its instance that live.
uint64_t plugin_key(Kind kind, const void *plugin_handle) {
  return reinterpret_cast<uintptr_t>(plugin_handle) << 3 | uint64_t(kind);
}

}  // namespace

Tables &tables() {
  Tables *t = current.load();
  if (t) return *t;
  auto fresh = std::make_unique<Tables>();
  if (current.compare_exchange_strong(t, fresh.get())) t = fresh.release();
  return *t;
}

// The parent's lock may be held for ever here and its containers half written: nothing but the counter is read.
void leave_parent(uint64_t handle) {
  Tables *old = current.load();
  if (!old || handle >> 3 < old->first) return;
  auto *fresh = new Tables;
  fresh->first = fresh->next = old->next;
  current.store(fresh);
}

Instance *find_instance(uint64_t handle) {
  for (Instance *i = instances.load(); i; i = i->next)
    if (i->handle == handle) return i;
  return nullptr;
}

void keep_instance(Instance *i) {
  i->next = instances.load();
  while (!instances.compare_exchange_weak(i->next, i)) {}
}

std::shared_ptr<Object> find(const void *handle, Kind kind, const std::string &where, bool destroying) {
  const Tables &t = tables();
  const uint64_t number = reinterpret_cast<uintptr_t>(handle), serial = number >> 3;
  if (!number)
    throw Broken(Violation::null_argument, std::string("the ") + kind_names[size_t(kind)] + " is NULL", where);
  if (serial == 0 || serial >= t.next || (number & 7) != uint64_t(kind))
    throw Broken(Violation::unknown_handle, name_of(number, kind), where);
  if (serial < t.first) {
    test_fork();
    throw Failure(QDB_E_FORKED,
                  "this backend was opened by the parent process: start workers with spawn, or call init again", where);
  }
  const auto found = t.live.find(number);
  if (found == t.live.end())
    throw Broken(destroying ? Violation::double_destroy : Violation::dead_handle, name_of(number, kind), where);
  return found->second;
}

void check_new(Instance &instance, Kind kind, const void *plugin_handle, const char *function) {
  if (!plugin_handle) throw Broken(Violation::no_object, "success and a NULL handle", function);
  std::lock_guard<std::mutex> lock(tables().mutex);
  if (instance.plugin_handles.count(plugin_key(kind, plugin_handle)))
    throw Broken(Violation::repeated_handle, std::string("the handle of a living ") + kind_names[size_t(kind)],
                 function);
}

void *make(std::shared_ptr<Object> object, std::shared_ptr<Object> parent, void *plugin_handle, const char *function) {
  const bool counted = parent && object->kind != Kind::entry;  // a module may give one entry for two symbols
  if (counted) check_new(*parent->instance, object->kind, plugin_handle, function);
  else if (!plugin_handle) throw Broken(Violation::no_object, "success and a NULL handle", function);
  Tables &t = tables();
  std::lock_guard<std::mutex> lock(t.mutex);
  object->plugin_handle = plugin_handle;
  if (parent) {
    object->instance = parent->instance;
    object->device = object->kind == Kind::device ? static_cast<Device *>(object.get()) : parent->device;
  }
  object->handle = t.next++ << 3 | uint64_t(object->kind);
  if (counted) {
    object->instance->plugin_handles.insert(plugin_key(object->kind, plugin_handle));
    parent->children[size_t(object->kind)]++;
    qd_count_add(&object->instance->counts.live_objects, 1);
  }
  object->parent = std::move(parent);
  void *const handle = reinterpret_cast<void *>(uintptr_t(object->handle));
  t.live.emplace(object->handle, std::move(object));
  return handle;
}

std::shared_ptr<Object> take_out(const void *handle, Kind kind, const char *function) {
  Tables &t = tables();
  std::lock_guard<std::mutex> lock(t.mutex);
  std::shared_ptr<Object> object = find(handle, kind, function, true);
  if (object->instance->quiesced.load() == 2) throw Broken(Violation::after_quiesce, "a call", function);
  std::string children;
  for (size_t k = 0; k < std::size(object->children); k++)
    if (const uint32_t n = object->children[k])
      children += (children.empty() ? "" : ", ") + std::to_string(n) + " x " + kind_names[k];
  if (!children.empty())
    throw Broken(Violation::live_children, kind_names[size_t(kind)] + (" with " + children) + " alive", function);
  uint32_t users = object->users;
  if (kind == Kind::module)
    for (const auto &[symbol, entry] : static_cast<Module &>(*object).entries)
      users += t.live.at(reinterpret_cast<uintptr_t>(entry))->users;
  if (users)
    throw Broken(Violation::destroy_in_use, std::to_string(users) + " calls on the " + kind_names[size_t(kind)],
                 function);
  t.live.erase(object->handle);
  if (object->parent) {
    object->parent->children[size_t(kind)]--;
    object->instance->plugin_handles.erase(plugin_key(kind, object->plugin_handle));
    qd_count_add(&object->instance->counts.live_objects, ~uint64_t(0));
  }
  return object;
}

}  // namespace qd::checked

// memory.cpp: allocation, copies and fills. Each allocation is made longer than asked, and the host is shown its
// middle.
#include "backends/checked/checked.hpp"
#include "backends/checked/functions.hpp"

namespace qd::checked {
namespace {

void check_info(const Frame &f, const QdbMemInfo &info, uint64_t size) {
  const auto wrong = [&](const std::string &found) { return Broken(Violation::bad_memory, found, f.function); };
  if (info.size != size)
    throw wrong("a size of " + std::to_string(info.size) + " for " + std::to_string(size) + " bytes");
  if (!info.address || info.address % 64)
    throw wrong("an address that ends in " + std::to_string(info.address % 64) + " of 64");
  if ((f.instance.caps & QDB_CAP_HOST_SHARED) && !info.host) throw wrong("no host address with QDB_CAP_HOST_SHARED");
}

QdbMemInfo ask_info(const Frame &f, QdbMem *inner) {
  Guarded<QdbMemInfo> answer;
  forward(f, [&](QdbErr *s) { return f.t().mem_info(inner, &answer.value, s); });
  answer.check(f.function);
  return answer.value;
}

// A place of a copy or fill, turned into the wrapped plugin's. Keeps the memory in use.
void place(const Stream &stream, std::vector<Using<Mem>> &used, QdbMem *&mem, uint64_t &offset, uint64_t size,
           const char *side, const std::string &where) {
  if (!mem) {
    if (size && !offset) throw Broken(Violation::null_argument, std::string(side) + " is a NULL host address", where);
    return;
  }
  const Using<Mem> &m = used.emplace_back(mem, where);
  if (m->device != stream.device)
    throw Broken(Violation::foreign_handle, std::string(side) + " is memory of another device than the stream", where);
  if (offset > m->size || size > m->size - offset)
    throw Broken(Violation::out_of_allocation,
                 std::string(side) + ": bytes " + std::to_string(offset) + " + " + std::to_string(size) + " of " +
                     std::to_string(m->size),
                 where);
  mem = m->inner();
  offset += guard_bytes;
}

template <class F>
void transfer(const Frame &f, const Stream &stream, const std::vector<Using<Mem>> &used, F &&call) {
  forward(f, call);
  // So that damage is found in the call that did it; asynchronous backends lose their overlap here.
  forward(f, [&](QdbErr *s) { return f.t().stream_sync(stream.inner(), s); });
  for (const Using<Mem> &m : used) check_guards(f, *m);
}

}  // namespace

QdbStatus QDB_CALL mem_alloc(QdbDevice *h, uint64_t size, QdbMem **out, QdbErr *slot) noexcept {
  return on<Device>(h, "mem_alloc", slot, [&](auto &self, const Frame &f) {
    required(out, "mem", f.function);
    if (size == 0) throw Broken(Violation::bad_value, "a size of 0", f.function);
    if (size > UINT64_MAX - 2 * guard_bytes)
      throw Failure(QDB_E_DEVICE_MEMORY, "no memory for " + std::to_string(size) + " bytes", f.function);
    const uint64_t whole = size + 2 * guard_bytes;
    QdbMem *inner = nullptr;
    forward(f, [&](QdbErr *s) { return f.t().mem_alloc(self->inner(), whole, &inner, s); });
    check_new(f.instance, Kind::mem, inner, f.function);
    const auto made = std::make_shared<Mem>();
    made->plugin_handle = inner, made->device = &*self, made->size = size;
    try {
      const QdbMemInfo info = ask_info(f, inner);
      check_info(f, info, whole);
      made->address = info.address + guard_bytes;
      made->host = info.host ? static_cast<char *>(info.host) + guard_bytes : nullptr;
      check_zero(f, *made);
      paint(f, *made);
    } catch (...) {
      f.t().mem_free(inner);
      throw;
    }
    *out = static_cast<QdbMem *>(make(made, self.shared(), inner, f.function));
    std::lock_guard<std::mutex> lock(tables().mutex);
    self->memory.insert_or_assign(made->address, made);
  });
}

void QDB_CALL mem_free(QdbMem *h) noexcept {
  destroying<Mem>(h, "mem_free", [](Mem &self, const Frame &f) {
    {
      std::lock_guard<std::mutex> lock(tables().mutex);
      const auto found = self.device->memory.find(self.address);
      if (found != self.device->memory.end() && found->second.lock().get() == &self) self.device->memory.erase(found);
    }
    std::unique_ptr<Broken> damage;
    try {
      check_guards(f, self);
    } catch (const Broken &e) { damage = std::make_unique<Broken>(e); }
    {
      std::lock_guard<std::mutex> lock(self.guard);
      self.gone = true;
    }
    f.t().mem_free(self.inner());
    if (damage) throw *damage;
  });
}

QdbStatus QDB_CALL mem_info(QdbMem *h, QdbMemInfo *out, QdbErr *slot) noexcept {
  return on<Mem>(h, "mem_info", slot, [&](auto &self, const Frame &f) {
    required(out, "info", f.function);
    check_size(out->struct_size, 8, "info", f.function);
    QdbMemInfo info = ask_info(f, self->inner());
    check_info(f, info, self->size + 2 * guard_bytes);
    const bool moved = info.host ? self->host != static_cast<char *>(info.host) + guard_bytes : self->host != nullptr;
    if (info.address + guard_bytes != self->address || moved)
      throw Broken(Violation::bad_memory, "other addresses than before", f.function);
    info.size = self->size, info.address = self->address, info.host = self->host;
    give(info, out);
  });
}

QdbStatus QDB_CALL copy(QdbStream *h, const QdbCopy *copies, uint32_t stride, uint32_t n, QdbErr *slot) noexcept {
  return on<Stream>(h, "copy", slot, [&](auto &self, const Frame &f) {
    const Turn turn(*self, f.function);
    check_array(copies, stride, n, "copies", f.function);
    std::vector<QdbCopy> inner;
    std::vector<Using<Mem>> used;
    for (uint32_t i = 0; i < n; i++) {
      QdbCopy c = plugin::at(copies, stride, i);
      const std::string where = f.element(i);
      const uint64_t apart = c.dst_offset > c.src_offset ? c.dst_offset - c.src_offset : c.src_offset - c.dst_offset;
      if (c.dst == c.src && c.size > apart)
        throw Broken(Violation::copy_overlap,
                     std::to_string(c.size) + " bytes between places " + std::to_string(apart) + " bytes apart", where);
      place(*self, used, c.dst, c.dst_offset, c.size, "the destination", where);
      place(*self, used, c.src, c.src_offset, c.size, "the source", where);
      inner.push_back(c);
    }
    transfer(f, *self, used, [&](QdbErr *s) { return f.t().copy(self->inner(), inner.data(), sizeof(QdbCopy), n, s); });
  });
}

QdbStatus QDB_CALL fill(QdbStream *h, const QdbFill *fills, uint32_t stride, uint32_t n, QdbErr *slot) noexcept {
  return on<Stream>(h, "fill", slot, [&](auto &self, const Frame &f) {
    const Turn turn(*self, f.function);
    check_array(fills, stride, n, "fills", f.function);
    std::vector<QdbFill> inner;
    std::vector<Using<Mem>> used;
    for (uint32_t i = 0; i < n; i++) {
      QdbFill c = plugin::at(fills, stride, i);
      const std::string where = f.element(i);
      const uint32_t p = c.pattern_bytes;
      if ((p != 1 && p != 2 && p != 4 && p != 8) || c.size % p)
        throw Broken(Violation::fill_pattern, std::to_string(c.size) + " bytes with a pattern of " + std::to_string(p),
                     where);
      required(c.dst, "dst", where);
      place(*self, used, c.dst, c.dst_offset, c.size, "the destination", where);
      inner.push_back(c);
    }
    transfer(f, *self, used, [&](QdbErr *s) { return f.t().fill(self->inner(), inner.data(), sizeof(QdbFill), n, s); });
  });
}

}  // namespace qd::checked

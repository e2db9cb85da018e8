// launch.cpp: launches. The argument block is read with the task's parameters in hand; afterwards the guards of the
// memory that it names are compared.
#include <cstdio>

#include "backends/checked/checked.hpp"
#include "backends/checked/functions.hpp"
#include "qd/ir_tables.hpp"

namespace qd::checked {
namespace {

using Touched = std::map<uint64_t, std::unique_ptr<Using<Mem>>>;  // by address

struct Check {
  const Frame &frame;
  Stream &stream;
  Touched &touched;
  const QdbLaunch &l;
  const TaskInfo *task;  // null: not known
  std::string where;

  [[noreturn]] void fail(Violation v, const std::string &found) const { throw Broken(v, found, where); }
  uint64_t word(uint32_t i) const { return static_cast<const uint64_t *>(l.args)[i]; }

  void shape() const {
    if (l.flags & 0xffff & ~(QDB_LAUNCH_RANGE_UNKNOWN | QDB_LAUNCH_REPORTS))
      fail(Violation::bad_value, "flags " + std::to_string(l.flags));
    if (!l.args || reinterpret_cast<uintptr_t>(l.args) % 8)
      fail(Violation::launch_args, l.args ? "an unaligned block" : "NULL");
    const uint64_t bytes = task ? 8ull * task->arg_words : std::max<uint64_t>(l.arg_bytes / 8 * 8, 8 * QD_ARG_FIRST);
    if (l.arg_bytes != bytes)
      fail(Violation::launch_args, std::to_string(l.arg_bytes) + " bytes, not " + std::to_string(bytes));
    if (uint32_t(word(QD_ARG_ORDINAL)) != l.task_ordinal)
      fail(Violation::launch_ordinal, std::to_string(l.task_ordinal) + ", and " +
                                          std::to_string(uint32_t(word(QD_ARG_ORDINAL))) + " in the block");
  }
  void range() const {
    if (l.flags & QDB_LAUNCH_RANGE_UNKNOWN) return;
    const std::string found =
        std::string("[").append(std::to_string(l.begin)).append(", ").append(std::to_string(l.end)).append(")");
    if (l.begin < 0 || l.begin > l.end) fail(Violation::launch_range, found);
    if (task && task->serial && (l.begin != 0 || l.end != 1))
      fail(Violation::launch_range, found + " for a serial task");
  }
  const Mem &touch(std::unique_ptr<Using<Mem>> mem) const {
    const Mem &m = **mem;
    touched.emplace(m.address, std::move(mem));
    return m;
  }
  const Mem &inside(uint64_t address, uint64_t size, const std::string &what) const {
    auto mem = holder(*stream.device, address, size);
    if (!mem) {
      char hex[32];
      std::snprintf(hex, sizeof hex, "%#llx", static_cast<unsigned long long>(address));
      fail(Violation::buffer_address, what + ": " + std::to_string(size) + " bytes at " + hex);
    }
    return touch(std::move(mem));
  }
  void hidden() const {
    if (task->outputs) inside(word(QD_ARG_RESULT), QD_RESULT_BYTES, "result buffer");
    if (!task->reports && !(l.flags & QDB_LAUNCH_REPORTS)) return;
    const uint64_t address = word(QD_ARG_REPORT);
    const Mem &mem = inside(address, sizeof(QdReportHeader), "report buffer");
    if (!mem.host) return;
    QdReportHeader h;
    const uint64_t offset = address - mem.address;
    std::memcpy(&h, mem.host + offset, sizeof h);
    if (h.capacity > mem.size - offset - sizeof h)
      fail(Violation::buffer_address,
           "report buffer: a capacity of " + std::to_string(h.capacity) + " in memory of " + std::to_string(mem.size));
  }
  // External arrays may be any memory of the process or of another library: those that are ours are only guarded.
  void buffers() const {
    uint32_t at = QD_ARG_FIRST;
    for (size_t i = 0; i < task->params.size(); i++) {
      const QdParam &p = task->params[i];
      if (view::words(p) == 0) continue;  // shared by a block
      const uint64_t address = word(at);
      if (p.kind == QD_PARAM_BUFFER) {
        const std::string name = "parameter " + std::to_string(i);
        const uint64_t bytes = view::info(view::Type(p.type)).bytes;
        if (p.alias != QD_ALIAS_EXTERNAL) inside(address, bytes * std::max<uint64_t>(p.count, 1), name);
        else if (auto mem = holder(*stream.device, address, 0)) touch(std::move(mem));
      }
      at += view::words(p);
    }
  }
};

}  // namespace

QdbStatus QDB_CALL launch(QdbStream *h, const QdbLaunch *launches, uint32_t stride, uint32_t n, QdbErr *slot) noexcept {
  return on<Stream>(h, "launch", slot, [&](auto &self, const Frame &f) {
    qd_count_add(&f.instance.counts.launch_calls, 1);
    qd_count_add(&f.instance.counts.tasks_launched, n);
    const Turn turn(*self, f.function);
    check_array(launches, stride, n, "launches", f.function);
    std::vector<QdbLaunch> inner;
    std::vector<Using<Entry>> used;
    Touched touched;
    for (uint32_t i = 0; i < n; i++) {
      QdbLaunch l = plugin::at(launches, stride, i);
      const Using<Entry> &entry = used.emplace_back(l.entry, f.element(i));
      const std::string where = f.element(i) + ", entry " + entry->symbol;
      if (entry->device != self->device)
        throw Broken(Violation::foreign_handle, "an entry of another device than the stream", where);
      const Check check{f, *self, touched, l, entry->task.get(), where};
      check.shape(), check.range();
      if (entry->task) check.hidden(), check.buffers();
      l.entry = entry->inner();
      inner.push_back(l);
    }
    forward(f, [&](QdbErr *s) { return f.t().launch(self->inner(), inner.data(), sizeof(QdbLaunch), n, s); });
    forward(f, [&](QdbErr *s) { return f.t().stream_sync(self->inner(), s); });
    for (const auto &[address, mem] : touched) check_guards(f, **mem);
  });
}

}  // namespace qd::checked

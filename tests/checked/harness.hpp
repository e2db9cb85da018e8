// harness.hpp: the checking plugin around the faulty one, and the two words that its tests are written in: ok() and
// broken().
#pragma once
#include <gtest/gtest.h>

#include <set>

#include "tests/support/plugin_host.hpp"
#include "tests/support/unit_writer.hpp"

namespace qd::test {

inline std::set<std::string> provoked;  // names of violations.def; main.cpp compares at the end

inline void set_fault(const char *name) {
  static const auto set =
      reinterpret_cast<void (*)(const char *)>(dlsym(dlopen(QD_FAULTY_PATH, RTLD_NOW | RTLD_LOCAL), "faulty_set"));
  set(name);
}

// Called in the middle of each fill.
inline void set_hook(void (*hook)(void *), void *arg) {
  using Set = void (*)(void (*)(void *), void *);
  static const auto set = reinterpret_cast<Set>(dlsym(dlopen(QD_FAULTY_PATH, RTLD_NOW | RTLD_LOCAL), "faulty_hook"));
  set(hook, arg);
}

inline const char *checked_around(const char *wrapped) {
  setenv("QD_CHECKED_PLUGIN", wrapped, 1);
  return QD_CHECKED_PATH;
}

// What a test is about: calls through the checker, in the shortest words.
struct Checked : Backend {
  explicit Checked(const char *wrapped = QD_FAULTY_PATH) : Backend((set_fault(""), checked_around(wrapped))) {}
  ~Checked() { set_fault(""); }

  void ok(QdbStatus status) {
    EXPECT_EQ(status, QDB_OK) << err.message;
    EXPECT_EQ(err.sets, 0) << err.message;
    forget();
  }
  void broken(const std::string &name, QdbStatus status) {
    EXPECT_LT(status, 0) << name << " was not seen";
    EXPECT_NE(err.message.find("ABI violation `" + name + "`"), std::string::npos)
        << "expected " << name << ", found: " << err.message;
    EXPECT_NE(err.message.find("expected: "), std::string::npos);
    EXPECT_FALSE(err.where.empty());
    provoked.insert(name);
    forget();
  }
  // A violation of a call without an error slot: the next one with a slot tells.
  void broken_before(const std::string &name) {
    broken(name, count_devices());
    ok(count_devices());
  }
  QdbStatus count_devices() {
    uint32_t n = 0;
    return t->device_count(instance, &n, &err);
  }
  void forget() { err.sets = 0, err.message.clear(), err.where.clear(); }

  QdbMem *alloc(uint64_t size = 64) {
    QdbMem *m = nullptr;
    ok(t->mem_alloc(device, size, &m, &err));
    return m;
  }
  uint64_t address(QdbMem *m) {
    QdbMemInfo info{};
    info.struct_size = sizeof info;
    ok(t->mem_info(m, &info, &err));
    return info.address;
  }
  QdbStatus copy(QdbCopy c) { return t->copy(stream, &c, sizeof c, 1, &err); }
  QdbStatus fill(QdbFill f) { return t->fill(stream, &f, sizeof f, 1, &err); }
  void free(QdbMem *m) { t->mem_free(m); }
};

inline QdbStatus alloc_status(Checked &c, uint64_t size, QdbMem **out) {
  return c.t->mem_alloc(c.device, size, out, &c.err);
}

// x = argument 0; nothing else.
inline std::string serial_unit() {
  UnitWriter w;
  const uint32_t field = w.buffer(Type::i32, 0, QD_ALIAS_FIELD);
  const uint32_t zero = w.constant(Type::i32, 0);
  w.add(Op::store, Type::none, field, zero, zero);
  return w.bytes();
}

}  // namespace qd::test

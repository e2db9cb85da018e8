// host_faults_test.cpp: what a host may do wrong outside launches; each beside the correct call.
#include "tests/checked/harness.hpp"

namespace qd::test {
namespace {

TEST(HostFaults, NullArguments) {
  Checked c;
  c.broken("null_argument", c.t->device_count(c.instance, nullptr, &c.err));
  c.broken("null_argument", c.t->device_sync(nullptr, &c.err));
  c.broken("null_argument", c.t->fill(c.stream, nullptr, sizeof(QdbFill), 1, &c.err));
  c.broken("null_argument", c.t->compile(c.instance, nullptr, nullptr, &c.err));
  c.ok(c.t->fill(c.stream, nullptr, 0, 0, &c.err));
  EXPECT_EQ(c.t->extension(c.instance, nullptr, 1), nullptr);
  c.broken_before("null_argument");
}

TEST(HostFaults, ShortStructs) {
  Checked c;
  QdbCaps caps{};
  c.broken("short_struct", c.t->caps(c.instance, &caps, &c.err));
  caps.struct_size = sizeof caps;
  c.ok(c.t->caps(c.instance, &caps, &c.err));
  QdbFill f{};
  c.broken("short_struct", c.t->fill(c.stream, &f, sizeof f - 8, 1, &c.err));
}

TEST(HostFaults, ValuesWithoutAMeaning) {
  Checked c;
  QdbBlob *blob = nullptr;
  c.broken("bad_value", c.t->target_of_device(c.device, 3, &blob, &c.err));
  QdbMem *m = nullptr;
  c.broken("bad_value", alloc_status(c, 0, &m));
  c.ok(alloc_status(c, 1, &m));
  c.free(m);
  c.t->instance_quiesce(c.instance, 7);
  c.broken_before("bad_value");
}

TEST(HostFaults, HandlesThatAreNone) {
  Checked c;
  c.broken("unknown_handle", c.t->device_sync(reinterpret_cast<QdbDevice *>(&c), &c.err));
  c.broken("unknown_handle", c.t->device_sync(reinterpret_cast<QdbDevice *>(c.stream), &c.err));
  c.ok(c.t->device_sync(c.device, &c.err));
}

TEST(HostFaults, LifeTimes) {
  Checked c;
  QdbMem *m = c.alloc();
  QdbMemInfo info{};
  info.struct_size = sizeof info;
  c.t->device_close(c.device);
  c.broken_before("live_children");
  c.free(m);
  c.broken("dead_handle", c.t->mem_info(m, &info, &c.err));
  c.free(m);
  c.broken_before("double_destroy");
  QdbMem *next = c.alloc();
  EXPECT_NE(next, m) << "a handle was given out twice";
  c.free(next);
  c.free(nullptr);
  c.ok(c.count_devices());
}

TEST(HostFaults, InstanceWithOpenDevices) {
  Checked c;
  c.t->instance_destroy(c.instance);
  c.broken_before("live_children");
}

TEST(HostFaults, EntriesGoWithTheirModule) {
  Checked c;
  QdbEntry *entry = c.load(serial_unit());
  QdbMem *m = c.alloc();
  c.ok(c.launch(entry, {c.address(m)}));
  c.t->module_unload(c.modules[0]);
  c.modules.clear();
  c.broken("dead_handle", c.launch(entry, {c.address(m)}));
  c.free(m);
}

TEST(HostFaults, ObjectsOfTwoDevices) {
  Checked a, b;
  QdbMem *m = b.alloc();
  a.broken("foreign_handle", a.fill({m, 0, 8, 0, 1, 0}));
  b.ok(b.fill({m, 0, 8, 0, 1, 0}));
  QdbEntry *entry = b.load(serial_unit());
  a.broken("foreign_handle", a.launch(entry, {b.address(m)}));
  b.free(m);
}

// Calls that come while another one runs, without threads: the faulty plugin calls `act` in the middle of a fill.
struct Meanwhile {
  Checked c;
  QdbMem *mem = c.alloc();
  QdbStatus status = QDB_OK;
  QdbErr err;
  void run(void (*act)(void *)) {
    set_hook(act, this);
    c.ok(c.fill({mem, 0, 8, 0, 1, 0}));
    set_hook(nullptr, nullptr);
  }
};

TEST(HostFaults, TwoCallsOnOneStream) {
  Meanwhile m;
  m.run([](void *p) {
    auto &m = *static_cast<Meanwhile *>(p);
    m.status = m.c.t->stream_sync(m.c.stream, &m.err);
  });
  EXPECT_EQ(m.status, QDB_E_INVALID);
  EXPECT_NE(m.err.message.find("`stream_race`"), std::string::npos) << m.err.message;
  provoked.insert("stream_race");
  m.c.ok(m.c.t->stream_sync(m.c.stream, &m.c.err));
  m.c.free(m.mem);
}

TEST(HostFaults, DestroyedWhileInUse) {
  Meanwhile m;
  m.run([](void *p) {
    auto &m = *static_cast<Meanwhile *>(p);
    m.c.free(m.mem);
  });
  m.c.broken_before("destroy_in_use");
  m.c.ok(m.c.fill({m.mem, 0, 8, 0, 1, 0}));
  m.run([](void *p) {
    auto &m = *static_cast<Meanwhile *>(p);
    m.c.t->stream_destroy(m.c.stream);
  });
  m.c.broken_before("destroy_in_use");
  m.c.free(m.mem);
  m.c.ok(m.c.count_devices());
}

TEST(HostFaults, CallsAfterTheEnd) {
  Checked other;
  static auto *c = new Checked;  // never destroyed: nothing may be called any more
  c->t->instance_quiesce(c->instance, 2);
  c->broken("after_quiesce", c->count_devices());
  c->t->stream_destroy(c->stream);
  other.broken_before("after_quiesce");
}

TEST(HostFaults, Requests) {
  Checked c;
  QdbArtifactOut out;
  std::string unit = serial_unit();
  c.ok(c.compile(unit, out));
  host_table()->blob_release(&c.state, out.blob);
  unit[unit.size() - 15] ^= 64;
  c.broken("bad_unit", c.compile(unit, out));
  const QdbOption good{str("opt_level"), str("2")}, unknown{str("speed"), str("2")},
      text{str("opt_level"), str("high")};
  const auto create = [&](const QdbOption &o) {
    QdbInstanceDesc desc{sizeof desc, 1, &o, sizeof o, 0};
    QdbInstance *instance = nullptr;
    const QdbStatus status = c.t->instance_create(&desc, &instance, &c.err);
    c.t->instance_destroy(instance);
    return status;
  };
  c.broken("bad_option", create(unknown));
  c.broken("bad_option", create(text));
  c.ok(create(good));
  const QdbBytes target{"x", 1};
  const QdbArtifact artifact{str("ir"), {"x", 1}};
  c.broken("no_finish", c.t->finish(c.instance, &target, &artifact, &out, &c.err));
  EXPECT_EQ(c.state.live_blobs, 0);
}

TEST(HostFaults, CopiesAndFills) {
  Checked c;
  char host[64] = {};
  const uint64_t at = reinterpret_cast<uintptr_t>(host);
  QdbMem *m = c.alloc(64);
  c.ok(c.copy({m, 0, nullptr, at, 64}));
  c.broken("out_of_allocation", c.copy({m, 1, nullptr, at, 64}));
  c.broken("out_of_allocation", c.copy({nullptr, at, m, ~0ull, 2}));
  c.broken("null_argument", c.copy({m, 0, nullptr, 0, 64}));
  c.ok(c.copy({m, 32, m, 0, 32}));
  c.broken("copy_overlap", c.copy({m, 16, m, 0, 32}));
  c.ok(c.fill({m, 60, 4, 1, 4, 0}));
  c.broken("out_of_allocation", c.fill({m, 64, 4, 1, 4, 0}));
  c.broken("fill_pattern", c.fill({m, 0, 6, 1, 4, 0}));
  c.broken("fill_pattern", c.fill({m, 0, 6, 1, 3, 0}));
  c.free(m);
}

}  // namespace
}  // namespace qd::test

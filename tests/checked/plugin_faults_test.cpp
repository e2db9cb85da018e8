// plugin_faults_test.cpp: what a plugin may answer wrongly. The faulty plugin does it on request, and does it right
// before.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/checked/harness.hpp"

namespace qd::test {
namespace {

template <class F>
void wrong(Checked &c, const std::string &name, const char *fault, F &&call) {
  c.ok(call());
  set_fault(fault);
  c.broken(name, call());
  set_fault("");
  c.ok(call());
}

TEST(PluginFaults, Statuses) {
  Checked c;
  const auto sync = [&] { return c.t->device_sync(c.device, &c.err); };
  wrong(c, "no_reason", "no_reason", sync);
  wrong(c, "no_reason", "no_reason_same", sync);
  wrong(c, "reason_of_success", "reason_of_success", sync);
  wrong(c, "bad_status", "bad_status", sync);
  wrong(c, "bad_status", "bad_status_unknown", sync);
  wrong(c, "exception", "exception", sync);
}

TEST(PluginFaults, Descriptions) {
  Checked c;
  QdbDeviceInfo info{};
  info.struct_size = sizeof info;
  const auto describe = [&] { return c.t->device_info(c.instance, 0, &info, &c.err); };
  wrong(c, "struct_overrun", "struct_overrun", describe);
  wrong(c, "bad_answer", "bad_answer_text", describe);
  QdbCaps caps{};
  caps.struct_size = sizeof caps;
  wrong(c, "bad_answer", "bad_answer", [&] { return c.t->caps(c.instance, &caps, &c.err); });
}

TEST(PluginFaults, Target) {
  Checked c;
  wrong(c, "unstable_target", "unstable_target", [&] {
    QdbBlob *blob = nullptr;
    const QdbStatus status = c.t->target_of_device(c.device, 1, &blob, &c.err);
    host_table()->blob_release(&c.state, blob);
    return status;
  });
  EXPECT_EQ(c.state.live_blobs, 0);
}

TEST(PluginFaults, Artifacts) {
  Checked c;
  const std::string unit = serial_unit();
  const auto compile = [&] {
    QdbArtifactOut out;
    const QdbStatus status = c.compile(unit, out);
    host_table()->blob_release(&c.state, out.blob);
    return status;
  };
  wrong(c, "unstable_artifact", "unstable_artifact", compile);
  wrong(c, "no_object", "no_object_blob", compile);
  EXPECT_EQ(c.state.live_blobs, 0);
  c.load(unit);
  wrong(c, "missing_symbol", "missing_symbol", [&] {
    const QdbStr name = str("entry");
    QdbEntry *entry = nullptr;
    return c.t->module_entry(c.modules[0], &name, &entry, &c.err);
  });
}

TEST(PluginFaults, Allocations) {
  Checked c;
  const auto alloc = [&] {
    QdbMem *m = nullptr;
    const QdbStatus status = alloc_status(c, 100, &m);
    c.free(m);
    return status;
  };
  wrong(c, "no_object", "no_object", alloc);
  wrong(c, "bad_memory", "bad_memory", alloc);
  wrong(c, "bad_memory", "bad_memory_size", alloc);
  QdbMem *kept = c.alloc();
  set_fault("repeated_handle");
  QdbMem *m = nullptr;
  c.broken("repeated_handle", alloc_status(c, 100, &m));
  set_fault("");
  QdbMemInfo info{};
  info.struct_size = sizeof info;
  wrong(c, "bad_memory", "bad_memory_moved", [&] { return c.t->mem_info(kept, &info, &c.err); });
  c.free(kept);
}

void guards(Checked &c) {
  QdbMem *m = c.alloc(100);
  const auto fill = [&] { return c.fill({m, 0, 100, 7, 1, 0}); };
  wrong(c, "guard_written", "guard_written", fill);
  wrong(c, "guard_written", "guard_written_front", fill);
  c.free(m);
  c.ok(c.count_devices());
}

TEST(PluginFaults, WritesOutside) {
  Checked c;
  guards(c);
}

// The host itself writes behind its memory: nobody's call is to blame, freeing tells.
TEST(PluginFaults, DamageIsFoundWhenMemoryIsFreed) {
  Checked c;
  QdbMem *m = c.alloc(100);
  reinterpret_cast<char *>(c.address(m))[100] ^= 1;
  c.free(m);
  c.broken_before("guard_written");
}

// Guards of memory without host addresses travel through copies.
TEST(PluginFaults, UnmappedMemory) {
  Checked c;
  set_fault("unmapped");
  QdbInstanceDesc desc{};
  desc.struct_size = sizeof desc;
  QdbInstance *instance = nullptr;
  QdbDevice *device = nullptr;
  QdbStream *stream = nullptr;
  c.ok(c.t->instance_create(&desc, &instance, &c.err));
  c.ok(c.t->device_open(instance, 0, &device, &c.err));
  c.ok(c.t->stream_create(device, &stream, &c.err));
  QdbMem *m = nullptr;
  c.ok(c.t->mem_alloc(device, 100, &m, &c.err));
  QdbMemInfo info{};
  info.struct_size = sizeof info;
  c.ok(c.t->mem_info(m, &info, &c.err));
  EXPECT_EQ(info.host, nullptr);
  reinterpret_cast<char *>(info.address)[-1] ^= 1;
  c.broken("guard_written", c.t->stream_sync(stream, &c.err));
  c.ok(c.t->stream_sync(stream, &c.err));
  c.t->mem_free(m);
  c.t->stream_destroy(stream);
  c.t->device_close(device);
  c.t->instance_destroy(instance);
  set_fault("");
  c.ok(c.count_devices());
}

// In the child: 0 when the call answers `expected` with `word` in its text.
int in_child(Checked &c, const char *fault, QdbStatus expected, const char *word) {
  const pid_t pid = fork();
  if (pid == 0) {
    set_fault(fault);
    c.t->instance_quiesce(c.instance, 1);
    const QdbStatus status = c.t->device_sync(c.device, &c.err);
    _exit(status == expected && c.err.message.find(word) != std::string::npos ? 0 : 1);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  return status;
}

TEST(PluginFaults, Forks) {
  Checked c;
  EXPECT_EQ(in_child(c, "", QDB_E_FORKED, "parent"), 0);
  EXPECT_EQ(in_child(c, "not_forked", QDB_E_INTERNAL, "`not_forked`"), 0);
  provoked.insert("not_forked");
  c.ok(c.count_devices());
}

}  // namespace
}  // namespace qd::test

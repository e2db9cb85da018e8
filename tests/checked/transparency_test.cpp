// transparency_test.cpp: correct use of a wrapped backend that runs code: same results, same counts, nothing reported.
#include <thread>

#include "tests/checked/harness.hpp"

namespace qd::test {
namespace {

// field[i] = i * 3 over ten elements
std::string grid_unit() {
  UnitWriter w;
  const uint32_t field = w.param({QD_PARAM_BUFFER, uint8_t(Type::i32), 1, QD_ALIAS_FIELD, 0});
  const uint32_t zero = w.constant(Type::i32, 0), ten = w.constant(Type::i32, 10), three = w.constant(Type::i32, 3);
  w.operands({zero, ten});
  w.add(Op::parallel, Type::i32, 1, 0);
  const uint32_t i = w.add(Op::axis, Type::i32, 0);
  w.add(Op::store, Type::none, field, i, w.add(Op::mul, Type::i32, i, three));
  w.add(Op::end);
  return w.bytes();
}

TEST(Transparency, RunsCode) {
  Checked c(QD_REFERENCE_PATH);
  EXPECT_STREQ(c.reply.arch, "checked");
  EXPECT_NE(std::string(c.reply.name).find("Checked "), std::string::npos);
  QdbMem *m = c.alloc(40);
  QdbEntry *entry = c.load(grid_unit());
  c.ok(c.launch(entry, {c.address(m), 10}, 0, 10));
  int32_t found[10] = {};
  c.ok(c.copy({nullptr, reinterpret_cast<uintptr_t>(found), m, 0, 40}));
  for (int i = 0; i < 10; i++) EXPECT_EQ(found[i], 3 * i);
  EXPECT_EQ(c.count(&QdTestCounts::compile_calls), 1u);
  EXPECT_EQ(c.count(&QdTestCounts::tasks_compiled), 1u);
  EXPECT_EQ(c.count(&QdTestCounts::launch_calls), 1u);
  EXPECT_EQ(c.count(&QdTestCounts::live_objects), 4u);
  c.free(m);
  EXPECT_EQ(c.count(&QdTestCounts::live_objects), 3u);
}

// A store behind the end of a buffer, by the code itself: the range is one element too long for the memory.
TEST(Transparency, FindsStoresOutside) {
  Checked c(QD_REFERENCE_PATH);
  QdbMem *m = c.alloc(36);
  QdbEntry *entry = c.load(grid_unit());
  c.ok(c.launch(entry, {c.address(m), 10}, 0, 9));
  c.broken("guard_written", c.launch(entry, {c.address(m), 10}, 0, 10));
  c.free(m);
  c.ok(c.count_devices());
}

TEST(Transparency, ErrorsOfThePluginKeepTheirWords) {
  Checked c(QD_REFERENCE_PATH);
  const QdbArtifact damaged{str("ir"), {"nonsense", 8}};
  QdbModule *module = nullptr;
  EXPECT_EQ(c.t->module_load(c.device, &damaged, sizeof damaged, 1, &module, &c.err), QDB_E_ARTIFACT);
  EXPECT_EQ(c.err.sets, 1);
  EXPECT_NE(c.err.message.find("damaged artifact"), std::string::npos) << c.err.message;
}

TEST(Transparency, CancelReachesThePlugin) {
  Checked c(QD_REFERENCE_PATH);
  c.err.polls_before_cancel = 0;
  QdbArtifactOut out;
  EXPECT_EQ(c.compile(grid_unit(), out), QDB_E_CANCELLED);
  c.forget();
}

// The task is not known then: what its parameters are is not compared, what the block says of itself is.
TEST(Transparency, ArtifactsOfAnotherProcess) {
  UnitWriter w;
  const uint32_t field = w.buffer(Type::i32, 0, QD_ALIAS_FIELD), zero = w.constant(Type::i32, 0);
  w.add(Op::store, Type::none, field, zero, w.constant(Type::i32, 123456));
  Backend direct(QD_REFERENCE_PATH);
  QdbArtifactOut out;
  direct.check(direct.compile(w.bytes(), out));
  Checked c(QD_REFERENCE_PATH);
  const QdbArtifact artifact{str(out.kind), {out.blob->data, out.blob->size}};
  c.modules.push_back(nullptr);
  c.ok(c.t->module_load(c.device, &artifact, sizeof artifact, 1, &c.modules[0], &c.err));
  host_table()->blob_release(&direct.state, out.blob);
  QdbEntry *entry = nullptr, *again = nullptr;
  const QdbStr name = str("entry");
  c.ok(c.t->module_entry(c.modules[0], &name, &entry, &c.err));
  c.ok(c.t->module_entry(c.modules[0], &name, &again, &c.err));
  EXPECT_EQ(entry, again);
  QdbMem *m = c.alloc(4);
  int32_t found = 0;
  c.ok(c.launch(entry, {c.address(m)}));
  c.ok(c.copy({nullptr, reinterpret_cast<uintptr_t>(&found), m, 0, 4}));
  EXPECT_EQ(found, 123456);
  uint64_t words[4] = {};
  const QdbLaunch l{entry, words, 28, 0, 1, 0, 0};
  c.broken("launch_args", c.t->launch(c.stream, &l, sizeof l, 1, &c.err));
  c.free(m);
}

// Each thread has its own stream and memory; every sync looks at the memory of all of them.
TEST(Transparency, ManyThreads) {
  Checked c(QD_REFERENCE_PATH);
  QdbEntry *entry = c.load(grid_unit());
  std::atomic<int> wrong{0};
  const auto work = [&] {
    QdbErr err;
    const auto ok = [&](QdbStatus status) { wrong += status != QDB_OK; };
    QdbStream *stream = nullptr;
    ok(c.t->stream_create(c.device, &stream, &err));
    for (int i = 0; i < 50; i++) {
      QdbMem *m = nullptr;
      QdbMemInfo info{};
      info.struct_size = sizeof info;
      ok(c.t->mem_alloc(c.device, 40, &m, &err));
      ok(c.t->mem_info(m, &info, &err));
      const uint64_t words[] = {0, 0, 0, 0, info.address, 10};
      const QdbLaunch l{entry, words, sizeof words, 0, 10, 0, 0};
      ok(c.t->launch(stream, &l, sizeof l, 1, &err));
      ok(c.t->stream_sync(stream, &err));
      wrong += static_cast<int32_t *>(info.host)[9] != 27;
      c.t->mem_free(m);
    }
    c.t->stream_destroy(stream);
    EXPECT_EQ(err.sets, 0) << err.message;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back(work);
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  c.ok(c.count_devices());
}

// The wrapped plugin may be in use directly too: it remembers the host of its last negotiation only.
TEST(Transparency, BesideDirectUse) {
  Checked c(QD_REFERENCE_PATH);
  Backend direct(QD_REFERENCE_PATH);
  QdbBlob *blob = nullptr;
  EXPECT_EQ(direct.t->target_of_device(direct.device, 9, &blob, &direct.err), QDB_E_INVALID);
  EXPECT_EQ(direct.err.sets, 1);
  Checked again(QD_REFERENCE_PATH);
  Backend after(QD_REFERENCE_PATH);
  QdbMem *m = again.alloc(8);
  again.free(m);
  QdbArtifactOut out;
  again.ok(again.compile(grid_unit(), out));
  host_table()->blob_release(&again.state, out.blob);
}

TEST(Transparency, NoPluginToWrap) {
  HostState state;
  const QdbHello h = hello(state);
  QdbReply reply{};
  reply.struct_size = sizeof reply;
  EXPECT_LT(open_plugin(checked_around("/nowhere/libqd_none.so"))(&h, &reply), 0);
  EXPECT_NE(std::string(reply.reason).find("/nowhere/libqd_none.so"), std::string::npos) << reply.reason;
}

}  // namespace
}  // namespace qd::test

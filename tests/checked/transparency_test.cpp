// transparency_test.cpp: correct use of a wrapped backend that runs code: same results, same counts, nothing reported.
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

// launch_faults_test.cpp: what a host may do wrong in a launch; each beside the correct one.
#include "tests/checked/harness.hpp"

namespace qd::test {
namespace {

struct Launch : testing::Test {
  Launch() : entry(c.load(serial_unit())), mem(c.alloc(64)), words{0, 0, 0, 5, c.address(mem)} {}
  ~Launch() override { c.free(mem); }
  QdbLaunch good() { return {entry, words, sizeof words, 0, 1, 5, 0}; }
  QdbStatus run(const QdbLaunch &l) { return c.t->launch(c.stream, &l, sizeof l, 1, &c.err); }

  Checked c;
  QdbEntry *entry;
  QdbMem *mem;
  uint64_t words[5];
};

TEST_F(Launch, Arguments) {
  c.ok(run(good()));
  QdbLaunch l = good();
  l.arg_bytes -= 8;
  c.broken("launch_args", run(l));
  l = good(), l.args = reinterpret_cast<const char *>(words) + 4, l.arg_bytes = 32;
  c.broken("launch_args", run(l));
  l.args = nullptr;
  c.broken("launch_args", run(l));
  l = good(), l.flags = 4;
  c.broken("bad_value", run(l));
}

TEST_F(Launch, Range) {
  QdbLaunch l = good();
  l.end = 2;
  c.broken("launch_range", run(l));
  l.begin = 3;
  c.broken("launch_range", run(l));
  UnitWriter w;
  const uint32_t zero = w.constant(Type::i32, 0), ten = w.constant(Type::i32, 10);
  w.operands({zero, ten});
  w.add(Op::parallel, Type::i32, 1, 0);
  w.add(Op::end);
  l = good(), l.entry = c.load(w.bytes()), l.arg_bytes = 32, l.end = 10;
  c.ok(run(l));
  l.begin = -1;
  c.broken("launch_range", run(l));
  l.flags = QDB_LAUNCH_RANGE_UNKNOWN;
  c.ok(run(l));
}

TEST_F(Launch, Ordinal) {
  QdbLaunch l = good();
  l.task_ordinal = 4;
  c.broken("launch_ordinal", run(l));
}

TEST_F(Launch, BufferAddresses) {
  words[4] += 60;
  c.ok(run(good()));
  words[4] += 2;
  c.broken("buffer_address", run(good()));
  words[4] = 0;
  c.broken("buffer_address", run(good()));
  QdbMem *freed = c.alloc();
  words[4] = c.address(freed);
  c.free(freed);
  c.broken("buffer_address", run(good()));
}

TEST_F(Launch, ResultBuffer) {
  UnitWriter w;
  w.add(Op::output, Type::none, 0, w.constant(Type::i32, 1));
  QdbLaunch l = good();
  l.entry = c.load(w.bytes()), l.arg_bytes = 32;
  c.broken("buffer_address", run(l));
  words[0] = c.address(mem);  // 64 bytes are too few
  c.broken("buffer_address", run(l));
  QdbMem *results = c.alloc(QD_RESULT_BYTES);
  words[0] = c.address(results);
  c.ok(run(l));
  c.free(results);
}

TEST_F(Launch, ReportBuffer) {
  QdbLaunch l = good();
  l.flags = QDB_LAUNCH_REPORTS;
  words[1] = c.address(mem);
  QdReportHeader h{0, 0, 0, 64};  // 24 bytes of the 64 are the header
  const uint64_t at = reinterpret_cast<uintptr_t>(&h);
  c.ok(c.copy({mem, 0, nullptr, at, sizeof h}));
  c.broken("buffer_address", run(l));
  h.capacity = 40;
  c.ok(c.copy({mem, 0, nullptr, at, sizeof h}));
  c.ok(run(l));
}

}  // namespace
}  // namespace qd::test

// execute.cpp: see execute.hpp. Everything that a task reads or writes lies in memory of the device, copied in and out,
// so that the same files serve backends that share the host's memory and those that don't. Unless told otherwise fast_math
// is off: expectations are exact.
#include "tests/ir/execute.hpp"

#include <cstring>

#include "core/ir/constants.hpp"
#include "qd/ir_view.hpp"
#include "tests/support/plugin_host.hpp"

namespace qd::ir::testing {
namespace {

constexpr uint64_t report_bytes = 1 << 16;

int64_t sign_extend(Type t, uint64_t bits) {
  const int unused = 64 - 8 * info(t).bytes;
  return int64_t(bits << unused) >> unused;
}

// Value of a pure record on the host, nothing when it is not one that folds.
std::optional<uint64_t> evaluate(const Unit &u, Val v, const Memory &m) {
  const Inst &i = u.code()[v];
  const auto &name = [&]() -> const std::string & { return u.debug.params[i.arg[0]]; };
  if (i.op == Op::const_) return const_bits(i);
  if (i.op == Op::arg) return m.scalars.at(name());
  if (i.op == Op::shape) return uint64_t(m.arrays.at(name()).extents.at(i.arg[1])) & width_mask(i.type);
  const auto sig = info(i.op).sig;
  if (!(sig == "v" || sig == "vv") || info(i.op).effect != Effect::Pure) return std::nullopt;
  const auto x = evaluate(u, i.arg[0], m), y = sig == "vv" ? evaluate(u, i.arg[1], m) : x;
  return x && y ? fold(i.op, u.code()[i.arg[0]].type, i.type, *x, *y) : std::nullopt;
}

// Number of positions of the task's grid, nothing when its bounds depend on memory.
std::optional<int64_t> positions(const Unit &u, const Memory &m) {
  for (Val v = 0; v < u.code().size(); ++v) {
    const Inst &p = u.code()[v];
    if (p.op != Op::parallel) continue;
    std::vector<Val> bounds;
    for (Val t = v; t-- > 0 && u.code()[t].op == Op::operand;) {
      std::vector<Val> three;
      for (const Val a : u.code()[t].arg)
        if (a != no_val) three.push_back(a);
      bounds.insert(bounds.begin(), three.begin(), three.end());
    }
    int64_t n = 1;
    for (size_t k = 0; k < bounds.size(); k += 2) {
      const auto lo = evaluate(u, bounds[k], m), hi = evaluate(u, bounds[k + 1], m);
      if (!lo || !hi) return std::nullopt;
      n *= std::max<int64_t>(0, sign_extend(p.type, *hi) - sign_extend(p.type, *lo));
    }
    return n;
  }
  return 1;
}

}  // namespace

struct Executor::State {
  State(const std::string &path, Options o) : b(path.c_str()), options(std::move(o)) {
    QdbCaps caps{};
    caps.struct_size = sizeof caps;
    b.check(b.t->caps(b.instance, &caps, &b.err));
    capabilities = caps.caps;
  }

  struct Block {
    QdbMem *mem = nullptr;
    uint64_t address = 0, size = 0;
  };
  Block upload(const std::string &bytes) {
    Block k;
    k.size = std::max<uint64_t>(8, bytes.size());
    b.check(b.t->mem_alloc(b.device, k.size, &k.mem, &b.err));
    QdbMemInfo at{};
    at.struct_size = sizeof at;
    b.check(b.t->mem_info(k.mem, &at, &b.err));
    k.address = at.address;
    copy(k.mem, 0, nullptr, uint64_t(reinterpret_cast<uintptr_t>(bytes.data())), bytes.size());
    return k;
  }
  void download(const Block &k, std::string &bytes) {
    copy(nullptr, uint64_t(reinterpret_cast<uintptr_t>(bytes.data())), k.mem, 0, bytes.size());
    b.t->mem_free(k.mem);
  }
  void copy(QdbMem *dst, uint64_t to, QdbMem *src, uint64_t from, uint64_t size) {
    if (size == 0) return;
    const QdbCopy c{dst, to, src, from, size};
    b.check(b.t->copy(b.stream, &c, sizeof c, 1, &b.err));
    b.check(b.t->stream_sync(b.stream, &b.err));
  }

  QdbEntry *load(const std::string &unit);
  QdbEntry *load_new(const std::string &unit);
  QdbArtifactOut compile(const std::string &unit);
  std::vector<uint64_t> words(const Unit &u, const Memory &m, const std::map<std::string, Block> &blocks) const;

  test::Backend b;
  Options options;
  uint64_t capabilities = 0;
  std::map<std::string, QdbEntry *> loaded;  // by unit
};

QdbArtifactOut Executor::State::compile(const std::string &unit) {
  const QdbTask task{{unit.data(), unit.size()}, test::str("entry"), test::str("test")};
  std::vector<QdbOption> rows;
  for (const auto &[name, value] : options) rows.push_back({test::str(name), test::str(value)});
  QdbBlob *target = nullptr;
  b.check(b.t->target_of_device(b.device, 1, &target, &b.err));
  QdbCompileReq req{};
  req.struct_size = sizeof req, req.unit = QDB_UNIT_TASK;
  req.tasks = &task, req.n_tasks = 1, req.task_stride = sizeof task;
  req.options = rows.data(), req.n_options = uint32_t(rows.size()), req.option_stride = sizeof(QdbOption);
  req.target = {target->data, target->size};
  QdbArtifactOut out{};
  out.struct_size = sizeof out;
  const QdbStatus status = b.t->compile(b.instance, &req, &out, &b.err);
  test::host_table()->blob_release(&b.state, target);
  b.check(status);
  return out;
}

QdbEntry *Executor::State::load(const std::string &unit) {
  QdbEntry *&entry = loaded[unit];
  if (!entry) entry = load_new(unit);
  return entry;
}

QdbEntry *Executor::State::load_new(const std::string &unit) {
  QdbArtifactOut out = compile(unit);
  if (capabilities & QDB_CAP_FINISH) {
    QdbBlob *target = nullptr;
    b.check(b.t->target_of_device(b.device, 2, &target, &b.err));
    const QdbBytes level2{target->data, target->size};
    const QdbArtifact portable{test::str(out.kind), {out.blob->data, out.blob->size}};
    QdbArtifactOut native{};
    native.struct_size = sizeof native;
    b.check(b.t->finish(b.instance, &level2, &portable, &native, &b.err));
    test::host_table()->blob_release(&b.state, target);
    test::host_table()->blob_release(&b.state, out.blob);
    out = native;
  }
  const QdbArtifact artifact{test::str(out.kind), {out.blob->data, out.blob->size}};
  QdbModule *module = nullptr;
  b.check(b.t->module_load(b.device, &artifact, sizeof artifact, 1, &module, &b.err));
  test::host_table()->blob_release(&b.state, out.blob);
  b.modules.push_back(module);
  QdbEntry *entry = nullptr;
  const QdbStr name = test::str("entry");
  b.check(b.t->module_entry(module, &name, &entry, &b.err));
  return entry;
}

std::vector<uint64_t> Executor::State::words(const Unit &u, const Memory &m,
                                             const std::map<std::string, Block> &blocks) const {
  std::vector<uint64_t> w(QD_ARG_FIRST, 0);
  w[QD_ARG_RANDOM] = m.random_key;
  for (size_t p = 0; p < u.params.size(); ++p) {
    const std::string &name = u.debug.params[p];
    if (ir::words(u.params[p]) == 0) continue;  // shared by a block
    if (u.params[p].kind == QD_PARAM_SCALAR) {
      if (!m.scalars.count(name)) throw std::runtime_error("no `; scalar $" + name + "` line");
      w.push_back(m.scalars.at(name));
      continue;
    }
    if (!m.arrays.count(name)) throw std::runtime_error("no `; buffer $" + name + "` line");
    w.push_back(blocks.at(name).address);
    for (uint32_t k = 0; k < u.params[p].rank; ++k) w.push_back(uint64_t(m.arrays.at(name).extents.at(k)));
  }
  return w;
}

Executor::Executor(const std::string &plugin, Options options)
    : s_(std::make_unique<State>(plugin, std::move(options))) {}
Executor::~Executor() = default;
void Executor::load(const Unit &task) { s_->load(to_wire(task)); }
uint64_t Executor::caps() const { return s_->capabilities; }

namespace {

void read_reports(const std::string &bytes, Outcome &out) {
  QdReportHeader h;
  std::memcpy(&h, bytes.data(), sizeof h);
  out.failed = h.failed != 0;
  for (size_t at = sizeof h; at < sizeof h + h.used;) {
    QdReportRecord r;
    std::memcpy(&r, bytes.data() + at, sizeof r);
    ReportLine line{r.task, r.site, r.iteration, std::vector<uint64_t>(r.n_values)};
    at += sizeof r;
    if (r.n_values) std::memcpy(line.values.data(), bytes.data() + at, r.n_values * 8);
    at += r.n_values * 8;
    out.reports.push_back(std::move(line));
  }
}

}  // namespace

Outcome Executor::run(const std::vector<Unit> &tasks, Memory &memory) {
  State &s = *s_;
  std::map<std::string, State::Block> blocks;
  for (const auto &[name, array] : memory.arrays) blocks[name] = s.upload(array.bytes);
  std::string results(QD_RESULT_BYTES, '\0'), reports(report_bytes, '\0');
  const QdReportHeader header{0, 0, 0, report_bytes - sizeof(QdReportHeader)};
  std::memcpy(reports.data(), &header, sizeof header);
  const State::Block result = s.upload(results), report = s.upload(reports);
  for (uint32_t k = 0; k < tasks.size(); ++k) {
    QdbEntry *entry = s.load(to_wire(tasks[k]));
    std::vector<uint64_t> words = s.words(tasks[k], memory, blocks);
    words[QD_ARG_RESULT] = result.address, words[QD_ARG_REPORT] = report.address, words[QD_ARG_ORDINAL] = k;
    const auto n = positions(tasks[k], memory);
    const uint32_t flags = QDB_LAUNCH_REPORTS | (n ? 0 : QDB_LAUNCH_RANGE_UNKNOWN);
    const QdbLaunch l{entry, words.data(), words.size() * 8, 0, n.value_or(0), k, flags};
    s.b.check(s.b.t->launch(s.b.stream, &l, sizeof l, 1, &s.b.err));
    s.b.check(s.b.t->stream_sync(s.b.stream, &s.b.err));
  }
  for (auto &[name, array] : memory.arrays) s.download(blocks[name], array.bytes);
  s.download(result, results);
  s.download(report, reports);
  Outcome out;
  out.results.resize(QD_RESULT_BYTES / 8);
  std::memcpy(out.results.data(), results.data(), results.size());
  read_reports(reports, out);
  return out;
}

}  // namespace qd::ir::testing

// executable.cpp: launches. A Block is everything a launch writes: the array for the plugin and the argument blocks of
// all tasks, one behind the other. One block is kept ready; a second thread that launches at the same time makes its
// own. Result and report memory is only touched by copy_in and copy_out, never by its mapped address: those keep the
// runtime open while they run, so that a close() on another thread frees nothing under them.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "core/compile/arenas.hpp"
#include "core/compile/sections.hpp"
#include "core/compile/uses.hpp"
#include "core/support/trace.hpp"

namespace qd::compile {
namespace {

// Names of kernels, each once, until the process ends.
const char *kept_name(const std::string &name) {
  static std::mutex mutex;
  static auto &names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

struct Block {
  std::vector<QdbLaunch> launches;
  std::vector<uint64_t> words;  // argument blocks of all tasks
  uint64_t arena_version = 0;   // whose addresses are in the words
};

class Running {
 public:
  explicit Running(Arena &a) : arena_(a) { arena_.running = true; }
  ~Running() { arena_.running = false; }
  Running(const Running &) = delete;
  Running &operator=(const Running &) = delete;

 private:
  Arena &arena_;
};

class Loaded final : public Executable {
 public:
  Loaded(split::Plan plan, std::unique_ptr<Module> module, std::shared_ptr<Backend> backend,
         std::shared_ptr<Arenas> arenas, Observations seen);
  ~Loaded() override { delete spare_.load(); }

  void launch(uint64_t *words) override;
  bool has_reports() const override;
  std::vector<Report> take_reports(bool &failed, uint32_t &dropped) override;
  const void *result() const override;
  const Observations &observations() const override { return observations_; }
  uint32_t n_tasks() const override { return uint32_t(plan_.tasks.size()); }
  uint32_t n_words() const override { return plan_.n_words; }
  std::vector<Use> uses() const override { return used_words(plan_); }

 private:
  struct Move {
    uint32_t to, from;
  };  // block word <- kernel word
  struct Scratch {
    uint32_t to, offset;
  };
  struct OneWord {
    uint32_t task, word, shift;
  };  // extent of a task: this word, as a number of 64 - shift bits
  struct Computed {
    uint32_t task;
  };  // extent of a task: its program

  std::unique_ptr<Block> new_block() const;
  void bind(Block &, Arena &) const;
  void put_sections(Block &, const uint64_t *words) const;
  QdReportHeader report_header(const Arena &) const;
  void clear_reports(Arena &) const;
  [[noreturn]] void fail(const Error &) const;

  split::Plan plan_;
  LaunchNames names_;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Module> module_;  // after backend_: it goes first
  std::shared_ptr<Arenas> arenas_;
  Observations observations_;
  Block template_;
  std::vector<Move> moves_;
  std::vector<Scratch> scratch_;
  std::vector<OneWord> one_word_;
  std::vector<Computed> computed_;
  std::vector<uint32_t> first_word_;  // of each task in the block
  std::vector<std::pair<uint32_t, uint32_t>> apart_;  // words that must differ for sections to hold
  std::vector<uint32_t> sections_;                    // flags of each launch while they do; empty: none has one
  std::vector<uint32_t> random_;      // words for the random key of tasks that draw: other blocks stay as they were
  bool reports_ = false;
  std::atomic<Block *> spare_{nullptr};
};

Loaded::Loaded(split::Plan plan, std::unique_ptr<Module> module, std::shared_ptr<Backend> backend,
               std::shared_ptr<Arenas> arenas, Observations seen)
    : plan_(std::move(plan)),
      names_{kept_name(plan_.name), {}},
      backend_(std::move(backend)),
      module_(std::move(module)),
      arenas_(std::move(arenas)),
      observations_(std::move(seen)) {
  bool may_fail = false;
  uint32_t word = 0;
  auto sections = sections_of(plan_);
  apart_ = std::move(sections.apart);
  for (const split::Step &step : plan_.steps) {
    const split::Task &t = plan_.tasks[step.task];
    const uint32_t ordinal = uint32_t(template_.launches.size());
    QdbLaunch l{};
    l.entry = module_->entry(t.symbol);
    l.arg_bytes = 8ull * t.n_words;
    l.begin = 0;
    l.end = t.extent.kind == split::ExtentKind::fixed ? t.extent.positions : 1;
    l.task_ordinal = ordinal;
    l.flags = (may_fail ? QDB_LAUNCH_REPORTS : 0) |
              (t.extent.kind == split::ExtentKind::unknown ? QDB_LAUNCH_RANGE_UNKNOWN : 0);
    if (t.extent.kind == split::ExtentKind::one_word)
      one_word_.push_back({ordinal, t.extent.word, 64 - 8 * uint32_t(ir::info(t.extent.type).bytes)});
    if (t.extent.kind == split::ExtentKind::program) computed_.push_back({ordinal});
    template_.launches.push_back(l);
    names_.tasks.push_back({t.name, t.parallel});
    first_word_.push_back(word);
    if (sections.of[ordinal]) sections_.resize(plan_.steps.size(), 0), sections_[ordinal] = sections.of[ordinal];
    if (t.random) random_.push_back(word + QD_ARG_RANDOM);
    for (const auto &m : t.words)
      for (uint32_t i = 0; i < m.count; ++i) moves_.push_back({word + m.to + i, m.from + i});
    for (const auto &m : t.scratch) scratch_.push_back({word + m.to, m.offset});
    may_fail |= t.fails;
    reports_ |= t.reports;
    word += t.n_words;
  }
  template_.words.assign(word, 0);
  for (uint32_t i = 0; i < first_word_.size(); ++i) template_.words[first_word_[i] + QD_ARG_ORDINAL] = i;
  spare_ = new_block().release();
}

std::unique_ptr<Block> Loaded::new_block() const {
  auto b = std::make_unique<Block>(template_);
  for (size_t i = 0; i < first_word_.size(); ++i) b->launches[i].args = b->words.data() + first_word_[i];
  return b;
}

void Loaded::bind(Block &b, Arena &a) const {
  for (uint32_t w : first_word_) {
    b.words[w + QD_ARG_RESULT] = plan_.n_outputs ? a.result->address() : 0;
    b.words[w + QD_ARG_REPORT] = reports_ ? a.report->address() : 0;
  }
  for (const Scratch &s : scratch_) b.words[s.to] = a.scratch->address() + s.offset;
  b.arena_version = a.version;
}

void Loaded::launch(uint64_t *words) {
  const trace::Span span("launch", plan_.name);
  Arena &arena = arenas_->mine();
  arena.need(*backend_, plan_.scratch_bytes, plan_.n_outputs != 0, reports_);
  std::unique_ptr<Block> block(spare_.exchange(nullptr, std::memory_order_acquire));
  if (!block) block = new_block();
  if (block->arena_version != arena.version) bind(*block, arena);
  if (reports_) clear_reports(arena);

  uint64_t *to = block->words.data();
  const uint64_t key = arenas_->random_key();
  for (uint32_t w : random_) to[w] = key;
  for (const Move &m : moves_) to[m.to] = words[m.from];
  for (const OneWord &w : one_word_)
    block->launches[w.task].end = std::max<int64_t>(int64_t(words[w.word] << w.shift) >> w.shift, 0);
  for (const Computed &v : computed_) {
    QdbLaunch &l = block->launches[v.task];
    const int64_t n = split::positions(plan_.tasks[plan_.steps[v.task].task].extent, words);
    l.end = n < 0 ? 1 : n;
    l.flags = n < 0 ? l.flags | QDB_LAUNCH_RANGE_UNKNOWN : l.flags & ~QDB_LAUNCH_RANGE_UNKNOWN;
  }
  if (!sections_.empty()) put_sections(*block, words);
  if (!block->launches.empty()) {
    const Running running(arena);
    try {
      backend_->launch(names_, block->launches.data(), uint32_t(block->launches.size()));
    } catch (const Error &e) { fail(e); }
  }
  block.reset(spare_.exchange(block.release(), std::memory_order_acq_rel));  // another thread's comes back, to be freed
}

void Loaded::put_sections(Block &b, const uint64_t *words) const {
  bool hold = true;
  for (const auto &[x, y] : apart_) hold = hold && words[x] != words[y];
  for (size_t i = 0; i < sections_.size(); ++i)
    b.launches[i].flags = (b.launches[i].flags & 0xffff) | QDB_LAUNCH_SECTION(hold ? sections_[i] : 0);
}

// The plugin knows a task by its symbol; people know it by its name.
void Loaded::fail(const Error &e) const {
  std::string m = e.what();
  std::string_view task;
  for (const split::Task &t : plan_.tasks)
    if (task.empty() && m.find(t.symbol) != std::string::npos) task = t.name;
  if (e.kind == Kind::interrupted || (task.empty() && !e.status)) throw e;
  m += "\nin the launch of kernel \"" + plan_.name + '"';
  if (!task.empty()) m.append(", task \"").append(task).append("\"");
  throw Error(e.kind, m, e.status);
}

QdReportHeader Loaded::report_header(const Arena &a) const {
  QdReportHeader h{};
  if (reports_ && a.report) a.report->copy_out(0, &h, sizeof h);
  return h;
}

void Loaded::clear_reports(Arena &a) const {
  const QdReportHeader empty{0, 0, 0, report_bytes};
  a.report->copy_in(0, &empty, sizeof empty);
}

bool Loaded::has_reports() const {
  if (!reports_) return false;
  const QdReportHeader h = report_header(arenas_->mine());
  return h.used != 0 || h.failed || h.dropped;
}

std::vector<Report> Loaded::take_reports(bool &failed, uint32_t &dropped) {
  std::vector<Report> out;
  Arena &a = arenas_->mine();
  const QdReportHeader h = report_header(a);
  failed = h.failed != 0;
  dropped = h.dropped;
  if (!reports_ || !a.report) return out;
  std::vector<uint8_t> bytes(std::min<uint64_t>(h.used, report_bytes));
  if (!bytes.empty()) {
    a.report->copy_out(sizeof h, bytes.data(), bytes.size());
    a.blank_reports(bytes.size());
  }
  clear_reports(a);
  for (size_t at = 0; at + sizeof(QdReportRecord) <= bytes.size();) {
    QdReportRecord r;
    std::memcpy(&r, bytes.data() + at, sizeof r);
    at += sizeof r;
    if (r.n_values > (bytes.size() - at) / 8 || r.task >= plan_.steps.size()) break;
    const auto &sites = plan_.tasks[plan_.steps[r.task].task].sites;
    if (r.site >= sites.size()) break;
    Report &report = out.emplace_back(Report{sites[r.site], r.task, r.iteration, std::vector<uint64_t>(r.n_values)});
    if (r.n_values) std::memcpy(report.values.data(), bytes.data() + at, 8ull * r.n_values);
    at += 8ull * r.n_values;
  }
  return out;
}

const void *Loaded::result() const {
  Arena &a = arenas_->mine();
  if (a.result_copy.empty()) a.result_copy.resize(QD_RESULT_BYTES);
  if (plan_.n_outputs) {
    if (!a.result) a.need(*backend_, 0, true, false);
    a.result->copy_out(0, a.result_copy.data(), 8ull * plan_.n_outputs);
  }
  return a.result_copy.data();
}

}  // namespace

std::shared_ptr<Executable> make_executable(split::Plan plan, std::unique_ptr<Module> module,
                                            std::shared_ptr<Backend> backend, std::shared_ptr<Arenas> arenas,
                                            Observations seen) {
  return std::make_shared<Loaded>(std::move(plan), std::move(module), std::move(backend), std::move(arenas),
                                  std::move(seen));
}

}  // namespace qd::compile

// plan_wire.cpp: a plan as bytes and back. One description of the fields serves both directions, so they cannot drift
// apart. The reader believes nothing: counts are compared with what is left before anything is allocated, the bytes of
// a task must have the digest that stands beside them and be a valid unit, and every number that a launch would use as
// an index is checked against what it indexes.
#include <cstring>
#include <type_traits>

#include "core/ir/ir.hpp"
#include "core/ir/rules.hpp"
#include "core/split/extent.hpp"
#include "core/split/plan.hpp"
#include "core/support/error.hpp"

namespace qd::split {
namespace {

constexpr char magic[8] = {'q', 'd', 'p', 'l', 'a', 'n', char('0' + plan_version), 0};
constexpr uint32_t most_words = 1u << 20, most_scratch = 1u << 30, most_outputs = QD_RESULT_BYTES / 8;
constexpr uint32_t most_sections = 0xffff;

struct Writer {
  std::string out;
  template <class T>
  void number(T &x) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    out.append(reinterpret_cast<const char *>(&x), sizeof x);
  }
  void flag(bool &x) { out += char(x); }
  void bytes(void *data, size_t size) { out.append(static_cast<const char *>(data), size); }
  void text(std::string &s) {
    uint64_t n = s.size();
    number(n);
    out += s;
  }
  template <class T, class F>
  void list(std::vector<T> &v, size_t, F &&each) {
    uint64_t n = v.size();
    number(n);
    for (T &x : v) each(*this, x);
  }
};

struct Reader {
  std::string_view in;
  bool good = true;

  bool take(void *to, size_t size) {
    good = good && size <= in.size();
    if (!good) return false;
    std::memcpy(to, in.data(), size);
    in.remove_prefix(size);
    return true;
  }
  template <class T>
  void number(T &x) {
    take(&x, sizeof x);
  }
  void flag(bool &x) {
    uint8_t byte = 0;
    take(&byte, 1);
    good = good && byte <= 1;
    x = byte == 1;
  }
  void bytes(void *data, size_t size) { take(data, size); }
  void text(std::string &s) {
    uint64_t n = 0;
    number(n);
    good = good && n <= in.size();
    if (!good) return;
    s.assign(in.data(), n);
    in.remove_prefix(n);
  }
  // `least`: bytes that an element takes at least
  template <class T, class F>
  void list(std::vector<T> &v, size_t least, F &&each) {
    uint64_t n = 0;
    number(n);
    good = good && n <= in.size() / least;
    if (!good) return;
    v.resize(n);
    for (T &x : v) each(*this, x);
  }
};

template <class A>
void visit(A &a, Extent &e) {
  a.number(e.kind);
  a.number(e.type);
  a.number(e.word);
  a.number(e.positions);
  a.list(e.program.code, sizeof(ir::Inst), [](A &in, ir::Inst &i) { in.bytes(&i, sizeof i); });
  a.list(e.program.bounds, 4, [](A &in, uint32_t &b) { in.number(b); });
}

template <class A>
void visit(A &a, Task &t) {
  a.text(t.bytes);
  a.bytes(t.digest.bytes.data(), t.digest.bytes.size());
  a.text(t.name);
  a.number(t.n_words);
  a.list(t.words, 12, [](A &in, WordMove &m) { in.number(m.to), in.number(m.from), in.number(m.count); });
  a.list(t.scratch, 8, [](A &in, ScratchMove &m) { in.number(m.to), in.number(m.offset); });
  visit(a, t.extent);
  a.flag(t.parallel);
  a.flag(t.reports);
  a.flag(t.fails);
  a.flag(t.random);
  a.list(t.sites, 4, [](A &in, uint32_t &s) { in.number(s); });
}

template <class A>
void visit(A &a, Plan &p) {
  a.text(p.name);
  a.list(p.steps, 9, [](A &in, Step &s) { in.number(s.kind), in.number(s.task), in.number(s.section); });
  a.list(p.tasks, 65, [](A &in, Task &t) { visit(in, t); });
  a.number(p.n_words);
  a.number(p.scratch_bytes);
  a.number(p.n_outputs);
}

// The range [at, at + count) lies behind the hidden words and within n.
bool within(uint64_t at, uint64_t count, uint64_t n) { return at >= QD_ARG_FIRST && at + count <= n; }

bool sound(const HostProgram &p, uint32_t kernel_words) {
  if (p.code.empty() || p.code.size() > longest_program || p.bounds.empty() || p.bounds.size() % 2) return false;
  for (size_t i = 0; i < p.code.size(); ++i) {
    const ir::Inst &in = p.code[i];
    if (in.op >= ir::Op::count || in.type >= ir::Type::count) return false;
    const ir::OpInfo &row = ir::info(in.op);
    if (in.op == ir::Op::const_) continue;
    if (in.op == ir::Op::arg || in.op == ir::Op::shape) {
      if (!within(in.arg[0], 1, kernel_words)) return false;
      continue;
    }
    if (row.effect != ir::Effect::Pure || row.flags & ir::Inexact || row.sig.empty() || row.sig.size() > 3)
      return false;
    if (row.sig.size() == 3 && in.op != ir::Op::select) return false;
    for (size_t k = 0; k < row.sig.size(); ++k)
      if (!ir::names_record(row.sig[k]) || in.arg[k] >= i) return false;
  }
  for (uint32_t b : p.bounds)
    if (b >= p.code.size() || !ir::is_int(p.code[b].type)) return false;
  return true;
}

bool sound(const Extent &e, uint32_t kernel_words) {
  if (e.type >= ir::Type::count || !ir::is_int(e.type)) return false;
  switch (e.kind) {
    case ExtentKind::fixed: return e.positions >= 0;
    case ExtentKind::one_word: return within(e.word, 1, kernel_words);
    case ExtentKind::program: return sound(e.program, kernel_words);
    case ExtentKind::unknown: return true;
  }
  return false;
}

bool sound(const Task &t, const Plan &p) {
  if (t.digest != cache::digest_of(t.bytes) || !sound(t.extent, p.n_words)) return false;
  ir::Unit unit;
  try {
    unit = ir::from_wire(t.bytes);
  } catch (const Error &) { return false; }
  uint64_t words = QD_ARG_FIRST, fed = QD_ARG_FIRST;
  for (const ir::Param &q : unit.params) words += ir::words(q);
  if (t.n_words != words || words > most_words) return false;
  for (const WordMove &m : t.words) {
    if (!within(m.to, m.count, t.n_words) || !within(m.from, m.count, p.n_words)) return false;
    fed += m.count;
  }
  for (const ScratchMove &m : t.scratch)
    if (!within(m.to, 1, t.n_words) || m.offset >= p.scratch_bytes) return false;
  return fed + t.scratch.size() == t.n_words;
}

bool sound(const Plan &p) {
  if (p.n_words < QD_ARG_FIRST || p.n_words > most_words || p.scratch_bytes > most_scratch ||
      p.n_outputs > most_outputs)
    return false;
  for (const Step &s : p.steps)
    if (s.kind != StepKind::task || s.task >= p.tasks.size() || s.section > most_sections) return false;
  for (const Task &t : p.tasks)
    if (!sound(t, p)) return false;
  return true;
}

}  // namespace

std::string to_bytes(const Plan &plan) {
  Writer w;
  w.out.assign(magic, sizeof magic);
  visit(w, const_cast<Plan &>(plan));  // a Writer only reads
  return std::move(w.out);
}

std::optional<Plan> plan_from_bytes(std::string_view bytes) {
  if (bytes.substr(0, sizeof magic) != std::string_view(magic, sizeof magic)) return {};
  Reader r{bytes.substr(sizeof magic)};
  Plan p;
  visit(r, p);
  if (!r.good || !r.in.empty() || !sound(p)) return {};
  for (Task &t : p.tasks) t.symbol = symbol_of(t.digest);
  return p;
}

}  // namespace qd::split

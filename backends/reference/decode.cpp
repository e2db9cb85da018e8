// decode.cpp: a verified unit becomes a Program: once per module load, so that running a record costs one indirect call.
#include "backends/reference/machine.hpp"

namespace qd::reference {
namespace {

using view::Op;
using view::Type;

struct Decoder {
  const view::View &unit;
  const view::Function &f;
  Code &code;
  uint64_t words = 0;  // of the frame so far

  uint32_t take(uint64_t n) {
    const uint64_t first = words;
    words += n;
    if (words > 1ull << 30) throw plugin::Failure(QDB_E_UNSUPPORTED, "a function needs more than 8 GiB for its local arrays");
    return uint32_t(first);
  }
  uint32_t list(uint32_t record) {
    const uint32_t first = uint32_t(code.lists.size());
    const view::Operands o = unit.operands_before(f, record);
    for (uint32_t k = 0; k < o.count; k++) code.lists.push_back(o[k]);
    return first;
  }
  Type type_at(uint32_t record) const { return view::type_of(f.code[record]); }
  const Step *step(uint32_t record) const { return code.steps.data() + record; }

  uint32_t address_word(uint32_t p) const {
    if (unit.param(p).alias != QD_ALIAS_SHARED) return unit.param_word(p);
    uint32_t k = 0;
    for (uint32_t q = 0; q < p; q++) k += unit.param(q).alias == QD_ALIAS_SHARED;
    return unit.arg_words() + k;
  }
  // The operand whose type chooses the function of a record.
  Type chooser(uint32_t i) const {
    const QdInst &r = f.code[i];
    const Op op = view::op_of(r);
    const std::string_view sig = view::info(op).sig;
    if (view::has(op, view::Index) || op == Op::array_get || op == Op::array_set) return type_at(r.b);
    if (op == Op::end && view::op_of(f.code[f.match[i]]) == Op::loop) return type_at(f.match[i]);
    return !sig.empty() && sig[0] == 'v' ? type_at(r.a) : Type::none;
  }

  void run() {
    code.n_records = f.count, code.n_args = f.n_args, code.n_results = f.n_results;
    words = uint64_t(f.count) + f.n_args;
    code.steps.resize(size_t(f.count) + 1);
    for (uint32_t i = 0; i < f.count; i++) record(i);
    code.steps[f.count].fn = stop_handler;
    code.frame = uint32_t(words);
  }

  void record(uint32_t i) {
    const QdInst &r = f.code[i];
    Step &s = code.steps[i];
    s.fn = handler_of(unit, r, chooser(i));
    if (!s.fn) throw plugin::Failure(QDB_E_INTERNAL, "record " + std::to_string(i) + " (" + std::string(view::info(view::op_of(r)).name) +
                                                         "): the interpreter has no function for its types");
    s.dst = i, s.a = r.a, s.b = r.b, s.c = r.c;
    if (view::has(view::op_of(r), view::Index)) s.imm = address_word(r.a);
    operands(i, r, s);
    regions(i, r, s);
  }

  void operands(uint32_t i, const QdInst &r, Step &s) {
    switch (view::op_of(r)) {
      case Op::const_: s.imm = truncated(r); break;
      case Op::arg: s.imm = unit.param_word(r.a); break;
      case Op::shape: s.imm = unit.param_word(r.a) + 1 + r.b; break;
      case Op::atomic_cas: s.a = unit.operands_before(f, i)[0]; break;
      case Op::set: s.dst = r.a, s.a = r.b; break;
      case Op::farg: s.a = f.count + r.a; break;
      case Op::array: s.b = take(r.a); break;
      case Op::call: s.b = list(i), s.c = take(unit.function(r.a).n_results); break;
      case Op::result: break;
      case Op::ret: s.b = list(i); break;
      case Op::barrier:
      case Op::barrier_vote:
      case Op::shuffle:
      case Op::vote:
      case Op::match:
      case Op::active: s.imm = joint(i); break;
      case Op::report: s.imm = r.b, s.b = list(i), s.c = uint32_t(code.lists.size()) - s.b; break;
      default: break;
    }
  }

  // Of what threads do together: the operation, and the register of the mask, view::no_value for all.
  uint64_t joint(uint32_t i) const {
    const view::Operands o = unit.operands_before(f, i);
    return uint64_t(f.code[i].op) << 32 | (o.count ? o[0] : view::no_value);
  }

  // Constants are kept as registers are: zero-extended from the width of their type.
  static uint64_t truncated(const QdInst &r) {
    const uint32_t bytes = view::info(view::type_of(r)).bytes;
    const uint64_t bits = view::const_bits(r);
    if (view::type_of(r) == Type::b1) return bits & 1;
    return bytes == 8 ? bits : bits & ((1ull << 8 * bytes) - 1);
  }

  void regions(uint32_t i, const QdInst &r, Step &s) {
    const uint32_t match = f.match[i];
    switch (view::op_of(r)) {
      case Op::when:
      case Op::other: s.target = step(match + 1); break;
      case Op::loop: s.c = match, s.target = step(match + 1); break;
      case Op::leave: s.target = step(f.match[match] + 1); break;
      case Op::end: end(match, s); break;
      default: break;
    }
  }
  void end(uint32_t opener, Step &s) {
    switch (view::op_of(f.code[opener])) {
      case Op::parallel: s.fn = stop_handler; break;
      case Op::repeat: s.fn = jump_back_handler, s.target = step(opener + 1); break;
      case Op::loop: s.a = opener, s.target = step(opener + 1); break;
      default: break;
    }
  }
};

}  // namespace

Program decode(const view::View &unit) {
  Program p;
  p.arg_words = unit.arg_words();
  p.functions.resize(unit.n_functions());
  if (unit.threads() && unit.parallel()) p.block = unit.parallel()->block;
  for (uint32_t k = 0; k < unit.n_params(); k++)
    if (unit.param(k).alias == QD_ALIAS_SHARED)
      p.shared.push_back(uint64_t(unit.param(k).count) * view::info(Type(unit.param(k).type)).bytes);
  for (uint32_t k = 0; k < unit.n_functions(); k++) Decoder{unit, unit.function(k), p.functions[k]}.run();
  if (const view::Parallel *grid = unit.parallel()) {
    p.parallel = true, p.first = grid->record, p.type = grid->type;
    for (uint32_t k = 0; k < grid->bounds.count; k++) p.bounds.push_back(grid->bounds[k]);
  }
  return p;
}

uint64_t *Frames::push(uint32_t words) {
  while (top_ < chunks_.size() && chunks_[top_].size - chunks_[top_].used < words) top_++;
  if (top_ == chunks_.size()) {
    Chunk c;
    c.size = std::max<size_t>(words, 1u << 13);
    c.words.reset(new uint64_t[c.size]);
    chunks_.push_back(std::move(c));
  }
  Chunk &c = chunks_[top_];
  c.used += words;
  return c.words.get() + (c.used - words);
}

void Frames::pop(uint32_t words) {
  chunks_[top_].used -= words;
  while (top_ > 0 && chunks_[top_].used == 0) top_--;
}

void Frames::clear() {
  for (Chunk &c : chunks_) c.used = 0;
  top_ = 0;
}

}  // namespace qd::reference

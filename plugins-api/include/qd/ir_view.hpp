// ir_view.hpp: reads the bytes of a compile unit (wire.h) for a plugin, in C++17, without copying records and without the core.
//
// View::read() verifies everything before it answers: after it has returned true, a code generator may follow every index,
// operand, region, call and parameter number without a check of its own. What it enforces stands in docs/ir.md and in the rows
// of ops.def; the rules that rows cannot say are in ir_verify.hpp. It is linear in the size of the unit.
// The view borrows the bytes (it keeps a copy only when they are not 8-byte aligned); they must outlive it.
#pragma once
#include <bitset>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "qd/ir_tables.hpp"
#include "qd/qd_backend.h"

namespace qd::view {

inline constexpr uint32_t max_axes = 16;             // of one parallel
inline constexpr uint32_t max_depth = 4096;          // open regions: code generators may recurse
inline constexpr uint32_t max_array = 1u << 20;      // elements of a local or shared array
inline constexpr uint32_t max_block = 1024;          // threads of a block, where they work together
inline constexpr uint32_t max_param_rank = 32;

struct ReadOptions {
  bool task = true;             // one task: at most one parallel, and nothing with an effect beside it; false: a whole kernel
  bool allow_recursion = true;  // of functions
  bool allow_threads = true;    // rows with the flag Threads, shared buffers (QDB_CAP_THREADS)
};

struct Fault {
  QdbStatus status = QDB_E_INVALID;  // or QDB_E_IR_VERSION, QDB_E_UNSUPPORTED
  uint32_t func = 0, record = no_value;
  std::string message;  // complete: "function 1, record 12 (add): operand b is ..."
};

// The values that the `operand` records in front of a record hold.
struct Operands {
  const QdInst *first = nullptr;
  uint32_t count = 0;
  uint32_t operator[](uint32_t i) const { return field(first[i / 3], i % 3); }
};

struct Parallel {
  uint32_t record = no_value, end = no_value;  // in the entry
  uint32_t axes = 0, block = 0;
  Type type{};
  Operands bounds;  // lo, hi of axis 0, lo, hi of axis 1, ...
};

struct Function {
  const QdInst *code = nullptr;
  uint32_t count = 0;
  uint32_t n_args = 0, n_results = 0;
  // Per record. An opener: its `other` or `end`. `other`: its `end`. `end`: what opened the region (`other` for that arm).
  // `leave`: the record that opened the label it goes to the end of. All else: no_value.
  const uint32_t *match = nullptr;
  const Type *arg_types = nullptr;     // n_args; Type::none when no record reads the argument
  const Type *result_types = nullptr;  // n_results
};

struct Section {
  const uint8_t *data = nullptr;
  uint32_t count = 0;
};

class View {
 public:
  // False with a message in `fault` when anything is wrong; the view is then empty.
  bool read(const void *bytes, uint64_t size, Fault &fault, ReadOptions options = {});

  uint32_t n_params() const { return n_params_; }
  const QdParam &param(uint32_t p) const { return params_[p]; }
  const QdParam *params() const { return params_; }
  uint32_t param_word(uint32_t p) const { return param_word_[p]; }  // in the argument block
  uint32_t arg_words() const { return arg_words_; }                 // of the whole block

  uint32_t n_functions() const { return uint32_t(functions_.size()); }
  const Function &function(uint32_t f) const { return functions_[f]; }
  const Function &entry() const { return functions_[0]; }
  uint32_t n_records() const { return n_records_; }

  bool recursive() const { return recursive_; }
  bool threads() const { return threads_; }  // the threads of a block work together: the block size is binding
  bool uses(Op op) const { return uses_[size_t(op)]; }
  bool uses(Type t) const { return uses_type_[size_t(t)]; }  // as the type of a record or parameter

  // All of the entry in order; a task has at most one.
  const std::vector<Parallel> &parallels() const { return parallels_; }
  const Parallel *parallel() const { return parallels_.empty() ? nullptr : &parallels_[0]; }

  Operands operands_before(const Function &f, uint32_t record) const;
  // True when the bounds depend on constants, scalar arguments and shapes only: the host may evaluate them.
  bool bounds_are_pure(const Parallel &p) const;

 private:
  friend struct Verifier;
  bool open(const void *bytes, uint64_t size, Fault &fault);
  bool sections(const QdWireHeader &h, const uint8_t *base, Section (&out)[3], Fault &fault);
  bool open_params(Fault &fault);
  bool open_functions(const QdFunc *funcs, uint32_t n, Fault &fault);

  std::vector<uint64_t> copy_;  // only when the bytes came unaligned
  const QdParam *params_ = nullptr;
  const QdInst *code_ = nullptr;
  uint32_t n_params_ = 0, n_records_ = 0, arg_words_ = 0;
  bool recursive_ = false, threads_ = false;
  std::vector<uint32_t> param_word_, match_;
  std::vector<Type> arg_types_, result_types_;
  std::vector<Function> functions_;
  std::vector<Parallel> parallels_;
  std::bitset<n_ops> uses_;
  std::bitset<n_types> uses_type_;
};

// --------------------------------------------------------------------------------------------------------- container

inline bool fail(Fault &fault, std::string message, QdbStatus status = QDB_E_INVALID) {
  fault.status = status;
  fault.message = std::move(message);
  return false;
}

inline bool View::open(const void *bytes, uint64_t size, Fault &fault) {
  using std::to_string;
  QdWireHeader h;
  if (!bytes || size < sizeof h)
    return fail(fault, "unit: expected a header of " + to_string(sizeof h) + " bytes, found " + to_string(size));
  std::memcpy(&h, bytes, sizeof h);
  if (h.magic != QD_WIRE_MAGIC) return fail(fault, "unit: the first bytes are not the magic number of a compile unit");
  if (h.major != QD_WIRE_MAJOR || h.minor > QD_WIRE_MINOR)
    return fail(fault, "unit: format " + to_string(h.major) + "." + to_string(h.minor) + ", but this plugin reads " +
                           to_string(QD_WIRE_MAJOR) + ".0 to " + to_string(QD_WIRE_MAJOR) + "." + to_string(QD_WIRE_MINOR) +
                           ": upgrade the plugin", QDB_E_IR_VERSION);
  if (h.size != size) return fail(fault, "unit: header says " + to_string(h.size) + " bytes, found " + to_string(size));
  if (h.reserved != 0) return fail(fault, "unit: reserved word of the header is not 0");
  const uint8_t *base = static_cast<const uint8_t *>(bytes);
  if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0) {
    copy_.resize(size_t(size + 7) / 8);
    std::memcpy(copy_.data(), bytes, size_t(size));
    base = reinterpret_cast<const uint8_t *>(copy_.data());
  }
  Section s[3];
  if (!sections(h, base, s, fault)) return false;
  params_ = reinterpret_cast<const QdParam *>(s[0].data), n_params_ = s[0].count;
  code_ = reinterpret_cast<const QdInst *>(s[2].data), n_records_ = s[2].count;
  return open_params(fault) && open_functions(reinterpret_cast<const QdFunc *>(s[1].data), s[1].count, fault);
}

// The three sections follow the table and each other without a gap: there is one way to write a unit.
inline bool View::sections(const QdWireHeader &h, const uint8_t *base, Section (&out)[3], Fault &fault) {
  static constexpr uint64_t element[] = {sizeof(QdParam), sizeof(QdFunc), sizeof(QdInst)};
  using std::to_string;
  if (h.n_sections != 3) return fail(fault, "unit: expected 3 sections, found " + to_string(h.n_sections));
  uint64_t at = sizeof h + 3 * sizeof(QdWireSection);
  if (h.size < at) return fail(fault, "unit: the section table does not fit in " + to_string(h.size) + " bytes");
  for (uint32_t i = 0; i < 3; i++) {
    QdWireSection s;
    std::memcpy(&s, base + sizeof h + i * sizeof s, sizeof s);
    if (s.kind != i + 1) return fail(fault, "unit: section " + to_string(i) + " has kind " + to_string(s.kind));
    if (s.offset != at)
      return fail(fault, "unit: section " + to_string(i) + " at byte " + to_string(s.offset) + ", expected " + to_string(at));
    if (s.count > (h.size - at) / element[i])
      return fail(fault, "unit: section " + to_string(i) + " of " + to_string(s.count) + " elements ends outside the unit");
    out[i] = {base + at, s.count};
    at += s.count * element[i];
  }
  if (at != h.size) return fail(fault, "unit: " + to_string(h.size - at) + " bytes behind the last section");
  return true;
}

inline bool View::open_params(Fault &fault) {
  using std::to_string;
  uint64_t word = QD_ARG_FIRST;
  for (uint32_t i = 0; i < n_params_; i++) {
    const QdParam &p = params_[i];
    const std::string who = "parameter " + to_string(i) + ": ";
    if (p.kind > QD_PARAM_BUFFER) return fail(fault, who + "unknown kind " + to_string(p.kind));
    if (p.type == 0 || p.type >= n_types) return fail(fault, who + "unknown type " + to_string(p.type));
    if (p.kind == QD_PARAM_SCALAR && (p.rank || p.alias || p.count)) return fail(fault, who + "a scalar with a rank, alias or count");
    if (p.alias > QD_ALIAS_SHARED) return fail(fault, who + "unknown alias class " + to_string(p.alias));
    if (p.rank > max_param_rank) return fail(fault, who + "rank " + to_string(p.rank) + " is above " + to_string(max_param_rank));
    if (p.count && p.alias < QD_ALIAS_SCRATCH) return fail(fault, who + "only scratch and shared buffers have a count of elements");
    if (p.alias == QD_ALIAS_SHARED && (p.count == 0 || p.count > max_array || p.rank))
      return fail(fault, who + "a shared buffer of " + to_string(p.count) + " elements and rank " + to_string(p.rank) +
                             ", expected 1 to " + to_string(max_array) + " and 0");
    uses_type_[p.type] = true;
    param_word_.push_back(uint32_t(word));
    word += words(p);
  }
  if (word > 1u << 20) return fail(fault, "unit: the argument block would have " + to_string(word) + " words");
  arg_words_ = uint32_t(word);
  return true;
}

inline bool View::open_functions(const QdFunc *funcs, uint32_t n, Fault &fault) {
  using std::to_string;
  if (n == 0) return fail(fault, "unit: no entry function");
  uint64_t first = 0, args = 0, results = 0;
  for (uint32_t i = 0; i < n; i++) {
    const QdFunc &f = funcs[i];
    if (f.first != first || f.count > n_records_ - first)
      return fail(fault, "function " + to_string(i) + ": records " + to_string(f.first) + " + " + to_string(f.count) +
                             " do not follow the function before it");
    // A `farg` or `operand` field is needed to read an argument or give a result: more of them than records is nonsense.
    if (f.n_args > 65535 || f.n_results > 65535) return fail(fault, "function " + to_string(i) + ": more than 65535 arguments or results");
    if (i == 0 && (f.n_args || f.n_results)) return fail(fault, "function 0: the entry has neither arguments nor results");
    if (f.n_results > 3ull * f.count) return fail(fault, "function " + to_string(i) + ": more results than its records can give");
    first += f.count, args += f.n_args, results += f.n_results;
    if (args > (1u << 24)) return fail(fault, "unit: the functions have too many arguments together");
  }
  if (first != n_records_) return fail(fault, "unit: " + to_string(n_records_ - first) + " records belong to no function");
  match_.assign(n_records_, no_value);
  arg_types_.assign(size_t(args), Type::none);
  result_types_.assign(size_t(results), Type::none);
  functions_.resize(n);
  args = results = 0;
  for (uint32_t i = 0; i < n; i++) {
    const QdFunc &f = funcs[i];
    functions_[i] = {code_ + f.first, f.count, f.n_args, f.n_results, match_.data() + f.first, arg_types_.data() + args,
                     result_types_.data() + results};
    args += f.n_args, results += f.n_results;
  }
  return true;
}

inline Operands View::operands_before(const Function &f, uint32_t record) const {
  uint32_t first = record;
  while (first > 0 && op_of(f.code[first - 1]) == Op::operand) first--;
  if (first == record) return {};
  const QdInst &last = f.code[record - 1];  // all before it are full
  return {f.code + first, (record - first) * 3 - (last.b == no_value ? 2u : last.c == no_value ? 1u : 0u)};
}

inline bool View::bounds_are_pure(const Parallel &p) const {
  const Function &f = entry();
  std::vector<bool> seen(f.count);
  std::vector<uint32_t> todo;
  const auto visit = [&](uint32_t v) {
    if (!seen[v]) seen[v] = true, todo.push_back(v);
  };
  for (uint32_t i = 0; i < p.bounds.count; i++) visit(p.bounds[i]);
  while (!todo.empty()) {
    const QdInst &r = f.code[todo.back()];
    todo.pop_back();
    const OpInfo &row = info(op_of(r));
    if (row.effect != Effect::Pure) return false;
    for (uint32_t k = 0; k < row.sig.size(); k++)
      if (names_record(row.sig[k])) visit(field(r, k));
  }
  return true;
}

}  // namespace qd::view

#include "qd/ir_verify.hpp"  // View::read

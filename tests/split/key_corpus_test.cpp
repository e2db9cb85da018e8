// key_corpus_test.cpp: what of a kernel is in the keys of its tasks, for every operation and every parameter kind of a
// corpus of kernels (those of the IR and split tests). A changed record changes a digest; names, parameters and
// functions that play no part, and dead code, change none. Generated from ops.def: an operation without a kernel fails.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "core/ir/ir.hpp"
#include "core/split/split.hpp"
#include "core/support/error.hpp"

using namespace qd;
using namespace qd::ir;

namespace {

struct Kernel {
  std::string file;
  Unit unit;
};

// The kernels of one file: each begins with a function that has parameters, not arguments.
void kernels_of(const std::filesystem::path &path, std::vector<Kernel> &out) {
  std::ifstream in(path);
  std::string line, text;
  const auto take = [&] {
    try {
      if (!text.empty()) out.push_back({path.filename().string(), parse(text)});
    } catch (const Error &) {}  // an expectation, or a kernel that is there to be refused
    text.clear();
  };
  while (std::getline(in, line)) {
    if (line.starts_with("func @") && line.find(" args") == line.npos) take();
    if (line.starts_with(";") || line.starts_with("raw")) continue;
    if (!text.empty() || line.starts_with("func @")) text += line + "\n";
  }
  take();
}

// Where a record of the corpus can't be changed by itself: a number of another type, another function of the same
// shape.
const char *const more[] = {
    "func @r() {\n%a = random.f32\noutput 0, %a\n}\n",
    "func @c($x: buf i32 1) {\n%z = const.i32 0\n%v = load.i32 $x, %z\noperand %v\n%c = call 1\n%r = result.i32 %c, 0\n"
    "store $x, %z, %r\noperand %v\n%d = call 2\n%s = result.i32 %d, 0\nstore $x, %z, %s\n}\n"
    "func @f(1 args, 1 results) {\n%a = farg.i32 0\n%b = neg.i32 %a\noperand %b\nret\n}\n"
    "func @g(1 args, 1 results) {\n%a = farg.i32 0\n%b = abs.i32 %a\noperand %b\nret\n}\n"};

const std::vector<Kernel> &corpus() {
  static const std::vector<Kernel> all = [] {
    std::vector<Kernel> out;
    std::set<std::filesystem::path> files;
    for (const char *folder : {IR_DIR "/run", IR_DIR "/cat", SPLIT_DIR "/kir"})
      for (const auto &f : std::filesystem::directory_iterator(folder)) files.insert(f.path());
    for (const auto &f : files) kernels_of(f, out);
    for (const char *text : more) out.push_back({"of this test", parse(text)});
    return out;
  }();
  return all;
}

// Digests of the tasks; nothing when the unit is not well formed or can't be split.
std::multiset<std::string> digests(const Unit &u) {
  std::multiset<std::string> out;
  try {
    if (verify(u)) return out;
    for (const auto &t : split::split(u).tasks) out.insert(t.digest.hex());
  } catch (const Error &) { out.clear(); }
  return out;
}

// Every way to change one record: another operation, type, parameter, literal, operand.
std::vector<Inst> changes_of(const Inst &old, uint32_t at, size_t n_params) {
  std::vector<Inst> out;
  const auto with = [&](auto &&change) {
    Inst i = old;
    change(i);
    if (!(i == old)) out.push_back(i);
  };
  for (size_t op = 0; op < size_t(Op::count); ++op)
    if (op_table[op].sig == info(old.op).sig) with([&](Inst &i) { i.op = Op(op); });
  for (size_t t = 0; t < size_t(Type::count); ++t) with([&](Inst &i) { i.type = Type(t); });
  const std::string_view sig = info(old.op).sig;
  for (size_t k = 0; k < sig.size(); ++k) {
    if (sig[k] == 'l' || sig[k] == 'k')
      for (uint32_t flip : {1u, 2u, 3u, 7u}) with([&](Inst &i) { i.arg[k] ^= flip; });
    if (sig[k] == 'p' || sig[k] == 's')
      for (uint32_t p = 0; p < n_params; ++p) with([&](Inst &i) { i.arg[k] = p; });
    if (names_record(sig[k]))
      for (uint32_t v = 0; v < at; ++v) with([&](Inst &i) { i.arg[k] = v; });
  }
  return out;
}

}  // namespace

TEST(KeyCorpus, EveryOperationIsInAKey) {
  std::map<Op, int> kernels, probes;
  ASSERT_GT(corpus().size(), 80u);
  for (const Kernel &k : corpus()) {
    const auto original = digests(k.unit);
    if (original.empty()) continue;
    for (size_t f = 0; f < k.unit.funcs.size(); ++f) {
      const auto &code = k.unit.funcs[f].code;
      for (uint32_t at = 0; at < code.size(); ++at) {
        const Op op = code[at].op;
        ++kernels[op];
        if (probes[op] >= 3) continue;  // enough
        for (const Inst &changed : changes_of(code[at], at, k.unit.params.size())) {
          Unit other = k.unit;
          other.funcs[f].code[at] = changed;
          const auto found = digests(other);
          if (!found.empty() && found != original) {
            ++probes[op];
            break;
          }
        }
      }
    }
  }
  // Records that only close a region, or that only say where one ends: there is nothing about them to change.
  const std::set<std::string_view> nothing_to_change = {"end", "other", "block", "repeat", "ret"};
  for (size_t op = 0; op < size_t(Op::count); ++op) {
    EXPECT_GT(kernels[Op(op)], 0) << op_table[op].name << ": no kernel of the corpus has it; add one to tests/ir/run";
    if (!nothing_to_change.contains(op_table[op].name)) {
      EXPECT_GT(probes[Op(op)], 0) << op_table[op].name << ": no change of it changed a key";
    }
  }
}

TEST(KeyCorpus, EveryFactAboutAParameterIsInAKey) {
  std::map<std::string, int> probes;
  for (const Kernel &k : corpus()) {
    const auto original = digests(k.unit);
    for (size_t p = 0; p < k.unit.params.size() && !original.empty(); ++p) {
      const auto probe = [&](const char *what, auto &&change) {
        Unit other = k.unit;
        change(other.params[p]);
        const auto found = digests(other);
        probes[what] += !found.empty() && found != original;
      };
      probe("type", [](Param &x) { x.type = x.type == Type::f32 ? Type::f64 : Type::f32; });
      probe("rank", [](Param &x) { ++x.rank; });
      probe("alias", [](Param &x) { x.alias = x.alias == QD_ALIAS_FIELD ? QD_ALIAS_EXTERNAL : QD_ALIAS_FIELD; });
      probe("count", [](Param &x) { ++x.count; });
    }
  }
  for (const char *what : {"type", "rank", "alias", "count"}) EXPECT_GT(probes[what], 0) << what;
}

TEST(KeyCorpus, NothingElseIs) {
  int kernels = 0;
  for (const Kernel &k : corpus()) {
    const auto original = digests(k.unit);
    if (original.empty()) continue;
    ++kernels;
    Unit other = k.unit;
    other.debug.name = "renamed";
    for (auto &name : other.debug.params) name += "_renamed";
    EXPECT_EQ(digests(other), original) << k.file << ": names";
    other = k.unit;
    other.params.push_back({QD_PARAM_BUFFER, Type::f64, 2, QD_ALIAS_FIELD, 0});
    other.debug.params.push_back("unrelated");
    EXPECT_EQ(digests(other), original) << k.file << ": a parameter without a use";
    if (k.unit.funcs.size() > 1) {
      other = k.unit;
      other.funcs.push_back(other.funcs.back());
      if (!verify(other)) { EXPECT_EQ(digests(other), original) << k.file << ": a function without a call"; }
    }
    EXPECT_EQ(digests(k.unit), original) << k.file << ": split again";
  }
  EXPECT_GT(kernels, 80);
}

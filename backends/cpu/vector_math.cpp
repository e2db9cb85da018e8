// vector_math.cpp: see vector_math.hpp.
#include "backends/cpu/vector_math.hpp"

#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace qd::cpu {
namespace {

// Functions that glibc has vector forms of; LLVM's own table ends at eight lanes and lacks some.
struct Row {
  const char *name;
  int operands, level;
};
const Row rows[] = {{"sin", 1, 1}, {"cos", 1, 1},  {"exp", 1, 1},  {"log", 1, 1},   {"pow", 2, 1},
                    {"tan", 1, 2}, {"asin", 1, 2}, {"acos", 1, 2}, {"atan2", 2, 2}, {"tanh", 1, 2}};

struct Table {
  std::deque<std::string> names;  // a VecDesc borrows its names
  std::vector<llvm::VecDesc> rows;

  llvm::StringRef keep(std::string s) { return names.emplace_back(std::move(s)); }
  void add(const Row &r, bool f64, char isa, unsigned lanes) {
    const std::string suffix = f64 ? "" : "f", v(size_t(r.operands), 'v');
    const auto vector = keep(std::string("_ZGV") + isa + "N" + std::to_string(lanes) + v + "_" + r.name + suffix);
    const auto abi = keep("_ZGV_LLVM_N" + std::to_string(lanes) + v);
    for (const std::string &scalar : {r.name + suffix, std::string("llvm.") + r.name + (f64 ? ".f64" : ".f32")})
      rows.push_back(llvm::VecDesc(keep(scalar), vector, llvm::ElementCount::getFixed(lanes), false, abi, {}));
  }
  void fill(uint32_t level, unsigned bits) {
    for (const Row &r : cpu::rows)
      for (const bool f64 : {false, true}) {
        if (r.level > int(level)) continue;
        add(r, f64, 'b', f64 ? 2 : 4);
        if (bits >= 256) add(r, f64, 'd', f64 ? 4 : 8);
        if (bits >= 512) add(r, f64, 'e', f64 ? 8 : 16);
      }
  }
};

}  // namespace

llvm::TargetLibraryInfoImpl vector_library(const llvm::Triple &triple, uint32_t level, unsigned bits) {
  static Table tables[3][3];
  static std::once_flag once;
  std::call_once(once, [] {
    for (uint32_t l = 1; l <= 2; l++)
      for (unsigned w = 0; w < 3; w++) tables[l][w].fill(l, 128u << w);
  });
  llvm::TargetLibraryInfoImpl library(triple, llvm::VectorLibrary::NoLibrary);
  if (level) library.addVectorizableFunctions(tables[std::min(level, 2u)][bits >= 512 ? 2 : bits >= 256 ? 1 : 0].rows);
  return library;
}

llvm::Value *vector_math(llvm::IRBuilder<> &, view::Op, llvm::Value *, llvm::Value *, bool) { return nullptr; }

}  // namespace qd::cpu

// conformance.cpp: qd_conformance --plugin SO [--reference SO] [--expect TOML] [--load-only] [--option NAME=VALUE]...
//                  qd_conformance --plugin SO --measure COUNT [--option NAME=VALUE]...
//                  qd_conformance --accuracy docs/accuracy.md
//
// Runs every row of ops.def in every type on a plugin, against the reference plugin, and prints the grid. A row without
// a test fails the suite, and so does a test of the file of expected failures that passes.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "core/ir/ir.hpp"
#include "tests/conformance/accuracy.hpp"
#include "tests/conformance/suite.hpp"

namespace qd::conformance {

bool in_class(ir::Class c, Type t) {
  const auto k = ir::info(t).cls;
  using K = ir::TypeClass;
  switch (c) {
    case ir::Class::Any: return k != K::None;
    case ir::Class::Num: return k == K::Int || k == K::Float;
    case ir::Class::Int: return k == K::Int;
    case ir::Class::Float: return k == K::Float;
    case ir::Class::Bits: return k == K::Int || k == K::Bool;
  }
  return false;
}

bool has_meaning(Op op) {
  static const std::string_view meanings[] = {
#define OP(name, sig, cls, res, eff, flags, meaning, doc) #meaning,
#include "qd/ops.def"
  };
  return meanings[size_t(op)] != "NOVALUE";
}

ir::Unit unit_of(const std::string &text) {
  ir::Unit u = ir::parse(text);
  if (const auto fault = ir::verify(u))
    throw std::runtime_error("the test's own unit is wrong at record " + std::to_string(fault->record) + ": " +
                             fault->message + "\n" + text);
  return u;
}

namespace {

struct Arguments {
  std::string plugin, reference = QD_REFERENCE_PATH, expect, accuracy;
  bool load_only = false;
  size_t measure = 0;
  Executor::Options options;
};

[[noreturn]] void usage(const std::string &why) {
  std::cerr << why << "\nusage: qd_conformance --plugin SO [--reference SO] [--expect TOML] [--load-only] "
            << "[--option NAME=VALUE]...\n       qd_conformance --plugin SO --measure COUNT [--option NAME=VALUE]...\n"
            << "       qd_conformance --accuracy docs/accuracy.md\n";
  std::exit(2);
}

Arguments read_arguments(int argc, char **argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--load-only") {
      a.load_only = true;
      continue;
    }
    if (i + 1 == argc) usage("a value must follow " + flag);
    const std::string value = argv[++i];
    if (flag == "--plugin") a.plugin = value;
    else if (flag == "--reference") a.reference = value;
    else if (flag == "--expect") a.expect = value;
    else if (flag == "--measure") a.measure = std::stoul(value);
    else if (flag == "--accuracy") a.accuracy = value;
    else if (flag == "--option" && value.find('=') != std::string::npos)
      a.options.emplace_back(value.substr(0, value.find('=')), value.substr(value.find('=') + 1));
    else usage("unknown: " + flag + " " + value);
  }
  if (a.plugin.empty() == a.accuracy.empty()) usage("one of --plugin and --accuracy is needed");
  const bool chosen =
      std::any_of(a.options.begin(), a.options.end(), [](const auto &o) { return o.first == "fast_math"; });
  if (!chosen) a.options.emplace_back("fast_math", "0");
  return a;
}

std::string read_file(const std::string &path) {
  std::ifstream in(path);
  if (!in) usage("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string name_of(const std::pair<Op, Type> &key) {
  const std::string op(ir::info(key.first).name);
  return key.second == Type::none ? op : op + "." + std::string(ir::info(key.second).name);
}

// The table [conformance]: "row.type" = "reason", "row" for all its types, "*" for the whole suite.
std::map<std::string, std::string> expected_failures(const std::string &path) {
  std::map<std::string, std::string> out;
  std::ifstream in(path);
  if (!in) usage("cannot read " + path);
  bool ours = false;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      ours = line == "[conformance]";
      continue;
    }
    if (!ours) continue;
    const size_t a = line.find('"'), b = line.find('"', a + 1), c = line.find('"', b + 1), d = line.rfind('"');
    if (a == std::string::npos || c == std::string::npos || d <= c + 1)
      usage(path + ": expected \"row.type\" = \"reason\", found " + line);
    out[line.substr(a + 1, b - a - 1)] = line.substr(c + 1, d - c - 1);
  }
  return out;
}

void print_grid(const Grid &grid, const std::map<std::pair<Op, Type>, std::string> &expected) {
  std::printf("%-14s", "");
  for (const Type t : all_types) std::printf("%-6s", std::string(ir::info(t).name).c_str());
  std::printf("\n");
  for (uint16_t k = 0; k < uint16_t(Op::count); ++k) {
    std::printf("%-14s", std::string(ir::info(Op(k)).name).c_str());
    const auto word = [&](Type t) -> std::string {
      const auto cell = grid.find({Op(k), t});
      if (cell == grid.end()) return t == Type::none ? "MISSING" : "n/a";
      if (expected.count(cell->first)) return cell->second.faults.empty() ? "PASS?" : "xfail";
      return cell->second.faults.empty() ? "ok" : "FAIL";
    };
    const bool typed = std::any_of(std::begin(all_types), std::end(all_types), [&](Type t) {
      return grid.count({Op(k), t}) != 0;
    });
    if (typed)
      for (const Type t : all_types) std::printf("%-6s", word(t).c_str());
    if (!typed || grid.count({Op(k), Type::none})) std::printf("%s", word(Type::none).c_str());
    std::printf("\n");
  }
}

int judge(const Grid &grid, const std::map<std::string, std::string> &listed) {
  int tests = 0, failed = 0, expected_count = 0;
  std::map<std::pair<Op, Type>, std::string> expected;
  std::vector<std::string> problems;
  std::map<std::string, int> used;
  for (const auto &[key, cell] : grid) {
    for (const std::string &name : {name_of(key), std::string(ir::info(key.first).name), std::string("*")})
      if (listed.count(name) && !expected.count(key)) expected[key] = name;
    tests += cell.tests;
    const auto x = expected.find(key);
    if (x != expected.end() && !cell.faults.empty()) used[x->second]++, expected_count++;
    if (x != expected.end() && cell.faults.empty() && x->second == name_of(key))
      problems.push_back(name_of(key) + " passes, but is listed as an expected failure: take it off the list");
    if (x != expected.end() || cell.faults.empty()) continue;
    failed++;
    for (size_t i = 0; i < std::min<size_t>(cell.faults.size(), 4); ++i)
      problems.push_back(name_of(key) + ", " + cell.faults[i]);
    if (cell.faults.size() > 4) problems.push_back("  and " + std::to_string(cell.faults.size() - 4) + " more");
  }
  for (const auto &[name, reason] : listed)
    if (!used.count(name)) problems.push_back("expected failure \"" + name + "\" failed nowhere: take it off the list");
  for (uint16_t k = 0; k < uint16_t(Op::count); ++k) {
    const auto row = grid.lower_bound({Op(k), Type::none});
    if (row == grid.end() || row->first.first != Op(k))
      problems.push_back(std::string(ir::info(Op(k)).name) + " is a row of ops.def without a test");
  }
  print_grid(grid, expected);
  for (const std::string &p : problems) std::printf("FAILED %s\n", p.c_str());
  std::printf("%d tests of %zu pairs of row and type, %d failed, %d expected failures\n", tests, grid.size(), failed,
              expected_count);
  return !problems.empty();
}

int check_accuracy(const std::string &path) {
  if (read_file(path).find(accuracy_table()) != std::string::npos) return 0;
  std::cout << path << " does not hold the table of tests/conformance/accuracy.def, which is\n\n" << accuracy_table();
  return 1;
}

int run(const Arguments &a) {
  if (!a.accuracy.empty()) return check_accuracy(a.accuracy);
  const auto listed = a.expect.empty() ? std::map<std::string, std::string>() : expected_failures(a.expect);
  bool fast_math = false;
  for (const auto &[name, value] : a.options)
    if (name == "fast_math") fast_math = value != "0";
  Executor plugin(a.plugin, a.options);
  if (a.measure) return run_measure(plugin, a.measure, fast_math), 0;
  Executor reference(a.reference);
  Bench bench{plugin, reference, fast_math};
  bench.load_only = a.load_only;
  run_pure(bench);
  run_atomics(bench);
  run_cases(bench);
  return judge(bench.grid, listed);
}

}  // namespace
}  // namespace qd::conformance

int main(int argc, char **argv) {
  try {
    return qd::conformance::run(qd::conformance::read_arguments(argc, argv));
  } catch (const std::exception &e) {
    std::cerr << "qd_conformance: " << e.what() << "\n";
    return 1;
  }
}

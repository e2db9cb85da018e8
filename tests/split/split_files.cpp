// split_files.cpp: each file of kir/ is a kernel, a line `---`, and what the split makes of it: the tasks with a line
// each on extent and bindings. `split_files --update FOLDER` rewrites the part below the line; the difference is
// reviewed.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "core/ir/ir.hpp"
#include "core/split/split.hpp"
#include "core/support/error.hpp"

using namespace qd;

namespace {

std::string extent_text(const split::Extent &e) {
  switch (e.kind) {
    case split::ExtentKind::fixed: return std::to_string(e.positions);
    case split::ExtentKind::one_word: return "word " + std::to_string(e.word);
    case split::ExtentKind::program: return "program of " + std::to_string(e.program.code.size());
    case split::ExtentKind::unknown: return "unknown";
  }
  return "?";
}

std::string describe(const split::Plan &plan) {
  std::ostringstream out;
  for (const split::Task &t : plan.tasks) {
    out << "; " << (t.parallel ? "parallel" : "serial") << ", positions: " << extent_text(t.extent);
    for (const auto &m : t.words)
      out << ", word " << m.to << " <- " << m.from << (m.count > 1 ? " x" + std::to_string(m.count) : "");
    for (const auto &m : t.scratch) out << ", word " << m.to << " <- scratch " << m.offset;
    if (t.reports) out << (t.fails ? ", may fail" : ", reports");
    ir::Unit u = ir::from_wire(t.bytes);
    u.debug.name = "task";
    out << "\n" << ir::print(u);
  }
  return out.str();
}

int check(const std::filesystem::path &path, bool update) {
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const size_t line = text.find("\n---\n");
  const std::string kernel = text.substr(0, line), expected = line == std::string::npos ? "" : text.substr(line + 5);
  std::string found;
  try {
    const ir::Unit u = ir::parse(kernel);
    if (const auto fault = ir::verify(u)) throw Error(Kind::internal, "kernel: " + fault->message);
    const split::Plan plan = split::split(u);
    for (const split::Task &t : plan.tasks)
      if (const auto fault = ir::verify(ir::from_wire(t.bytes)))
        throw Error(Kind::internal, t.name + ": " + fault->message);
    found = describe(plan);
  } catch (const std::exception &e) { found = std::string("error: ") + e.what() + "\n"; }
  if (found == expected) return 0;
  if (update) {
    std::ofstream(path) << kernel << "\n---\n" << found;
    return 0;
  }
  std::cout << "FAILED " << path.filename().string() << "\n--- expected\n" << expected << "--- found\n" << found;
  return 1;
}

}  // namespace

int main(int argc, char **argv) {
  const bool update = argc > 2 && std::string(argv[1]) == "--update";
  std::vector<std::filesystem::path> files;
  for (const auto &f : std::filesystem::directory_iterator(argv[argc - 1]))
    if (f.path().extension() == ".kir") files.push_back(f.path());
  std::sort(files.begin(), files.end());
  int failures = 0;
  for (const auto &f : files) failures += check(f, update);
  std::cout << files.size() << " files, " << failures << " failures\n";
  return failures != 0 || files.empty();
}

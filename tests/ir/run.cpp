// run.cpp: the file-test runner. `ir_files [--update] [--plugin PATH]... FILE-OR-FOLDER...`
//
// The first line of a .kir file, `; test COMMAND`, says what is done with it:
//   cat        parse and print                     the printed text stands below the line `; expect`
//   fold       the same; for files about folding, sharing and algebraic rules
//   canonical  parse, canonical(), print           likewise, then `; params` and `; sites`: the old numbers
//   verify     parse and verify                    the message stands on the offending line as `; error: ...`
//   run        execute on each --plugin            expectations in the header (run_test.hpp)
// --update writes what came out into the files of the first four, to be reviewed as a diff.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/support/error.hpp"
#include "tests/ir/run_test.hpp"

namespace qd::ir::testing {
namespace {

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string without_error(const std::string &line) {
  const size_t at = line.find("; error:");
  if (at == line.npos) return line;
  const size_t last = line.find_last_not_of(' ', at == 0 ? 0 : at - 1);
  return at == 0 ? "" : line.substr(0, last + 1);
}

// Number of the line that holds a record of a function; of its header when the record is none.
size_t line_of(const std::vector<std::string> &lines, uint32_t func, Val record) {
  uint32_t at_func = no_val, at_record = 0, depth = 0;
  size_t header = 0, last = 0;
  for (size_t k = 0; k < lines.size(); ++k) {
    const std::string line = lines[k].substr(0, lines[k].find(';'));
    const size_t first = line.find_first_not_of(' ');
    if (first == line.npos) continue;
    const bool closes = line[first] == '}', opens = line.find('{') != line.npos;
    if (line.compare(first, 5, "func ") == 0) {
      ++at_func, at_record = 0, depth = 0;
      if (at_func == func) header = k;
      continue;
    }
    if (at_func == no_val || (closes && !opens && depth == 0)) continue;
    if (at_func == func && at_record == record) return k;
    if (at_func == func) last = k;
    ++at_record;
    depth += opens && !closes ? 1 : closes && !opens ? -1 : 0;
  }
  return record == no_val ? header : last;
}

// The file as it should be: with the verifier's or parser's message, if any, on its line.
std::string annotate(const std::string &text) {
  std::vector<std::string> lines = lines_of(text);
  for (std::string &line : lines) line = without_error(line);
  std::string message;
  size_t at = 0;
  try {
    if (const auto fault = verify(parse(text))) {
      at = line_of(lines, fault->func, fault->record);
      message = fault->message;
    }
  } catch (const Error &e) {
    const std::string_view what = e.what();
    if (!what.starts_with("line ")) throw;
    at = std::stoul(std::string(what.substr(5))) - 1;
    message = what.substr(what.find(": ") + 2);
  }
  if (!message.empty()) lines.at(at) += (lines.at(at).empty() ? "; error: " : "  ; error: ") + message;
  std::string out;
  for (const std::string &line : lines) out += line + '\n';
  return out;
}

std::string numbers(const char *label, const std::vector<uint32_t> &v) {
  std::string s = std::string("; ") + label;
  for (const uint32_t x : v) s += ' ' + std::to_string(x);
  return s + '\n';
}

std::string printed(const std::string &command, const std::string &input) {
  const Unit u = parse(input);
  if (const auto fault = verify(u))
    throw std::runtime_error("record " + std::to_string(fault->record) + ": " + fault->message);
  if (command != "canonical") return print(u);
  std::vector<uint32_t> params, sites;
  const Unit c = canonical(u, &params, &sites);
  if (const auto fault = verify(c))
    throw std::runtime_error("canonical form, record " + std::to_string(fault->record) + ": " + fault->message);
  if (to_wire(canonical(c)) != to_wire(c)) throw std::runtime_error("canonical form of the canonical form differs");
  return print(c) + numbers("params", params) + (sites.empty() ? "" : numbers("sites", sites));
}

std::string actual_text(const std::string &command, const std::string &text) {
  if (command == "verify") return annotate(text);
  constexpr std::string_view mark = "\n; expect\n";
  const size_t cut = text.find(mark);
  const std::string input = cut == text.npos ? text : text.substr(0, cut + 1);
  return input + "; expect\n" + printed(command, input);
}

struct Runner {
  bool update = false;
  std::vector<std::pair<std::string, std::unique_ptr<Executor>>> plugins;
  int files = 0, failed = 0, updated = 0;

  void fault(const std::string &path, const std::string &message) {
    ++failed;
    std::printf("%s: %s\n", path.c_str(), message.c_str());
  }
  void one(const std::string &path) {
    ++files;
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::istringstream head(text);
    std::string semicolon, test, command;
    head >> semicolon >> test >> command;
    if (semicolon != ";" || test != "test") return fault(path, "the first line must be `; test COMMAND`");
    try {
      if (command == "run") {
        std::vector<std::pair<std::string, Executor *>> on;
        for (auto &[name, executor] : plugins) on.emplace_back(name, executor.get());
        for (const std::string &m : run_file(text, on)) fault(path, m);
        return;
      }
      const std::string actual = actual_text(command, text);
      if (actual == text) return;
      if (!update) return fault(path, "expected\n" + text + "\nfound\n" + actual);
      std::ofstream(path, std::ios::binary) << actual;
      ++updated;
    } catch (const std::exception &e) { fault(path, e.what()); }
  }
};

}  // namespace
}  // namespace qd::ir::testing

int main(int argc, char **argv) {
  namespace fs = std::filesystem;
  qd::ir::testing::Runner r;
  std::vector<std::string> paths;
  for (int k = 1; k < argc; ++k) {
    const std::string a = argv[k];
    if (a == "--update") {
      r.update = true;
    } else if (a == "--plugin" && k + 1 < argc) {
      const std::string path = argv[++k];
      r.plugins.emplace_back(fs::path(path).stem(), std::make_unique<qd::ir::testing::Executor>(path));
    } else if (fs::is_directory(a)) {
      for (const auto &e : fs::recursive_directory_iterator(a))
        if (e.path().extension() == ".kir") paths.push_back(e.path());
    } else {
      paths.push_back(a);
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string &p : paths) r.one(p);
  std::printf("%d files, %d faults, %d updated, %zu plugins\n", r.files, r.failed, r.updated, r.plugins.size());
  return r.failed || r.files == 0;
}

// run_test.cpp: see run_test.hpp.
#include "tests/ir/run_test.hpp"
#include "qd/ir_view.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "tests/ir/values.hpp"

namespace qd::ir::testing {
namespace {

struct Expected {
  std::map<std::string, std::vector<uint64_t>> arrays;
  std::map<uint32_t, std::pair<Type, uint64_t>> outputs;
  std::vector<ReportLine> reports;
  bool failed = false;
  double tolerance = 0;
};

struct RunFile {
  Memory memory;
  Expected expected;
  std::vector<Unit> tasks;
};

Type type_named(const std::string &name) {
  for (size_t k = 1; k < size_t(Type::count); ++k)
    if (type_table[k].name == name) return Type(k);
  throw std::runtime_error("in a header: unknown type `" + name + "`");
}

std::vector<uint64_t> values_of(Type t, std::istream &in) {
  std::vector<uint64_t> out;
  for (std::string w; in >> w;) {
    const size_t star = w.find('*');
    const size_t times = star == w.npos ? 1 : std::stoul(w.substr(star + 1));
    out.insert(out.end(), times, parse_value(t, w.substr(0, star)));
  }
  return out;
}

std::string pack(Type t, const std::vector<uint64_t> &values) {
  std::string bytes;
  for (const uint64_t v : values) bytes.append(reinterpret_cast<const char *>(&v), info(t).bytes);
  return bytes;
}
std::vector<uint64_t> unpack(const Array &a) {
  const size_t step = info(a.type).bytes;
  std::vector<uint64_t> out(a.bytes.size() / step, 0);
  for (size_t k = 0; k < out.size(); ++k) std::memcpy(&out[k], a.bytes.data() + k * step, step);
  return out;
}

void skip_equals(std::istream &in) {
  std::string w;
  if (!(in >> w) || w != "=") throw std::runtime_error("in a header: expected `=`, found `" + w + "`");
}

void buffer_line(RunFile &f, std::istream &in) {
  std::string name, type;
  in >> name >> type;
  Array a;
  a.type = type_named(type);
  std::string rest;
  std::getline(in, rest);
  const size_t open = rest.find('['), close = rest.find(']');
  if (open != rest.npos && close != rest.npos) {
    std::istringstream extents(rest.substr(open + 1, close - open - 1));
    for (int64_t e; extents >> e;) a.extents.push_back(e);
    rest = rest.substr(close + 1);
  }
  std::istringstream values(rest);
  skip_equals(values);
  const auto v = values_of(a.type, values);
  if (open == std::string::npos) a.extents = {int64_t(v.size())};
  a.bytes = pack(a.type, v);
  f.memory.arrays[name.substr(1)] = a;
}

void expect_line(RunFile &f, std::istream &in) {
  std::string what, type;
  in >> what;
  if (what == "failed") {
    f.expected.failed = true;
  } else if (what == "output") {
    uint32_t slot;
    in >> slot >> type;
    skip_equals(in);
    const Type t = type_named(type);
    f.expected.outputs[slot] = {t, values_of(t, in).at(0)};
  } else if (what == "report") {
    ReportLine r{};
    in >> r.site >> r.iteration;
    skip_equals(in);
    r.values = values_of(Type::i64, in);
    f.expected.reports.push_back(r);
  } else {
    skip_equals(in);
    f.expected.arrays[what.substr(1)] = values_of(f.memory.arrays.at(what.substr(1)).type, in);
  }
}

RunFile read_file(const std::string &text) {
  RunFile f;
  std::string unit;
  std::istringstream lines(text);
  auto end_of_task = [&] {
    f.tasks.push_back(parse(unit));
    if (const auto fault = verify(f.tasks.back()))
      throw std::runtime_error("record " + std::to_string(fault->record) + ": " + fault->message);
    unit.clear();
  };
  for (std::string line; std::getline(lines, line); unit += line + '\n') {
    std::istringstream in(line);
    std::string semicolon, word, name, type;
    in >> semicolon >> word;
    if (semicolon != ";") continue;
    if (word == "buffer") buffer_line(f, in);
    else if (word == "expect") expect_line(f, in);
    else if (word == "tolerance") in >> f.expected.tolerance;
    else if (word == "task") end_of_task();
    else if (word == "random") {
      uint64_t seed = 0, launch = 0;
      in >> seed >> launch;
      f.memory.random_key = seed | launch << 32;
    } else if (word == "scalar") {
      in >> name >> type;
      skip_equals(in);
      f.memory.scalars[name.substr(1)] = values_of(type_named(type), in).at(0);
    }
  }
  end_of_task();
  return f;
}

std::string show(Type t, const std::vector<uint64_t> &v) {
  std::string s;
  for (const uint64_t x : v) s += ' ' + show_value(t, x);
  return s;
}

bool same_reports(std::vector<ReportLine> a, std::vector<ReportLine> b) {
  auto key = [](const ReportLine &r) { return std::make_tuple(r.site, r.iteration, r.values); };
  auto less = [&](const ReportLine &x, const ReportLine &y) { return key(x) < key(y); };
  std::sort(a.begin(), a.end(), less), std::sort(b.begin(), b.end(), less);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](auto &x, auto &y) { return key(x) == key(y); });
}

void compare(const RunFile &f, const Memory &after, const Outcome &out, const std::string &where,
             std::vector<std::string> &faults) {
  for (const auto &[name, array] : after.arrays) {
    const auto found = unpack(array);
    const auto it = f.expected.arrays.find(name);
    const auto want = it != f.expected.arrays.end() ? it->second : unpack(f.memory.arrays.at(name));
    bool same = found.size() == want.size();
    for (size_t k = 0; same && k < found.size(); ++k)
      same = agrees(array.type, found[k], want[k], f.expected.tolerance);
    if (!same)
      faults.push_back(where + "$" + name + ": expected" + show(array.type, want) + ", found" +
                       show(array.type, found));
  }
  for (const auto &[slot, want] : f.expected.outputs) {
    const uint64_t found = out.results[slot];
    if (!agrees(want.first, found, want.second, f.expected.tolerance))
      faults.push_back(where + "output " + std::to_string(slot) + ": expected " + show_value(want.first, want.second) +
                       ", found " + show_value(want.first, found));
  }
  if (!same_reports(out.reports, f.expected.reports)) {
    std::string found;
    for (const ReportLine &r : out.reports)
      found += "\n    report " + std::to_string(r.site) + " " + std::to_string(r.iteration) + " =" +
               show(Type::i64, r.values);
    faults.push_back(where + "reports differ, found:" + found);
  }
  if (out.failed != f.expected.failed) faults.push_back(where + (out.failed ? "failed" : "did not fail"));
}

// What a backend must be able to do for these tasks: QDB_CAP_.
uint64_t needed(const std::vector<Unit> &tasks) {
  uint64_t caps = 0;
  for (const Unit &u : tasks) {
    const std::string bytes = to_wire(u);
    view::View unit;
    view::Fault fault;
    if (!unit.read(bytes.data(), bytes.size(), fault)) continue;
    caps |= (unit.recursive() ? QDB_CAP_RECURSION : 0) | (unit.threads() ? QDB_CAP_THREADS : 0);
  }
  return caps;
}

}  // namespace

std::vector<std::string> run_file(const std::string &text, const std::vector<std::pair<std::string, Executor *>> &on) {
  const RunFile f = read_file(text);
  std::vector<Unit> canon;
  std::vector<std::vector<uint32_t>> sites(f.tasks.size());
  for (size_t k = 0; k < f.tasks.size(); ++k) canon.push_back(canonical(f.tasks[k], nullptr, &sites[k]));
  std::vector<std::string> faults;
  const uint64_t caps = needed(f.tasks);
  for (const auto &[name, executor] : on) {
    if (caps & ~executor->caps()) continue;  // refused: the conformance suite checks that
    for (const std::vector<Unit> *tasks : {&f.tasks, static_cast<const std::vector<Unit> *>(&canon)}) {
      Memory m = f.memory;
      Outcome out = executor->run(*tasks, m);
      if (tasks == &canon)
        for (ReportLine &r : out.reports) r.site = sites.at(r.task).at(r.site);
      compare(f, m, out, name + (tasks == &canon ? ", canonical: " : ": "), faults);
    }
  }
  return faults;
}

}  // namespace qd::ir::testing

// execute.hpp: runs compile units on a plugin that is given by its path, with nothing of the core's runtime in between,
// so that a wrong result is the plugin's or the IR's.
#pragma once
#include <map>
#include <memory>

#include "core/ir/ir.hpp"

namespace qd::ir::testing {

struct Array {
  Type type = Type::none;
  std::vector<int64_t> extents;
  std::string bytes;
};

// What the parameters of the units are bound to, by name.
struct Memory {
  std::map<std::string, Array> arrays;
  std::map<std::string, uint64_t> scalars;  // bits
  uint64_t random_key = 0;
};

struct ReportLine {
  uint32_t task, site;
  int64_t iteration;
  std::vector<uint64_t> values;
};

struct Outcome {
  std::vector<uint64_t> results;  // slots of the result buffer
  std::vector<ReportLine> reports;
  bool failed = false;
};

class Executor {
 public:
  using Options = std::vector<std::pair<std::string, std::string>>;  // rows of options.def
  // Throws std::runtime_error with the plugin's reason, as do all calls below.
  explicit Executor(const std::string &plugin, Options options = {{"fast_math", "0"}});
  ~Executor();
  // Runs the units one after another as tasks 0, 1, ... of one launch. Arrays hold their new elements afterwards.
  Outcome run(const std::vector<Unit> &tasks, Memory &memory);
  void load(const Unit &task);  // compiles and loads; a task that was loaded before is not compiled again
  uint64_t caps() const;        // QDB_CAP_

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace qd::ir::testing

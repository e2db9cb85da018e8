// dump.cpp: what `print_ir` and QD_DUMP_IR show of a kernel: its text before the split and that of each task. Dumping
// never stops a compile: a folder that cannot be written is one log line.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/compile/compiler.hpp"
#include "core/ir/ir.hpp"

namespace qd::compile {
namespace {

std::string file_name(std::string name) {
  for (char &c : name)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_' && c != '-' &&
        c != '.')
      c = '_';
  return name;
}

void write(const std::string &folder, const std::string &name, const std::string &text) {
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  std::ofstream f(std::filesystem::path(folder) / file_name(name));
  if (!(f << text))
    log_line(2, "IR dump " + folder + "/" + file_name(name) + " cannot be written: choose another debug_dump_path");
}

}  // namespace

void Compiler::dump(const ir::Unit &kernel, const split::Plan &plan) const {
  if (!config_.print_ir && !config_.dump_ir) return;
  const auto show = [&](const std::string &name, const std::string &text) {
    if (config_.print_ir) std::printf("; %s\n%s\n", name.c_str(), text.c_str());
    if (config_.dump_ir) write(config_.dump_path, name + ".kir", text);
  };
  show(plan.name, ir::print(kernel));
  for (const split::Task &t : plan.tasks) {
    ir::Unit task = ir::from_wire(t.bytes);
    task.debug.name = t.name;
    show(t.name, ir::print(task));
  }
  if (config_.print_ir) std::fflush(stdout);
}

}  // namespace qd::compile

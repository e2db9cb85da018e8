// load.hpp: the steps between a path and a loaded plugin. Each gives a Refusal or nothing; none of them lets a bad file
// harm this process: files are looked at before they are opened, and a foreign one first runs in a child.
#pragma once
#include <optional>
#include <string>
#include <variant>

#include "core/plugin/plugin.hpp"

namespace qd::plugin {

struct Refusal {
  std::string step, reason, remedy;
};

// elf_check.cpp. dlopen turns a short file into SIGBUS and runs whatever constructors a file has, so look first.
std::optional<Refusal> check_file(const std::string &path);
inline constexpr const char *step_not_a_plugin =
    "not a plugin";  // a shared object, but none of ours: skipped in folders

// negotiate.cpp: loads the file and asks it; `flags` QDB_HELLO_. The file stays loaded either way. One call at
// a time.
std::variant<Library, Refusal> negotiate(const std::string &path, uint32_t flags);

// probe.cpp: the same in a child process, started from the helper executable. The arch that the plugin named, or a
// Refusal.
std::variant<std::string, Refusal> probe(const std::string &helper, const std::string &path);
inline constexpr const char *probe_yes = "qd_probe yes ", *probe_no = "qd_probe no ";  // begin the child's one line
inline constexpr int probe_fd = 3;

}  // namespace qd::plugin

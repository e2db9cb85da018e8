// error.hpp: the one exception of the core. It is caught at the Python binding and turned into the class that status.def
// (for a plugin's answers) or Kind (for our own) names.
#pragma once
#include <stdexcept>
#include <string>

namespace qd {

enum class Kind { internal, compilation, runtime, value, assertion, memory, interrupted, unsupported };

struct Error : std::runtime_error {
  Kind kind;
  int status = 0;  // QDB_E_ of a plugin, or 0
  Error(Kind k, const std::string &message, int status = 0) : std::runtime_error(message), kind(k), status(status) {}
};

// A broken invariant of ours, on in every build: cheap, and a wrong result is worse than an exception.
#define QD_ASSERT(cond) \
  do { \
    if (!(cond)) throw ::qd::Error(::qd::Kind::internal, std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #cond); \
  } while (0)

}  // namespace qd

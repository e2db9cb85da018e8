// early_launch.hpp: whether a task may be launched before the tasks in front of it have ended (compute capability 9.0:
// programmatic dependent launch). Then its blocks are set up while those still run, and wait inside of it.
#pragma once
#include <algorithm>
#include <string_view>

namespace qd::cuda {

// True when the task waits before it looks at memory, calls or jumps: read off the text, so that neither a pass that
// moves a load nor a text of the user's can break the order.
inline bool waits_first(std::string_view ptx) {
  const size_t entry = ptx.find(".entry"), body = entry == ptx.npos ? entry : ptx.find("\n{", entry);
  if (body == ptx.npos) return false;
  for (size_t at = body + 2; at < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', at), ptx.size());
    std::string_view line = ptx.substr(at, end - at);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    at = end + 1;
    if (line.starts_with("griddepcontrol.wait")) return true;
    if (line.starts_with("ld.param")) continue;
    for (const char *other : {"ld", "st.", "atom", "red", "call", "bra", "ret", "@", "}"})
      if (line.starts_with(other)) return false;
  }
  return false;
}

}  // namespace qd::cuda

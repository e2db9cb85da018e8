// log.hpp: one sink for the lines of the core and of its plugins. Levels: 0 off, 1 error, 2 warning, 3 info, 4 debug,
// 5 trace. set_log_level, log_level and log_line are declared in core/api/core.hpp; here is what only the core uses.
#pragma once
#include <string>
#include <string_view>

namespace qd {

enum LogLevel : int { log_off, log_error, log_warn, log_info, log_debug, log_trace };

bool log_enabled(int level);  // one relaxed load: ask before formatting
void log_line(int level, std::string_view component, std::string_view message);

}  // namespace qd

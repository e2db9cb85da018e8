// probe_main.cpp: qd_probe, the helper executable: qd_probe <plugin>. Loads the plugin, negotiates, and says on file
// descriptor 3 what came of it. It leaves without running exit handlers, which would be the plugin's.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/plugin/load.hpp"

namespace {

std::string one_field(std::string s) {
  for (char &c : s)
    if (c == '\t' || c == '\n') c = ' ';
  return s;
}

}  // namespace

int main(int argc, char **argv) {
  using namespace qd::plugin;
  if (argc != 2 || ::fcntl(probe_fd, F_GETFD) < 0) {
    constexpr std::string_view usage = "qd_probe is started by quadrants to try a plugin; it is of no use by hand\n";
    [[maybe_unused]] ssize_t n = ::write(2, usage.data(), usage.size());
    return 2;
  }
  rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // a plugin that crashes here is an answer, not an accident
  auto outcome = negotiate(argv[1], QDB_HELLO_PROBE);
  std::string line;
  if (auto *library = std::get_if<Library>(&outcome)) {
    line = probe_yes + library->arch;
  } else {
    Refusal &r = std::get<Refusal>(outcome);
    line = probe_no + one_field(r.step) + "\t" + one_field(r.reason) + "\t" + one_field(r.remedy);
  }
  line += '\n';
  ssize_t n = ::write(probe_fd, line.data(), line.size());
  ::_exit(n == ssize_t(line.size()) ? 0 : 1);
}

// probe.cpp: a foreign plugin's first contact, in a child process. The child is a small executable of ours, started
// with posix_spawn: forking a Python process that has threads would copy locks that nobody will ever release. Success
// is a line that the child writes after everything went well; whatever else happens (crash, exit, silence) is a
// refusal.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/plugin/load.hpp"

extern char **environ;

namespace qd::plugin {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto patience = std::chrono::seconds(3);
constexpr size_t longest_line = 4096;

const char *const blame = "report this to the plugin's authors, and remove it from QD_BACKEND_PATH until it is fixed";

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  ~Child() {
    if (pipe >= 0) ::close(pipe);
  }
};

int start(const std::string &helper, const std::string &path, Child &child) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC)) return errno;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], probe_fd);
  std::string program = helper, argument = path;
  char *arguments[] = {program.data(), argument.data(), nullptr};
  int error = ::posix_spawn(&child.pid, helper.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  child.pipe = ends[0];
  return error;
}

// What the child wrote until it ended; false when it was still there at the end of our patience.
bool listen(int pipe, std::string &heard) {
  auto until = Clock::now() + patience;
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd p{pipe, POLLIN, 0};
    int ready = ::poll(&p, 1, int(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char some[512];
    ssize_t n = ::read(pipe, some, sizeof some);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    heard.append(some, std::min(size_t(n), longest_line - std::min(heard.size(), longest_line)));
  }
}

// Exit status, or -1 when somebody else collected it (a process that ignores SIGCHLD).
int collect(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

// "<step>\t<reason>\t<remedy>"
Refusal refusal_of(std::string_view line) {
  Refusal r;
  for (std::string *part : {&r.step, &r.reason, &r.remedy}) {
    size_t end = line.find('\t');
    *part = line.substr(0, end);
    line = end == line.npos ? std::string_view() : line.substr(end + 1);
  }
  return r;
}

}  // namespace

std::variant<std::string, Refusal> probe(const std::string &helper, const std::string &path) {
  Child child;
  if (int error = start(helper, path, child))
    return Refusal{"probe", "the helper " + helper + " can't be started: " + std::generic_category().message(error),
                   "install quadrants again"};
  std::string heard;
  bool ended = listen(child.pipe, heard);
  if (!ended) ::kill(child.pid, SIGKILL);
  int status = collect(child.pid);
  if (!ended) return Refusal{"probe", "no answer in 3 s", blame};
  if (status != -1 && WIFSIGNALED(status))
    return Refusal{"probe",
                   std::string("crashed with signal ") + std::to_string(WTERMSIG(status)) + " (" +
                       strsignal(WTERMSIG(status)) + ")",
                   blame};
  std::string_view line(heard);
  bool whole = !line.empty() && line.back() == '\n';
  if (whole) line.remove_suffix(1);
  bool clean = status == -1 || WEXITSTATUS(status) == 0;
  if (whole && clean && line.starts_with(probe_yes)) return std::string(line.substr(strlen(probe_yes)));
  if (whole && line.starts_with(probe_no)) return refusal_of(line.substr(strlen(probe_no)));
  return Refusal{"probe",
                 "left the process with exit code " + std::to_string(status == -1 ? -1 : WEXITSTATUS(status)) +
                     " and without an answer",
                 blame};
}

}  // namespace qd::plugin

// single_flight.cpp: one process compiles a key while others wait for it. The lock is flock on a file beside the entry,
// so it goes when its process goes, and the wait is bounded: a stuck neighbour costs at most two seconds, then
// everybody compiles for himself. The holder removes the file; whoever locked a removed file tries again with the new
// one.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "cache/entry.hpp"
#include "cache/layers.hpp"

namespace qd::cache {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double longest_wait = 2.0, builds_worth_waiting = 3.0;
// In seconds: a build of microseconds says little, since publishing and the scheduler take longer than it did.
constexpr double shortest_wait = 0.1;

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

bool still_there(int root, const std::string &path, int fd) {
  struct stat a, b;
  return !::fstat(fd, &a) && !::fstatat(root, path.c_str(), &b, AT_SYMLINK_NOFOLLOW) && a.st_ino == b.st_ino &&
         a.st_dev == b.st_dev;
}

}  // namespace

class FileClaim final : public Claim {
 public:
  FileClaim(DiskLayer &disk, std::string tier, std::string path)
      : disk_(disk), tier_(std::move(tier)), path_(std::move(path)) {}
  ~FileClaim() override {
    if (!fd_) return;
    ::unlinkat(disk_.root_.get(), path_.c_str(), 0);
    if (!waited_) disk_.built(tier_, seconds_since(since_));
  }
  bool waited() const override { return waited_; }

  enum class Attempt { go_on, busy, vanished };  // go_on: locked, or there is nothing to wait with

  Attempt attempt() {
    Fd fd(::openat(disk_.root_.get(), path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!fd) {
      bool no_shard = errno == ENOENT && disk_.make_shard(path_.substr(0, path_.rfind('/')));
      return no_shard ? Attempt::vanished : Attempt::go_on;
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB)) {
      if (errno == EWOULDBLOCK) {
        waited_ = true;
        return Attempt::busy;
      }
      if (errno != EINTR) disk_.locks_ = false;
      return Attempt::go_on;
    }
    if (!still_there(disk_.root_.get(), path_, fd.get())) {
      waited_ = true;
      return Attempt::vanished;
    }
    fd_ = std::move(fd);
    since_ = Clock::now();
    return Attempt::go_on;
  }

 private:
  DiskLayer &disk_;
  std::string tier_, path_;
  Fd fd_;
  bool waited_ = false;
  Clock::time_point since_ = Clock::now();
};

std::unique_ptr<Claim> DiskLayer::claim(const Key &key, const std::function<bool()> &cancelled) {
  if (!valid_key(key) || !writable_.load() || !locks_.load() || !ready()) return {};
  double limit = longest_wait;
  {
    std::lock_guard lock(mutex_);
    if (auto it = last_build_.find(key.tier); it != last_build_.end())
      limit = std::clamp(builds_worth_waiting * it->second, shortest_wait, longest_wait);
  }
  auto claim = std::make_unique<FileClaim>(*this, key.tier, path_of(key) + ".lock");
  auto start = Clock::now();
  auto pause = std::chrono::microseconds(500);
  for (;;) {
    auto outcome = claim->attempt();
    if (outcome == FileClaim::Attempt::go_on || seconds_since(start) >= limit || (cancelled && cancelled())) break;
    if (outcome == FileClaim::Attempt::vanished) continue;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
  return claim;
}

}  // namespace qd::cache

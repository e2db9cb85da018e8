// cleaning.cpp: keeps the files of all tiers under one bound. There is no index: the folder is the truth, and a file's
// time of change is its last use (a hit touches it) or its age (policy fifo does not touch). One process cleans at a
// time; a file that vanishes under a reader is a miss like any other.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "cache/entry.hpp"
#include "cache/layers.hpp"

namespace qd::cache {
namespace {

constexpr time_t abandoned_after = 3600;  // temporaries and locks of processes that died

struct Found {
  std::string path;
  Digest digest;
  uint64_t size;
  time_t used;
};

template <class F>
void each_name(int root, const std::string &folder, F &&f) {
  int fd = ::openat(root, folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  DIR *dir = ::fdopendir(fd);
  if (!dir) {
    ::close(fd);
    return;
  }
  while (dirent *entry = ::readdir(dir))
    if (entry->d_name[0] != '.') f(std::string(entry->d_name));
  ::closedir(dir);
}

bool other_version(int root, const std::string &path, const std::string &version) {
  Fd fd(::openat(root, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  char head[max_header_bytes];
  ssize_t n = fd ? ::read(fd.get(), head, sizeof head) : -1;
  auto found = n > 0 ? entry_version({head, size_t(n)}) : std::nullopt;
  return !found || *found != version.substr(0, name_bytes - 1);
}

std::vector<Found> walk(int root) {
  std::vector<Found> files;
  time_t now = ::time(nullptr);
  each_name(root, ".", [&](const std::string &tier) {
    each_name(root, tier, [&](const std::string &shard) {
      std::string folder = tier + "/" + shard;
      each_name(root, folder, [&](const std::string &name) {
        std::string path = folder + "/" + name;
        struct stat s;
        if (::fstatat(root, path.c_str(), &s, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s.st_mode)) return;
        if (auto digest = Digest::from_hex(name)) files.push_back({path, *digest, uint64_t(s.st_size), s.st_mtime});
        else if (now - s.st_mtime > abandoned_after) ::unlinkat(root, path.c_str(), 0);
      });
    });
  });
  return files;
}

}  // namespace

Fd lock_cleaning(int root, bool wait) {
  Fd lock(::openat(root, "clean.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (lock && ::flock(lock.get(), LOCK_EX | (wait ? 0 : LOCK_NB))) return Fd();
  return lock;
}

void clean(int root, const StoreConfig &config, uint64_t ceiling, const std::function<bool(const Digest &)> &keep) {
  std::vector<Found> files = walk(root);
  uint64_t total = 0;
  for (const Found &f : files) total += f.size;
  auto remove = [&](const Found &f) {
    if (keep(f.digest) || ::unlinkat(root, f.path.c_str(), 0)) return false;
    total -= f.size;
    return true;
  };
  if (config.cleaning_policy == "version")
    std::erase_if(files, [&](const Found &f) { return other_version(root, f.path, config.version) && remove(f); });
  if (total <= ceiling) return;
  double factor = std::clamp(config.cleaning_factor, 0.0, 1.0);
  uint64_t goal = std::min(uint64_t(double(config.max_bytes) * (1 - factor)), ceiling);
  std::sort(files.begin(), files.end(), [](const Found &a, const Found &b) { return a.used < b.used; });
  for (const Found &f : files) {
    if (total <= goal) break;
    remove(f);
  }
}

}  // namespace qd::cache

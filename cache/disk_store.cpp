// disk_store.cpp: files below one root, <tier>/<first byte>/<digest>. Published by rename, so a reader sees a whole
// file or none; every read is checked by entry.cpp, so whatever lies there is a value or a miss. All paths are relative
// to an open folder that is ours alone, because cached code is executed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "cache/entry.hpp"
#include "cache/hits.hpp"
#include "cache/layers.hpp"

namespace qd::cache {
namespace {

constexpr time_t touch_after = 3600;   // a hit is noted at most this often (spec/caching.md 6)
constexpr size_t most_counted = 4096;  // hits are written when so many entries were counted, or after
constexpr auto settle_after = std::chrono::minutes(10);
constexpr size_t usage_unit = 4096;  // bytes published per byte of the usage file
const char *const usage_file = "usage";

std::string error_text(int error) { return std::error_code(error, std::generic_category()).message(); }

bool read_all(int fd, char *to, size_t size) {
  while (size) {
    ssize_t n = ::read(fd, to, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    size -= size_t(n);
  }
  return true;
}

// Makes the folder and its parents, 0700 where they are ours to make. Error number, or 0.
int make_folders(const std::string &path) {
  if (path.size() >= PATH_MAX) return ENAMETOOLONG;  // before half of it is made
  for (size_t at = 1; at <= path.size(); ++at) {
    if (at < path.size() && path[at] != '/') continue;
    if (::mkdir(path.substr(0, at).c_str(), 0700) && errno != EEXIST) {
      int error = errno;
      struct stat s;  // e.g. a read-only parent whose child is there already
      if (::stat(path.substr(0, at).c_str(), &s) || !S_ISDIR(s.st_mode)) return error;
    }
  }
  return 0;
}

std::string unique_name(const std::string &path) {
  static std::atomic<uint64_t> count = 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  char text[96];
  snprintf(text, sizeof text, ".%ld.%llx.%llx.tmp", long(getpid()), (unsigned long long)(count++),
           (unsigned long long)(now.tv_sec * 1000000000ll + now.tv_nsec));
  return path + text;
}

}  // namespace

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

Fd &Fd::operator=(Fd &&o) noexcept {
  if (this != &o) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = o.fd_;
    o.fd_ = -1;
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

std::string shard_of(const Key &key) { return key.tier + "/" + key.digest.hex().substr(0, 2); }
std::string path_of(const Key &key) { return shard_of(key) + "/" + key.digest.hex(); }

DiskLayer::DiskLayer(StoreConfig config, bool read_only)
    : config_(std::move(config)), read_only_(read_only), process_(::getpid()) {
  writable_ = !read_only;
}

void DiskLayer::warn_once(std::atomic<bool> &said, const std::string &message) {
  if (!said.exchange(true) && config_.warn) config_.warn(message);
}

Fd DiskLayer::open_root(std::string &why) const {
  if (config_.root.empty()) {
    why = "no folder for the cache is known, because neither HOME nor XDG_CACHE_HOME is set";
    return Fd();
  }
  int error = read_only_ ? 0 : make_folders(config_.root);
  Fd fd(error ? -1 : ::open(config_.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat s {};
  if (!error && (!fd || ::fstat(fd.get(), &s))) error = errno;
  if (error) {
    why = "the cache folder " + config_.root + " can't be used (" + error_text(error) + ")";
  } else if (!read_only_ && s.st_uid != ::geteuid()) {
    why = "the cache folder " + config_.root + " belongs to another user, and cached code is executed";
  } else if (s.st_mode & (S_IWGRP | S_IWOTH)) {
    why = "the cache folder " + config_.root +
          " can be written by others, and cached code is executed: chmod go-w closes it";
  }
  return why.empty() ? std::move(fd) : Fd();
}

bool DiskLayer::ready() {
  if (usable_.load(std::memory_order_acquire)) return true;
  std::string why;
  {
    std::lock_guard lock(mutex_);
    if (tried_) return usable_.load();
    tried_ = true;
    root_ = open_root(why);
    if (root_) usable_.store(true, std::memory_order_release);
  }
  if (why.empty()) return true;
  if (read_only_) {
    warn_once(said_root_, why + ". Nothing is read from it: correct offline_cache_read_only_paths.");
    return false;
  }
  warn_once(said_root_, why +
                            ". Compiled kernels are kept in memory only; to keep them, set offline_cache_file_path (or "
                            "QD_OFFLINE_CACHE_FILE_PATH) to a folder of your own; offline_cache=False silences this.");
  return false;
}

Fd DiskLayer::open_entry(const Key &key) {
  if (!valid_key(key) || !ready()) return Fd();
  // NONBLOCK: a FIFO that somebody put there must not stop us; NOFOLLOW: nor may a link lead out of the folder.
  return Fd(::openat(root_.get(), path_of(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

std::optional<Entry> DiskLayer::get(const Key &key) {
  Fd fd = open_entry(key);
  struct stat s;
  if (!fd || ::fstat(fd.get(), &s) || !S_ISREG(s.st_mode) || s.st_size <= 0) return {};
  char head[max_header_bytes];
  size_t size = size_t(s.st_size), first = std::min(size, sizeof head);
  // Only a header that agrees with the file's length gets memory for the rest.
  if (!read_all(fd.get(), head, first) || !decode_header({head, first}, size, key)) return {};
  std::optional<Entry> entry;
  if (size == first) {
    entry = decode_entry({head, first}, key);
  } else {
    auto file = std::make_unique_for_overwrite<char[]>(size);
    std::memcpy(file.get(), head, first);
    if (!read_all(fd.get(), file.get() + first, size - first)) return {};
    entry = decode_entry({file.get(), size}, key);
  }
  if (!entry) return {};
  use(key.digest);
  count_hit(key);
  if (!read_only_ && config_.cleaning_policy != "fifo" && ::time(nullptr) - s.st_mtime >= touch_after)
    ::futimens(fd.get(), nullptr);
  return entry;
}

std::optional<Info> DiskLayer::stat(const Key &key) {
  Fd fd = open_entry(key);
  struct stat s;
  if (!fd || ::fstat(fd.get(), &s) || !S_ISREG(s.st_mode) || s.st_size <= 0) return {};
  char head[max_header_bytes];
  size_t first = std::min(size_t(s.st_size), sizeof head);
  if (!read_all(fd.get(), head, first)) return {};
  auto info = decode_header({head, first}, uint64_t(s.st_size), key);
  if (info) count_hit(key);
  if (info && !read_only_ && config_.cleaning_policy != "fifo" && ::time(nullptr) - s.st_mtime >= touch_after)
    ::futimens(fd.get(), nullptr);
  return info;
}

bool DiskLayer::make_shard(const std::string &shard) {
  std::string tier = shard.substr(0, shard.find('/'));
  if (::mkdirat(root_.get(), tier.c_str(), 0700) && errno != EEXIST) return false;
  return !::mkdirat(root_.get(), shard.c_str(), 0700) || errno == EEXIST;
}

bool DiskLayer::publish(const std::string &path, std::string_view file, int &error) {
  std::string temporary = unique_name(path);
  Fd fd(::openat(root_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) {
    error = errno;
    return false;
  }
  bool done = write_all(fd.get(), file);
  if (done && ::renameat(root_.get(), temporary.c_str(), root_.get(), path.c_str())) {
    done = false;
    if (errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST) {  // a folder stands where the entry belongs
      std::error_code ignored;
      std::filesystem::remove_all("/proc/self/fd/" + std::to_string(root_.get()) + "/" + path, ignored);
      done = !::renameat(root_.get(), temporary.c_str(), root_.get(), path.c_str());
    }
  }
  error = done ? 0 : errno;
  if (!done) ::unlinkat(root_.get(), temporary.c_str(), 0);
  return done;
}

void DiskLayer::put(const Key &key, std::string_view file) {
  if (!valid_key(key) || file.empty() || !writable_.load(std::memory_order_relaxed) || !ready()) return;
  std::string path = path_of(key);
  int error = 0;
  bool done = publish(path, file, error);
  if (!done && error == ENOENT) {  // the first entry of its shard
    if (make_shard(shard_of(key))) done = publish(path, file, error);
    else error = errno;
    if (done) make_hits(root_.get());
  }
  if (done) {
    use(key.digest);
    clean_when_due(file.size());
    return;
  }
  if (error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR) return;  // passes: this entry only
  writable_ = false;
  warn_once(
      said_write_,
      "the cache folder " + config_.root + " can't be written (" + error_text(error) +
          "). New compiled kernels are kept in memory only: free space there, give yourself the right to write, or set "
          "offline_cache_file_path (or QD_OFFLINE_CACHE_FILE_PATH) to another folder.");
}

void DiskLayer::drop(const Key &key) {
  if (read_only_ || !valid_key(key) || !ready()) return;
  ::unlinkat(root_.get(), path_of(key).c_str(), 0);
}

// All processes together count what they publish in the length of one file, so that the folder is walked once per
// sixteenth of the bound, not once per process or entry.
void DiskLayer::clean_when_due(size_t published) {
  if (config_.cleaning_policy == "never" || config_.max_bytes == 0) return;
  {
    std::lock_guard lock(mutex_);
    if (!usage_)
      usage_ = Fd(
          ::openat(root_.get(), usage_file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!usage_) return;
  }
  if (!write_all(usage_.get(), std::string(published / usage_unit + 1, '.'))) return;
  const uint64_t due = std::max<uint64_t>(config_.max_bytes / 16 / usage_unit, 1);
  const auto is_due = [&] {
    struct stat s;
    return !::fstat(usage_.get(), &s) && S_ISREG(s.st_mode) && uint64_t(s.st_size) >= due;
  };
  // Looked at again once the lock is given back: who published during a sweep and found it locked relies on the
  // sweeper to see it. Bounded, so that neighbours who publish on and on keep nobody here.
  for (int round = 0; round < 16 && is_due(); ++round)
    if (!sweep(due)) return;
}

// Under the lock, so that nothing counted is forgotten without a look at the folder. What may come until the next look
// has room below the bound.
bool DiskLayer::sweep(uint64_t due) {
  const Fd lock = lock_cleaning(root_.get(), false);
  if (!lock || ::ftruncate(usage_.get(), 0)) return false;
  const uint64_t ceiling = due == 1 ? config_.max_bytes : config_.max_bytes - due * usage_unit;
  clean(root_.get(), config_, ceiling, [this](const Digest &d) { return in_use(d); });
  settle();
  return true;
}

bool DiskLayer::in_use(const Digest &d) {
  std::lock_guard lock(mutex_);
  return used_.contains(d);
}

void DiskLayer::use(const Digest &d) {
  std::lock_guard lock(mutex_);
  used_.insert(d);
}

void DiskLayer::count_hit(const Key &key) {
  if (read_only_) return;
  bool due;
  {
    std::lock_guard lock(mutex_);
    ++hits_[key];
    due = hits_.size() >= most_counted || std::chrono::steady_clock::now() - settled_ > settle_after;
  }
  if (due) settle();
}

void DiskLayer::settle() noexcept {
  try {
    std::unordered_map<Key, uint32_t, KeyHash> counts;
    {
      std::lock_guard lock(mutex_);
      counts.swap(hits_);
      settled_ = std::chrono::steady_clock::now();
    }
    if (usable_.load(std::memory_order_acquire) && writable_.load() && ::getpid() == process_)
      append_hits(root_.get(), counts);
  } catch (...) {}  // no memory: the counts are lost
}

void DiskLayer::built(const std::string &tier, double seconds) {
  std::lock_guard lock(mutex_);
  last_build_[tier] = seconds;
}

}  // namespace qd::cache

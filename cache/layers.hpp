// layers.hpp: the two layers that layered_store.cpp puts behind Store: a bounded map of this process, and files below
// one folder. Inside the cache only; users see store.hpp.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "cache/store.hpp"

namespace qd::cache {

struct KeyHash {
  size_t operator()(const Key &k) const { return DigestHash()(k.digest) ^ k.tier.size(); }
};

class MemoryLayer {
 public:
  explicit MemoryLayer(uint64_t max_bytes) : max_bytes_(max_bytes) {}
  std::optional<Entry> get(const Key &);
  std::optional<Info> stat(const Key &);
  void keep(const Key &, Entry);
  void drop(const Key &);

 private:
  struct Node {
    Key key;
    Entry entry;
  };
  void forget(const Key &);
  const uint64_t max_bytes_;
  uint64_t bytes_ = 0;
  std::mutex mutex_;
  std::list<Node> order_;  // most recently used first
  std::unordered_map<Key, std::list<Node>::iterator, KeyHash> map_;
};

class Fd {  // closes what it holds
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd &&o) noexcept : fd_(o.fd_) { o.fd_ = -1; }
  Fd &operator=(Fd &&o) noexcept;
  ~Fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view bytes);  // errno says why not

class DiskLayer {
 public:
  explicit DiskLayer(StoreConfig, bool read_only = false);
  ~DiskLayer() { settle(); }
  std::optional<Entry> get(const Key &);
  std::optional<Info> stat(const Key &);
  void put(const Key &, std::string_view file);  // of encode_entry
  void drop(const Key &);
  // single_flight.cpp. Null where there is nothing to wait with.
  std::unique_ptr<Claim> claim(const Key &, const std::function<bool()> &cancelled);
  void built(const std::string &tier, double seconds);  // sets how long others are worth waiting for
  void settle() noexcept;                               // writes the counts of hits
  const StoreConfig &config() const { return config_; }

 private:
  friend class FileClaim;
  bool ready();  // the root is open, ours and closed to others; opens it on first use
  Fd open_root(std::string &why) const;
  bool make_shard(const std::string &shard);
  bool publish(const std::string &path, std::string_view file, int &error);
  Fd open_entry(const Key &);
  void clean_when_due(size_t published);
  bool sweep(uint64_t due);  // false when somebody is at it
  bool in_use(const Digest &);
  void use(const Digest &);
  void count_hit(const Key &);
  void warn_once(std::atomic<bool> &said, const std::string &message);

  const StoreConfig config_;
  const bool read_only_;
  std::mutex mutex_;  // of what follows
  bool tried_ = false;
  Fd root_, usage_;
  std::unordered_set<Digest, DigestHash> used_;
  std::map<std::string, double> last_build_;
  std::unordered_map<Key, uint32_t, KeyHash> hits_;  // not yet written
  std::chrono::steady_clock::time_point settled_ = std::chrono::steady_clock::now();
  const int process_;  // a forked child has the counts of its parent
  std::atomic<bool> usable_ = false, writable_ = true, locks_ = true, said_root_ = false, said_write_ = false;
};

// cleaning.cpp: one process cleans at a time. Nothing when somebody is at it; `wait`: until he is done.
Fd lock_cleaning(int root, bool wait);
// Whoever has the lock: brings the files of all tiers below `root` to (1 - factor) of the bound when they are over
// `ceiling`, the least recently used (lru: last hit; fifo: published) first. Not a file that `keep` names.
void clean(int root, const StoreConfig &, uint64_t ceiling, const std::function<bool(const Digest &)> &keep);

std::string shard_of(const Key &);  // "<tier>/<first byte>"
std::string path_of(const Key &);   // "<tier>/<first byte>/<digest>"

}  // namespace qd::cache

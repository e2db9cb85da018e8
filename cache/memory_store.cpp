// memory_store.cpp: values of this process, bounded by their bytes. The oldest use is forgotten first; a value in use
// stays alive through its Blob whatever happens here.
#include "cache/layers.hpp"

namespace qd::cache {

std::optional<Entry> MemoryLayer::get(const Key &key) {
  std::lock_guard lock(mutex_);
  auto it = map_.find(key);
  if (it == map_.end()) return {};
  order_.splice(order_.begin(), order_, it->second);
  return it->second->entry;
}

std::optional<Info> MemoryLayer::stat(const Key &key) {
  std::lock_guard lock(mutex_);
  auto it = map_.find(key);
  if (it == map_.end()) return {};
  return it->second->entry.info;
}

void MemoryLayer::keep(const Key &key, Entry entry) {
  entry.info.origin = Origin::memory;
  std::lock_guard lock(mutex_);
  forget(key);
  bytes_ += entry.payload->size();
  order_.push_front({key, std::move(entry)});
  map_[key] = order_.begin();
  while (bytes_ > max_bytes_ && order_.size() > 1) forget(Key(order_.back().key));
}

void MemoryLayer::drop(const Key &key) {
  std::lock_guard lock(mutex_);
  forget(key);
}

void MemoryLayer::forget(const Key &key) {
  auto it = map_.find(key);
  if (it == map_.end()) return;
  bytes_ -= it->second->entry.payload->size();
  order_.erase(it->second);
  map_.erase(it);
}

}  // namespace qd::cache

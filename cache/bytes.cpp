// bytes.cpp: the one kind of memory that values live in. Alignment and the zero tail are what plugins and drivers are
// promised, so they are kept by every path that makes or grows it.
#include <cstdlib>
#include <cstring>
#include <new>

#include "cache/store.hpp"

namespace qd::cache {
namespace {

constexpr size_t alignment = 64, tail = 16, largest = size_t(1) << 40;

size_t room_for(size_t size) { return (size + tail + alignment - 1) / alignment * alignment; }

}  // namespace

std::shared_ptr<Bytes> Bytes::make(size_t size) {
  if (size > largest) return {};
  void *data = std::aligned_alloc(alignment, room_for(size));
  if (!data) return {};
  std::memset(data, 0, room_for(size));
  std::unique_ptr<Bytes> bytes(new (std::nothrow) Bytes);
  if (!bytes) {
    std::free(data);
    return {};
  }
  bytes->data_ = static_cast<char *>(data);
  bytes->size_ = size;
  bytes->room_ = room_for(size);
  try {
    return std::shared_ptr<Bytes>(std::move(bytes));
  } catch (const std::bad_alloc &) { return {}; }
}

std::shared_ptr<Bytes> Bytes::copy(std::string_view from) {
  auto bytes = make(from.size());
  if (bytes && !from.empty()) std::memcpy(bytes->data(), from.data(), from.size());
  return bytes;
}

Bytes::~Bytes() { std::free(data_); }

bool Bytes::resize(size_t size) {
  if (size > largest) return false;
  if (room_for(size) > room_) {
    // Doubling keeps a writer that grows step by step linear.
    size_t room = room_for(size > room_ * 2 ? size : room_ * 2);
    void *data = std::aligned_alloc(alignment, room);
    if (!data) return false;
    std::memcpy(data, data_, size_);
    std::free(data_);
    data_ = static_cast<char *>(data);
    room_ = room;
  }
  if (size > size_) std::memset(data_ + size_, 0, size - size_);
  std::memset(data_ + size, 0, tail);
  size_ = size;
  return true;
}

}  // namespace qd::cache

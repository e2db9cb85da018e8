// buffer.cpp: device memory as Python holds it. Transfers are over when the call returns. Where memory is the host's
// and launches are synchronous, they are plain copies.
#include <cstring>

#include "core/runtime/device_backend.hpp"

namespace qd {
namespace {

class SessionBuffer final : public Buffer, public Resource {
 public:
  SessionBuffer(std::shared_ptr<Session> session, std::unique_ptr<plugin::Memory> memory)
      : session_(std::move(session)),
        memory_(std::move(memory)),
        address_(memory_->address()),
        host_(memory_->host()),
        size_(memory_->size()) {
    session_->add(this);
  }
  ~SessionBuffer() { session_->remove(this); }
  void release() noexcept override { memory_.reset(); }

  uint64_t address() const override { return address_; }
  void *host() const override { return host_; }
  uint64_t size() const override { return size_; }

  void copy_in(uint64_t offset, const void *src, uint64_t size) override {
    check(offset, size, "copy_in");
    if (!size) return;
    auto use = session_->use();
    if (plain()) {
      std::memcpy(static_cast<char *>(host_) + offset, src, size);
    } else {
      transfer({memory_->raw(), offset, nullptr, reinterpret_cast<uint64_t>(src), size});
    }
  }

  void copy_out(uint64_t offset, void *dst, uint64_t size) const override {
    check(offset, size, "copy_out");
    if (!size) return;
    auto use = session_->use();
    if (plain()) {
      std::memcpy(dst, static_cast<const char *>(host_) + offset, size);
    } else {
      transfer({nullptr, reinterpret_cast<uint64_t>(dst), memory_->raw(), offset, size});
    }
  }

  void fill(uint64_t offset, uint64_t size, uint64_t pattern, uint32_t pattern_bytes) override {
    check(offset, size, "fill");
    if ((pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4 && pattern_bytes != 8) || size % pattern_bytes)
      throw Error(Kind::value,
                  "fill: expected a pattern of 1, 2, 4 or 8 bytes and a size that is a multiple of it, found " +
                      std::to_string(pattern_bytes) + " and " + std::to_string(size));
    if (!size) return;
    auto use = session_->use();
    QdbFill f{memory_->raw(), offset, size, pattern, pattern_bytes, 0};
    session_->on_stream([&](plugin::Stream &s) { s.fill({&f, 1}); });
  }

 private:
  bool plain() const { return host_ && session_->synchronous(); }

  void transfer(const QdbCopy &c) const {
    session_->on_stream([&](plugin::Stream &s) {
      s.copy({&c, 1});
      s.sync();  // the host's side of it may be gone as soon as we return
    });
  }

  void check(uint64_t offset, uint64_t size, const char *what) const {
    if (offset > size_ || size > size_ - offset)
      throw Error(Kind::value, std::string(what) + ": expected a range within the buffer's " + std::to_string(size_) +
                                   " bytes, found " + std::to_string(size) + " bytes at " + std::to_string(offset));
  }

  std::shared_ptr<Session> session_;
  std::unique_ptr<plugin::Memory> memory_;
  const uint64_t address_;
  void *const host_;
  const uint64_t size_;
};

}  // namespace

std::shared_ptr<Buffer> make_buffer(std::shared_ptr<Session> session, uint64_t bytes) {
  auto memory = plugin::Memory::alloc(session->device(), std::max<uint64_t>(bytes, 1));
  return std::make_shared<SessionBuffer>(std::move(session), std::move(memory));
}

}  // namespace qd

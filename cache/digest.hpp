// digest.hpp: the identity of everything that is cached. BLAKE2b-256, because cached code is executed: a key that could
// be made to collide would be a way to run foreign code. Parts are fed with a tag and a length, so that no two
// different lists of parts give the same byte stream, and a part that is left out is visible.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace qd::cache {

struct Digest {
  std::array<uint8_t, 32> bytes{};
  auto operator<=>(const Digest &) const = default;
  std::string hex() const;                                  // 64 lower-case digits
  static std::optional<Digest> from_hex(std::string_view);  // nothing unless it is exactly what hex() writes
  std::string_view view() const { return {reinterpret_cast<const char *>(bytes.data()), bytes.size()}; }
};

struct DigestHash {  // the digest is uniform already: any eight bytes of it are a good hash
  size_t operator()(const Digest &d) const {
    size_t h;
    std::memcpy(&h, d.bytes.data(), sizeof h);
    return h;
  }
};

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher &&) noexcept;
  Hasher &operator=(Hasher &&) noexcept;
  Hasher &update(std::string_view tag, std::string_view bytes);
  Hasher &update(std::string_view tag, uint64_t number);
  Digest finish();  // once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest digest_of(std::string_view bytes);  // of plain bytes, without a tag

}  // namespace qd::cache

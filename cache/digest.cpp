// digest.cpp: libb2 behind Hasher, and the hexadecimal form that names files.
#include "cache/digest.hpp"

#include <blake2.h>

namespace qd::cache {

struct Hasher::State {
  blake2b_state blake;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { blake2b_init(&state_->blake, sizeof(Digest::bytes)); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher &&) noexcept = default;
Hasher &Hasher::operator=(Hasher &&) noexcept = default;

namespace {

void feed(blake2b_state &s, std::string_view bytes) {
  if (!bytes.empty()) blake2b_update(&s, reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
}

void feed(blake2b_state &s, uint64_t n) {
  uint8_t b[8];
  for (int i = 0; i < 8; ++i) b[i] = uint8_t(n >> (8 * i));
  blake2b_update(&s, b, sizeof b);
}

}  // namespace

Hasher &Hasher::update(std::string_view tag, std::string_view bytes) {
  feed(state_->blake, tag.size());
  feed(state_->blake, tag);
  feed(state_->blake, bytes.size());
  feed(state_->blake, bytes);
  return *this;
}

Hasher &Hasher::update(std::string_view tag, uint64_t number) {
  char b[8];
  for (int i = 0; i < 8; ++i) b[i] = char(number >> (8 * i));
  return update(tag, std::string_view(b, sizeof b));
}

Digest Hasher::finish() {
  Digest d;
  blake2b_final(&state_->blake, d.bytes.data(), d.bytes.size());
  return d;
}

Digest digest_of(std::string_view bytes) {
  blake2b_state s;
  blake2b_init(&s, sizeof(Digest::bytes));
  feed(s, bytes);
  Digest d;
  blake2b_final(&s, d.bytes.data(), d.bytes.size());
  return d;
}

std::string Digest::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (uint8_t b : bytes) {
    text += digits[b >> 4];
    text += digits[b & 15];
  }
  return text;
}

std::optional<Digest> Digest::from_hex(std::string_view text) {
  Digest d;
  if (text.size() != 2 * d.bytes.size()) return {};
  auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (size_t i = 0; i < d.bytes.size(); ++i) {
    int high = value(text[2 * i]), low = value(text[2 * i + 1]);
    if (high < 0 || low < 0) return {};
    d.bytes[i] = uint8_t(high << 4 | low);
  }
  return d;
}

}  // namespace qd::cache

// packed.cpp: see packed.hpp.
#include "core/compile/packed.hpp"

#include <cstring>

#include "core/support/error.hpp"

namespace qd::compile {
namespace {

struct Front {
  char magic[8];
  char kind[16];  // NUL-padded
  char rest[40];
};
static_assert(sizeof(Front) == 64);
constexpr char magic[8] = {'q', 'd', 'c', 'o', 'd', 'e', '1', 0};

std::shared_ptr<cache::Bytes> make(size_t size) {
  auto b = cache::Bytes::make(size);
  if (!b)
    throw Error(Kind::memory, "no memory for a compiled artifact of " + std::to_string(size) + " bytes",
                QDB_E_HOST_MEMORY);
  return b;
}

}  // namespace

cache::Blob pack(const Artifact &a) {
  if (a.kind.empty() || a.kind.size() >= sizeof(Front::kind) || !a.bytes)
    throw Error(
        Kind::internal,
        "the plugin gave an artifact without bytes or a kind of 1 to 15 characters; its kind is '" + a.kind + "'");
  auto out = make(sizeof(Front) + a.bytes->size());
  Front f{};
  std::memcpy(f.magic, magic, sizeof magic);
  std::memcpy(f.kind, a.kind.data(), a.kind.size());
  std::memcpy(out->data(), &f, sizeof f);
  std::memcpy(out->data() + sizeof f, a.bytes->data(), a.bytes->size());
  return out;
}

bool unpack(const cache::Blob &packed, Artifact &out) {
  if (!packed || packed->size() < sizeof(Front)) return false;
  Front f;
  std::memcpy(&f, packed->data(), sizeof f);
  if (std::memcmp(f.magic, magic, sizeof magic) != 0 || f.kind[0] == 0 || f.kind[sizeof f.kind - 1] != 0) return false;
  auto bytes = make(packed->size() - sizeof f);
  std::memcpy(bytes->data(), packed->data() + sizeof f, bytes->size());
  out = {f.kind, std::move(bytes)};
  return true;
}

}  // namespace qd::compile

// entry.cpp: writing and reading the format of entry.hpp. Fields are copied to and from fixed offsets, little-endian.
#include "cache/entry.hpp"

#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

namespace qd::cache {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr char magic[8] = {'Q', 'D', 'C', 'A', 'C', 'H', 'E', '\n'};
constexpr uint32_t encoding_raw = 0, encoding_zstd = 1;
constexpr size_t zstd_from = 256;  // shorter payloads do not pay for the frame
constexpr int zstd_level = 1;      // publishing is on the compile path: speed first

struct Fixed {  // exactly the first 200 bytes
  char magic[8];
  uint32_t format;
  uint32_t header_size;  // with components and the header's checksum
  char tier[name_bytes];
  char arch[name_bytes];
  uint8_t key[32];
  uint8_t payload_digest[32];
  uint64_t payload_size;
  uint64_t stored_size;
  uint32_t encoding;
  uint32_t n_components;
  char version[name_bytes];
};
static_assert(sizeof(Fixed) == entry_fixed_bytes);

uint64_t checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void append(std::string &to, uint64_t n) { to.append(reinterpret_cast<const char *>(&n), sizeof n); }

uint64_t read_u64(const char *at) {
  uint64_t n;
  std::memcpy(&n, at, sizeof n);
  return n;
}

void put_name(char (&to)[name_bytes], std::string_view name) {
  std::memcpy(to, name.data(), std::min(name.size(), name_bytes - 1));
}

// A name field must be NUL-terminated and zero behind its end: there is one way to write it.
std::optional<std::string_view> get_name(const char *field) {
  size_t n = strnlen(field, name_bytes);
  for (size_t i = n; i < name_bytes; ++i)
    if (field[i]) return {};
  if (n == name_bytes) return {};
  return std::string_view(field, n);
}

size_t header_size(size_t n_components) { return entry_fixed_bytes + n_components * component_bytes + 8; }

// The fixed part of an intact header, or nothing.
std::optional<Fixed> read_fixed(std::string_view head) {
  Fixed f;
  if (head.size() < sizeof f) return {};
  std::memcpy(&f, head.data(), sizeof f);
  if (std::memcmp(f.magic, magic, sizeof magic) || f.format != entry_format || f.n_components > max_components)
    return {};
  if (f.header_size != header_size(f.n_components) || head.size() < f.header_size) return {};
  std::string_view covered = head.substr(0, f.header_size - 8);
  if (read_u64(head.data() + covered.size()) != checksum(covered)) return {};
  return f;
}

std::optional<Info> read_info(const Fixed &f, std::string_view head) {
  Info info;
  std::memcpy(info.payload_digest.bytes.data(), f.payload_digest, 32);
  info.payload_size = f.payload_size;
  info.origin = Origin::disk;
  for (uint32_t i = 0; i < f.n_components; ++i) {
    const char *at = head.data() + entry_fixed_bytes + i * component_bytes;
    auto name = get_name(at);
    if (!name) return {};
    Component c{std::string(*name), {}};
    std::memcpy(c.digest.bytes.data(), at + name_bytes, 32);
    info.components.push_back(std::move(c));
  }
  return info;
}

std::shared_ptr<Bytes> unpack(const Fixed &f, std::string_view body) {
  if (f.encoding == encoding_raw) return Bytes::copy(body);
  if (ZSTD_getFrameContentSize(body.data(), body.size()) != f.payload_size) return {};
  auto bytes = Bytes::make(f.payload_size);
  if (!bytes || ZSTD_decompress(bytes->data(), bytes->size(), body.data(), body.size()) != f.payload_size) return {};
  return bytes;
}

}  // namespace

bool valid_name(std::string_view s) {
  if (s.empty() || s.size() >= name_bytes) return false;
  for (char c : s)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return true;
}

bool valid_key(const Key &k) { return valid_name(k.tier) && valid_name(k.arch); }

std::string encode_entry(const Key &key, std::string_view payload, const Digest &payload_digest,
                         const std::vector<Component> &components, std::string_view version) {
  if (!valid_key(key) || components.size() > max_components || payload.size() > max_payload) return {};
  for (const Component &c : components)
    if (c.name.size() >= name_bytes || c.name.find('\0') != std::string::npos) return {};
  Fixed f{};
  std::memcpy(f.magic, magic, sizeof magic);
  f.format = entry_format;
  f.header_size = uint32_t(header_size(components.size()));
  put_name(f.tier, key.tier);
  put_name(f.arch, key.arch);
  std::memcpy(f.key, key.digest.bytes.data(), 32);
  std::memcpy(f.payload_digest, payload_digest.bytes.data(), 32);
  f.payload_size = payload.size();
  f.n_components = uint32_t(components.size());
  put_name(f.version, version.substr(0, version.find('\0')));

  std::string packed;
  if (payload.size() >= zstd_from) {
    packed.resize(ZSTD_compressBound(payload.size()));
    size_t n = ZSTD_compress(packed.data(), packed.size(), payload.data(), payload.size(), zstd_level);
    if (ZSTD_isError(n) || n >= payload.size() - payload.size() / 8) n = 0;
    packed.resize(n);
  }
  f.encoding = packed.empty() ? encoding_raw : encoding_zstd;
  std::string_view body = packed.empty() ? payload : std::string_view(packed);
  f.stored_size = body.size();

  std::string file;
  file.reserve(f.header_size + body.size() + 8);
  file.append(reinterpret_cast<const char *>(&f), sizeof f);
  for (const Component &c : components) {
    char name[name_bytes] = {};
    put_name(name, c.name);
    file.append(name, name_bytes).append(c.digest.view());
  }
  append(file, checksum(file));
  file.append(body);
  append(file, checksum(file));
  return file;
}

std::optional<Info> decode_header(std::string_view head, uint64_t file_size, const Key &key) {
  auto f = read_fixed(head);
  if (!f) return {};
  auto tier = get_name(f->tier), arch = get_name(f->arch);
  if (!tier || !arch || *tier != key.tier || *arch != key.arch) return {};
  if (std::memcmp(f->key, key.digest.bytes.data(), 32) || f->encoding > encoding_zstd) return {};
  if (f->payload_size > max_payload || f->stored_size > max_payload) return {};
  if (f->encoding == encoding_raw && f->stored_size != f->payload_size) return {};
  if (file_size != f->header_size + f->stored_size + 8) return {};
  return read_info(*f, head);
}

std::optional<Entry> decode_entry(std::string_view file, const Key &key) {
  auto info = decode_header(file, file.size(), key);
  if (!info) return {};
  std::string_view covered = file.substr(0, file.size() - 8);
  if (read_u64(file.data() + covered.size()) != checksum(covered)) return {};
  Fixed f;
  std::memcpy(&f, file.data(), sizeof f);
  Entry e{unpack(f, covered.substr(f.header_size)), std::move(*info)};
  if (!e.payload) return {};
  return e;
}

std::optional<std::string> entry_version(std::string_view head) {
  auto f = read_fixed(head);
  if (!f) return {};
  auto version = get_name(f->version);
  if (!version) return {};
  return std::string(*version);
}

std::optional<std::string> entry_arch(std::string_view head) {
  const auto key = entry_key(head);
  if (!key) return {};
  return key->arch;
}

std::optional<Key> entry_key(std::string_view head) {
  const auto f = read_fixed(head);
  const auto tier = f ? get_name(f->tier) : std::nullopt, arch = f ? get_name(f->arch) : std::nullopt;
  if (!tier || !arch) return {};
  Key key{std::string(*tier), std::string(*arch), {}};
  std::memcpy(key.digest.bytes.data(), f->key, 32);
  return key;
}

}  // namespace qd::cache

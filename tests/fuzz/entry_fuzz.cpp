// Hostile bytes against the reader of cache entries. The first byte chooses what the rest is: a whole file, or a list
// of edits of a valid one whose checksums are made right again, so that the checks behind them are reached too.
#include <cstdlib>
#include <cstring>

#include "cache/entry.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace qd::cache;

namespace {

void seal(std::string &file, size_t covered) {
  uint64_t sum = XXH3_64bits(file.data(), covered);
  std::memcpy(file.data() + covered, &sum, sizeof sum);
}

// Three bytes an edit: position, position, value.
std::string edited(const std::string &valid, const uint8_t *edits, size_t n) {
  std::string file = valid;
  for (size_t i = 0; i + 3 <= n; i += 3)
    file[(size_t(edits[i]) << 8 | edits[i + 1]) % file.size()] = char(edits[i + 2]);
  uint32_t header = 0;
  std::memcpy(&header, file.data() + 12, sizeof header);
  if (header >= 8 && header <= file.size()) seal(file, header - 8);
  seal(file, file.size() - 8);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Key key{"elf", "cpu", digest_of("key")};
  static const std::string payload = std::string(600, 'a') + "tail";
  static const std::string valid = encode_entry(key, payload, digest_of(payload), {{"task", digest_of("t")}}, "1.0");
  if (!size) return 0;
  std::string file =
      data[0] & 1 ? edited(valid, data + 1, size - 1) : std::string(reinterpret_cast<const char *>(data + 1), size - 1);
  decode_header(file, file.size(), key);
  decode_header(std::string_view(file).substr(0, max_header_bytes), uint64_t(data[0]) << 24, key);
  entry_version(file);
  auto entry = decode_entry(file, key);
  if (entry && (!entry->payload || entry->payload->size() != entry->info.payload_size)) std::abort();
  return 0;
}

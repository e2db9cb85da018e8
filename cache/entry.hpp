// entry.hpp: the one file format of all tiers.
//
//   header   magic, format version, sizes, tier, arch, key, payload digest, encoding, program version, components by
//   name u64      XXH3 of the header, so that it can be trusted when the body is not read body     the payload, or its
//   zstd frame where that is shorter u64      XXH3 of everything before it
//
// A reader believes nothing: each size is compared with what is there before anything is allocated for it, and the key,
// tier and arch must be the ones that were asked for.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cache/store.hpp"

namespace qd::cache {

inline constexpr uint32_t entry_format = 1;
inline constexpr size_t max_components = 32, name_bytes = 32;
inline constexpr size_t entry_fixed_bytes = 200, component_bytes = name_bytes + 32;
inline constexpr size_t max_header_bytes = entry_fixed_bytes + max_components * component_bytes + 8;
inline constexpr uint64_t max_payload = uint64_t(1) << 31;

bool valid_name(std::string_view);  // tier, arch: [a-z0-9_]{1,31}; names a folder
bool valid_key(const Key &);

// The bytes of a file; empty when the parts do not fit the format (too many components, names too long, payload too
// big).
std::string encode_entry(const Key &, std::string_view payload, const Digest &payload_digest,
                         const std::vector<Component> &, std::string_view version);

// `head`: the first bytes of a file of `file_size` bytes, all of it or at least max_header_bytes. Nothing: not such an
// entry.
std::optional<Info> decode_header(std::string_view head, uint64_t file_size, const Key &);
std::optional<Entry> decode_entry(std::string_view file, const Key &);
// Of any entry with an intact header: for cleaning, listing and import.
std::optional<std::string> entry_version(std::string_view head);
std::optional<std::string> entry_arch(std::string_view head);
std::optional<Key> entry_key(std::string_view head);

}  // namespace qd::cache

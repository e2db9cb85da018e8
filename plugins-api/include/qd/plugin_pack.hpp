// plugin_pack.hpp: one artifact that holds N named objects (decisions: a kernel is one cache entry, its tasks still compile side
// by side). Header, table, then names and objects; objects are 16-byte aligned relative to the start. Equal input, equal bytes.
#pragma once
#include "qd/plugin.hpp"

namespace qd::plugin {

struct PackedObject {
  std::string_view symbol, bytes;
};

struct PackHeader {
  uint32_t magic, count;
  uint64_t size;
};
struct PackEntry {
  uint64_t symbol_offset, symbol_size, bytes_offset, bytes_size;
};
inline constexpr uint32_t pack_magic = 0x4b504451u;  // 'Q' 'D' 'P' 'K'

inline Blob pack_objects(const Host &host, const std::vector<PackedObject> &objects) {
  std::vector<PackEntry> table;
  uint64_t end = sizeof(PackHeader) + objects.size() * sizeof(PackEntry);
  for (const PackedObject &o : objects) {
    table.push_back({end, o.symbol.size(), 0, o.bytes.size()});
    end += o.symbol.size();
  }
  for (PackEntry &e : table) {
    e.bytes_offset = (end + 15) & ~uint64_t(15);
    end = e.bytes_offset + e.bytes_size;
  }
  Blob blob = host.blob(end);
  char *data = blob.data();
  std::memset(data, 0, size_t(end));
  const PackHeader header{pack_magic, uint32_t(objects.size()), end};
  std::memcpy(data, &header, sizeof header);
  if (!table.empty()) std::memcpy(data + sizeof header, table.data(), table.size() * sizeof(PackEntry));
  for (size_t i = 0; i < objects.size(); i++) {
    if (!objects[i].symbol.empty()) std::memcpy(data + table[i].symbol_offset, objects[i].symbol.data(), objects[i].symbol.size());
    if (!objects[i].bytes.empty()) std::memcpy(data + table[i].bytes_offset, objects[i].bytes.data(), objects[i].bytes.size());
  }
  return blob;
}

// Views into `artifact`. Throws Failure{QDB_E_ARTIFACT} on bytes that pack_objects did not write.
inline std::vector<PackedObject> unpack_objects(std::string_view artifact) {
  const auto damaged = [](const char *what) -> Failure {
    return Failure(QDB_E_ARTIFACT, std::string("damaged artifact: ") + what);
  };
  PackHeader header;
  if (artifact.size() < sizeof header) throw damaged("shorter than its header");
  std::memcpy(&header, artifact.data(), sizeof header);
  if (header.magic != pack_magic) throw damaged("wrong magic number");
  if (header.size != artifact.size()) throw damaged("its size is not the one in its header");
  if (header.count > (artifact.size() - sizeof header) / sizeof(PackEntry)) throw damaged("its table does not fit");
  const auto part = [&](uint64_t offset, uint64_t size) {
    if (offset > artifact.size() || size > artifact.size() - offset) throw damaged("an object lies outside");
    return artifact.substr(size_t(offset), size_t(size));
  };
  std::vector<PackedObject> objects;
  for (uint32_t i = 0; i < header.count; i++) {
    PackEntry e;
    std::memcpy(&e, artifact.data() + sizeof header + i * sizeof e, sizeof e);
    if (e.bytes_offset % 16 != 0) throw damaged("an object is not aligned");
    objects.push_back({part(e.symbol_offset, e.symbol_size), part(e.bytes_offset, e.bytes_size)});
  }
  return objects;
}

}  // namespace qd::plugin

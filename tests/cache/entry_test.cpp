// The entry format: what is written reads back, and no damaged, shortened, lengthened or foreign file is taken for a
// value.
#include "cache/entry.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "folder.hpp"

namespace qd::cache {
namespace {

const Key key = key_of("key");
const std::vector<Component> parts = {{"task", digest_of("t")}, {"target", digest_of("g")}};

std::string encode(std::string_view payload) { return encode_entry(key, payload, digest_of(payload), parts, "1.0"); }

TEST(Entry, RoundTrip) {
  for (size_t size : {size_t(0), size_t(1), size_t(255), size_t(256), size_t(4096), size_t(300000)})
    for (bool repetitive : {false, true}) {
      std::string payload = payload_of(size, repetitive), file = encode(payload);
      auto e = decode_entry(file, key);
      ASSERT_TRUE(e) << size;
      EXPECT_EQ(e->payload->view(), payload);
      EXPECT_EQ(e->info.payload_digest, digest_of(payload));
      EXPECT_EQ(e->info.payload_size, size);
      EXPECT_EQ(e->info.components, parts);
      EXPECT_EQ(entry_version(file), "1.0");
      EXPECT_EQ(reinterpret_cast<uintptr_t>(e->payload->data()) % 64, 0u);
      for (int i = 0; i < 16; ++i) EXPECT_EQ(e->payload->data()[size + i], 0);
    }
}

TEST(Entry, CompressesWhereItHelps) {
  EXPECT_LT(encode(payload_of(100000, true)).size(), 2000u);
  EXPECT_LT(encode(payload_of(100000, false)).size(), 100000u + 600);
}

TEST(Entry, EveryFlippedBitIsSeen) {
  for (bool repetitive : {false, true}) {
    std::string file = encode(payload_of(300, repetitive));
    for (size_t i = 0; i < file.size(); ++i)
      for (int bit = 0; bit < 8; ++bit) {
        std::string bad = file;
        bad[i] = char(bad[i] ^ (1 << bit));
        ASSERT_FALSE(decode_entry(bad, key)) << "byte " << i << " bit " << bit;
      }
  }
}

TEST(Entry, EveryTruncationIsSeen) {
  std::string file = encode(payload_of(300));
  for (size_t n = 0; n < file.size(); ++n) ASSERT_FALSE(decode_entry(file.substr(0, n), key)) << n;
  EXPECT_FALSE(decode_entry(file + '\0', key));
}

TEST(Entry, HeaderAloneIsChecked) {
  std::string file = encode(payload_of(3000));
  size_t header = entry_fixed_bytes + 2 * component_bytes + 8;
  auto info = decode_header(file.substr(0, header), file.size(), key);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->components, parts);
  EXPECT_FALSE(decode_header(file.substr(0, header - 1), file.size(), key));
  EXPECT_FALSE(decode_header(file.substr(0, header), file.size() - 1, key));
  for (size_t i = 0; i < header; ++i) {
    std::string bad = file.substr(0, header);
    bad[i] = char(bad[i] ^ 0x10);
    ASSERT_FALSE(decode_header(bad, file.size(), key)) << i;
  }
}

TEST(Entry, ForeignKeyTierAndArchAreMisses) {
  std::string file = encode("abc");
  EXPECT_FALSE(decode_entry(file, key_of("other")));
  EXPECT_FALSE(decode_entry(file, key_of("key", "ptx")));
  Key other = key;
  other.arch = "cuda";
  EXPECT_FALSE(decode_entry(file, other));
}

TEST(Entry, WhatDoesNotFitIsNotWritten) {
  Digest d = digest_of("");
  for (const std::string &bad : std::vector<std::string>{"", "A", "a/b", "..", "a.b", "a-b", std::string(32, 'a')}) {
    EXPECT_TRUE(encode_entry({bad, "cpu", d}, "x", d, {}, "").empty()) << bad;
    EXPECT_TRUE(encode_entry({"elf", bad, d}, "x", d, {}, "").empty()) << bad;
  }
  EXPECT_TRUE(encode_entry(key, "x", d, {{std::string(32, 'n'), d}}, "").empty());
  EXPECT_TRUE(encode_entry(key, "x", d, std::vector<Component>(max_components + 1), "").empty());
}

}  // namespace
}  // namespace qd::cache

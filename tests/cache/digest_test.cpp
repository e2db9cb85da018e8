// Digests: the published BLAKE2b vectors, and that a list of parts can be read in one way only.
#include "cache/digest.hpp"

#include <gtest/gtest.h>

#include <set>

namespace qd::cache {

TEST(Digest, IsBlake2b256) {
  // From RFC 7693's reference implementation for 32-byte output.
  EXPECT_EQ(digest_of("").hex(), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(digest_of("abc").hex(), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(Digest, HexReadsBack) {
  Digest d = digest_of("x");
  EXPECT_EQ(Digest::from_hex(d.hex()), d);
  EXPECT_FALSE(Digest::from_hex(d.hex().substr(1)));
  EXPECT_FALSE(Digest::from_hex(std::string(63, '0') + "G"));
  EXPECT_FALSE(Digest::from_hex(std::string(63, '0') + "A"));
  EXPECT_FALSE(Digest::from_hex(""));
}

TEST(Hasher, PartsCannotBeShifted) {
  std::set<std::string> seen;
  seen.insert(Hasher().finish().hex());
  seen.insert(Hasher().update("ab", "c").finish().hex());
  seen.insert(Hasher().update("a", "bc").finish().hex());
  seen.insert(Hasher().update("", "abc").finish().hex());
  seen.insert(Hasher().update("abc", "").finish().hex());
  seen.insert(Hasher().update("a", "").update("bc", "").finish().hex());
  seen.insert(Hasher().update("a", "b").update("c", "").finish().hex());
  seen.insert(Hasher().update("c", "").update("a", "b").finish().hex());
  seen.insert(Hasher().update("a", uint64_t(1)).finish().hex());
  seen.insert(Hasher().update("a", uint64_t(256)).finish().hex());
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Hasher, IncrementalEqualsItself) {
  auto once = [] { return Hasher().update("ir", std::string(100000, 'x')).update("n", uint64_t(7)).finish(); };
  EXPECT_EQ(once(), once());
}

}  // namespace qd::cache

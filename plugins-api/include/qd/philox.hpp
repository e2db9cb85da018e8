// philox.hpp: Philox4x32-10 and the conversion of its words to draws, exactly as wire.h says, for interpreters and CPU code. Code
// generators for other targets emit the same steps; tests compare against this file.
#pragma once
#include <cstdint>

namespace qd {

struct PhiloxBlock {
  uint32_t word[4];
};

inline PhiloxBlock philox4x32(uint64_t key, PhiloxBlock counter) {
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  uint32_t *c = counter.word;
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const uint64_t p = uint64_t(0xD2511F53u) * c[0], q = uint64_t(0xCD9E8D57u) * c[2];
    const uint32_t next[4] = {uint32_t(q >> 32) ^ c[1] ^ k0, uint32_t(q), uint32_t(p >> 32) ^ c[3] ^ k1, uint32_t(p)};
    for (int i = 0; i < 4; i++) c[i] = next[i];
  }
  return counter;
}

// The 64 bits that draws are made of; a 32-bit draw uses the low half.
inline uint64_t philox_draw(uint64_t key, uint32_t ordinal, int64_t iteration, uint32_t draw) {
  const uint64_t at = uint64_t(iteration);
  const PhiloxBlock out = philox4x32(key, {{ordinal, uint32_t(at), uint32_t(at >> 32), draw}});
  return out.word[0] | uint64_t(out.word[1]) << 32;
}

inline float draw_f32(uint64_t w) { return float(uint32_t(w) >> 8) * 0x1p-24f; }
inline double draw_f64(uint64_t w) { return double(w >> 11) * 0x1p-53; }
inline float draw_f16(uint64_t w) { return float(uint32_t(w) >> 21) * 0x1p-11f; }  // exact in binary16

}  // namespace qd

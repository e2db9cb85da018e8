// nonce.cpp: see nonce.hpp.
#include "backends/cuda/nonce.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>

namespace qd::cuda {

std::string make_nonce_line() {
  std::random_device source;  // throws when the system has none: then there is nothing to tell processes apart by
  const uint64_t random = uint64_t(source()) << 32 | source();
  const auto clock = uint64_t(std::chrono::system_clock::now().time_since_epoch().count());
  char text[64];
  std::snprintf(text, sizeof text, "// quadrants-nonce %016llx%016llx\n", static_cast<unsigned long long>(clock),
                static_cast<unsigned long long>(random));
  return text;
}

const std::string &nonce_line() {
  static const std::string line = make_nonce_line();
  return line;
}

}  // namespace qd::cuda

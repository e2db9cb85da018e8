// meaning_test.cpp: canonical() keeps the meaning. Random programs run on a plugin as written, in another spelling, and
// in canonical form; memory and reports must come out alike. `ir_meaning_test PLUGIN.so`
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/ir/execute.hpp"
#include "tests/ir/random_program.hpp"
#include "tests/ir/values.hpp"

namespace qd::ir::testing {
namespace {

Memory initial(std::mt19937 &rng) {
  Memory m;
  for (int k = 0; k < 3; ++k) {
    Array a{Type::f32, {8}, {}};
    for (int i = 0; i < 8; ++i) {
      const float v = float(rng() % 64) / 8 - 3;
      a.bytes.append(reinterpret_cast<const char *>(&v), sizeof v);
    }
    m.arrays["p" + std::to_string(k)] = a;
  }
  // Parameters of no use have no name; the IR's printer calls them by number, and any memory will do.
  m.arrays[""] = m.arrays["p0"];
  for (const int k : {3, 4}) m.scalars["p" + std::to_string(k)] = std::bit_cast<uint32_t>(float(k) - 2.5f);
  for (const int k : {5, 6}) m.scalars["p" + std::to_string(k)] = uint64_t(k) - 1;
  return m;
}

// A failure's text, or nothing.
std::string differ(const Memory &a, const Memory &b) {
  for (const auto &[name, array] : a.arrays)
    for (size_t at = 0; at < array.bytes.size(); at += 4) {
      uint32_t x = 0, y = 0;
      std::memcpy(&x, array.bytes.data() + at, 4);
      std::memcpy(&y, b.arrays.at(name).bytes.data() + at, 4);
      if (!agrees(Type::f32, y, x, 0))
        return "$" + name + "[" + std::to_string(at / 4) + "]: " + show_value(Type::f32, x) + " and " +
               show_value(Type::f32, y);
    }
  return "";
}

std::string one(Executor &on, uint32_t seed) {
  std::mt19937 rng{seed};
  const Program p = random_program(rng, 6 + int(seed % 30));
  const Unit first = spell(p, rng), second = spell(p, rng), canon = canonical(first);
  const Memory before = initial(rng);
  Memory m[3] = {before, before, before};
  size_t reports[3];
  const Unit *units[] = {&first, &second, &canon};
  for (int k = 0; k < 3; ++k) reports[k] = on.run({*units[k]}, m[k]).reports.size();
  for (int k = 1; k < 3; ++k) {
    std::string why = differ(m[0], m[k]);
    if (why.empty() && reports[0] != reports[k])
      why = std::to_string(reports[0]) + " and " + std::to_string(reports[k]) + " reports";
    if (!why.empty())
      return "seed " + std::to_string(seed) + ": " + why + "\n" + print(first) + "\n" + print(*units[k]);
  }
  return "";
}

}  // namespace
}  // namespace qd::ir::testing

int main(int argc, char **argv) {
  if (argc != 2) return std::fprintf(stderr, "expected the path of a plugin\n"), 2;
  qd::ir::testing::Executor on(argv[1]);
  int failed = 0;
  for (uint32_t seed = 0; seed < 300; ++seed)
    if (const std::string why = qd::ir::testing::one(on, seed); !why.empty())
      ++failed, std::printf("%s\n", why.c_str());
  std::printf("300 programs, %d failed\n", failed);
  return failed != 0;
}

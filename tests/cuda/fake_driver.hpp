// fake_driver.hpp: what a test asks of the stand-in for the driver: dlopen it and call `fake_driver`.
#pragma once
#include <cstddef>
#include <cstdint>

inline constexpr uint64_t fake_words = 16;

struct FakeLaunch {
  char name[64];
  unsigned grid, block, shared;
  int64_t begin, end, check;
  uint64_t scratch;  // whatever stands there where the task has none
  uint64_t stream;
  uint64_t after;  // bit k: of a graph, node k must be done before
  bool early;                  // begins before what is in front of it has ended
  uint64_t words[fake_words];  // of the argument block, as many as the test asked for
};

struct FakeDriver {
  int (*count)(const char *name);                       // calls of a function since reset()
  const char *(*calls)();                               // one line a call
  void (*reset)();                                      // forgets calls, launches and ordered failures
  void (*fail)(const char *name, int after, int code);  // the call after that many good ones; "": of any function
  void (*be)(int sm, int version, int devices);
  void (*record_words)(uint64_t n);
  size_t (*launches)();
  const FakeLaunch *(*launch)(size_t k);
  uint64_t (*live)();  // allocations of device memory
  const char *(*last_ptx)();
  bool (*armed)();                    // an ordered failure has not happened yet
  void (*lose)(int after, int code);  // every call after that many good ones; until reset()
};

using FakeDriverFn = FakeDriver *(*)();

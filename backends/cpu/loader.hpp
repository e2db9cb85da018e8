// loader.hpp: puts the objects of an artifact into executable memory. Only what our own code generator makes is
// accepted: x86-64 ET_REL files with code and read-only data, a handful of relocation types and the outside symbols of
// outside.cpp. Anything else, and any offset that does not fit, is an error and thereby a recompile. All objects share
// one mapping.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace qd::cpu {

class Image {
 public:
  // Null with `error` filled when an object is not acceptable. The bytes may be released afterwards.
  static std::unique_ptr<Image> load(std::span<const std::string_view> objects, std::string &error);
  ~Image();
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;

  // A symbol with at least `room` bytes behind it inside its section, or null.
  const void *symbol(std::string_view name, size_t room = 1) const;
  size_t size() const { return size_; }

 private:
  Image() = default;
  struct Symbol {
    const char *address;
    size_t room;
  };
  char *base_ = nullptr;
  size_t size_ = 0;
  std::unordered_map<std::string, Symbol> symbols_;
};

// Address of a function that generated code may call, or null when the name is not on the closed list (outside.cpp).
void *outside_symbol(std::string_view name);

// Newest generation of glibc's vector math found here: 0 none, 1 sin cos exp log pow, 2 all that we use.
uint32_t vector_math_level();

}  // namespace qd::cpu

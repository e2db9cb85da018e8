// rename.cpp: a function of a cubin under another name. A cubin is an ELF file; the function's name stands in its
// symbol table and behind the names of the sections that belong to it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cuda/names.hpp"

namespace qd::cuda {
namespace {

// What we need of ELF64: the file of a cubin.
struct Header {
  unsigned char ident[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, programs, sections;
  uint32_t flags;
  uint16_t size, program_size, n_programs, section_size, n_sections, names;
};
struct Section {
  uint32_t name, type;
  uint64_t flags, address, offset, size;
  uint32_t link, info;
  uint64_t alignment, entry_size;
};
struct Symbol {
  uint32_t name;
  unsigned char info, other;
  uint16_t section;
  uint64_t value, size;
};
constexpr uint32_t section_strings = 3, section_symbols = 2;

class Renamer {
 public:
  Renamer(std::string file, std::string_view from, std::string_view to)
      : file_(std::move(file)), from_(from), to_(to) {}

  // Names that are the symbol or end with it behind a dot (".text.SYMBOL") become the new one. Strings are only added:
  // at the end of the file, behind a copy of the table that they belong to.
  bool run() {
    Header h;
    if (!get(0, h) || std::memcmp(h.ident, "\177ELF\2", 5) != 0 || h.section_size != sizeof(Section)) return false;
    sections_.resize(h.n_sections);
    for (size_t k = 0; k < sections_.size(); k++)
      if (!get(h.sections + k * sizeof(Section), sections_[k])) return false;
    tables_.resize(sections_.size());
    for (size_t k = 0; k < sections_.size(); k++) {
      const uint64_t at = h.sections + k * sizeof(Section);
      if (!rename(h.names, at)) return false;
      if (sections_[k].type != section_symbols) continue;
      for (uint64_t s = 0; s + sizeof(Symbol) <= sections_[k].size; s += sizeof(Symbol))
        if (!rename(sections_[k].link, sections_[k].offset + s)) return false;
    }
    for (size_t k = 0; k < tables_.size(); k++) {
      if (tables_[k].empty()) continue;
      const uint64_t offset = file_.size(), size = tables_[k].size();
      file_ += tables_[k];
      put(h.sections + k * sizeof(Section) + offsetof(Section, offset), offset);
      put(h.sections + k * sizeof(Section) + offsetof(Section, size), size);
    }
    return renamed_;
  }
  std::string take() { return std::move(file_); }

 private:
  template <class T>
  bool get(uint64_t at, T &out) const {
    if (at > file_.size() || file_.size() - at < sizeof out) return false;
    std::memcpy(&out, file_.data() + at, sizeof out);
    return true;
  }
  template <class T>
  void put(uint64_t at, const T &value) {
    std::memcpy(file_.data() + at, &value, sizeof value);
  }

  // The name that begins the structure at `at`, of table `table`.
  bool rename(uint32_t table, uint64_t at) {
    uint32_t offset = 0;
    if (table >= sections_.size() || sections_[table].type != section_strings || !get(at, offset)) return false;
    const Section &s = sections_[table];
    if (s.offset > file_.size() || s.size > file_.size() - s.offset || offset >= s.size) return false;
    const std::string_view strings(file_.data() + s.offset, s.size);
    std::string_view name = strings.substr(offset);
    name = name.substr(0, name.find('\0'));
    if (!name.ends_with(from_) || (name.size() > from_.size() && name[name.size() - from_.size() - 1] != '.'))
      return true;
    std::string other(name.substr(0, name.size() - from_.size()));
    other += to_;
    std::string &strings_now = tables_[table];
    if (strings_now.empty()) strings_now = strings;
    put(at, uint32_t(strings_now.size()));
    strings_now += other, strings_now += '\0';
    return renamed_ = true;
  }

  std::string file_;
  const std::string from_, to_;
  std::vector<Section> sections_;
  std::vector<std::string> tables_;  // string tables with what was added; empty: as it was
  bool renamed_ = false;
};

}  // namespace

std::string renamed(std::string_view cubin, std::string_view from, std::string_view to) {
  Renamer r(std::string(cubin), from, to);
  return r.run() ? r.take() : std::string();
}

}  // namespace qd::cuda

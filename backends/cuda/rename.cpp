// rename.cpp: a function of a cubin under another name. A cubin is an ELF file; the function's name stands in its
// symbol table and behind the names of the sections that belong to it.
#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cuda/names.hpp"

namespace qd::cuda {
namespace {

class Renamer {
 public:
  Renamer(std::string file, std::string_view from, std::string_view to)
      : file_(std::move(file)), from_(from), to_(to) {}

  // Names that are the symbol or end with it behind a dot (".text.SYMBOL") become the new one. Strings are only added:
  // at the end of the file, behind a copy of the table that they belong to.
  bool run() {
    Elf64_Ehdr h;
    if (!get(0, h) || std::memcmp(h.e_ident, "\177ELF\2", 5) != 0 || h.e_shentsize != sizeof(Elf64_Shdr)) return false;
    sections_.resize(h.e_shnum);
    for (size_t k = 0; k < sections_.size(); k++)
      if (!get(h.e_shoff + k * sizeof(Elf64_Shdr), sections_[k])) return false;
    tables_.resize(sections_.size());
    for (size_t k = 0; k < sections_.size(); k++) {
      const uint64_t at = h.e_shoff + k * sizeof(Elf64_Shdr);
      if (!rename(h.e_shstrndx, at)) return false;
      if (sections_[k].sh_type != SHT_SYMTAB) continue;
      for (uint64_t s = 0; s + sizeof(Elf64_Sym) <= sections_[k].sh_size; s += sizeof(Elf64_Sym))
        if (!rename(sections_[k].sh_link, sections_[k].sh_offset + s)) return false;
    }
    for (size_t k = 0; k < tables_.size(); k++) {
      if (tables_[k].empty()) continue;
      const uint64_t offset = file_.size(), size = tables_[k].size();
      file_ += tables_[k];
      put(h.e_shoff + k * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_offset), offset);
      put(h.e_shoff + k * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), size);
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
    if (table >= sections_.size() || sections_[table].sh_type != SHT_STRTAB || !get(at, offset)) return false;
    const Elf64_Shdr &s = sections_[table];
    if (s.sh_offset > file_.size() || s.sh_size > file_.size() - s.sh_offset || offset >= s.sh_size) return false;
    const std::string_view strings(file_.data() + s.sh_offset, s.sh_size);
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
  std::vector<Elf64_Shdr> sections_;
  std::vector<std::string> tables_;  // string tables with what was added; empty: as it was
  bool renamed_ = false;
};

}  // namespace

std::string renamed(std::string_view cubin, std::string_view from, std::string_view to) {
  Renamer r(std::string(cubin), from, to);
  return r.run() ? r.take() : std::string();
}

}  // namespace qd::cuda

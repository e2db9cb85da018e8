// loader.cpp: see loader.hpp. Three passes over each object: check and measure, copy and bind symbols, relocate.
// Nothing is read before its range was checked, because a damaged cache file must end in a recompile and never in a
// crash.
#include "backends/cpu/loader.hpp"

#include <elf.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <vector>

namespace qd::cpu {
namespace {

constexpr size_t page = 4096, slot_bytes = 16, max_section = 1u << 26, max_image = 1u << 30;
constexpr uint64_t refused_flags = SHF_WRITE | SHF_TLS | SHF_COMPRESSED;

size_t aligned(size_t n, size_t a) { return (n + a - 1) & ~(a - 1); }

// Objects come from a packed blob at any alignment, so records are copied out.
template <class T>
T record(std::string_view bytes, size_t at) {
  T r;
  std::memcpy(&r, bytes.data() + at, sizeof r);
  return r;
}

struct Section {
  Elf64_Shdr head;
  size_t place = SIZE_MAX;  // in the image; SIZE_MAX when not loaded
};

struct Object {
  std::string_view bytes;
  std::vector<Section> sections;
  size_t symtab = 0, n_symbols = 0;
  std::string_view strings;
  std::vector<char *> address;  // of each symbol; null when it has none
  std::vector<size_t> slot;     // of each outside symbol; SIZE_MAX otherwise

  Elf64_Sym symbol(size_t i) const {
    return record<Elf64_Sym>(bytes, sections[symtab].head.sh_offset + i * sizeof(Elf64_Sym));
  }
  const char *name(const Elf64_Sym &s) const { return strings.data() + s.st_name; }
};

struct Loading {
  std::vector<Object> objects;
  std::string error;
  std::unordered_map<std::string, size_t> slots;  // outside symbol -> number of its slot
  std::vector<void *> slot_target;
  size_t slots_at = 0, code_end = 0, end = 0;
  char *base = nullptr;

  bool fail(std::string why) {
    error = "not an object of this code generator: " + std::move(why);
    return false;
  }
};

bool loaded(const Elf64_Shdr &h) { return (h.sh_flags & SHF_ALLOC) && h.sh_type != SHT_X86_64_UNWIND; }

bool read_sections(Loading &l, Object &o) {
  if (o.bytes.size() < sizeof(Elf64_Ehdr)) return l.fail("shorter than an ELF header");
  const auto eh = record<Elf64_Ehdr>(o.bytes, 0);
  if (std::memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
      eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_type != ET_REL || eh.e_machine != EM_X86_64 ||
      eh.e_shentsize != sizeof(Elf64_Shdr))
    return l.fail("no x86-64 ELF object");
  if (eh.e_shoff > o.bytes.size() || eh.e_shnum * sizeof(Elf64_Shdr) > o.bytes.size() - eh.e_shoff)
    return l.fail("section table out of range");
  o.sections.resize(eh.e_shnum);
  for (size_t i = 0; i < eh.e_shnum; ++i) {
    auto &h = o.sections[i].head;
    h = record<Elf64_Shdr>(o.bytes, eh.e_shoff + i * sizeof(Elf64_Shdr));
    if (h.sh_size > max_section || h.sh_addralign > page || (h.sh_addralign & (h.sh_addralign - 1)))
      return l.fail("section too large");
    if (h.sh_type != SHT_NULL && h.sh_type != SHT_NOBITS &&
        (h.sh_offset > o.bytes.size() || h.sh_size > o.bytes.size() - h.sh_offset))
      return l.fail("section out of range");
    if (loaded(h) && h.sh_size && (h.sh_type != SHT_PROGBITS || (h.sh_flags & refused_flags)))
      return l.fail("section of an unexpected kind");
    if (h.sh_type == SHT_SYMTAB) o.symtab = i;
    if (h.sh_type == SHT_REL) return l.fail("relocations without addends");
  }
  return true;
}

bool read_symbols(Loading &l, Object &o) {
  if (!o.symtab || o.sections[o.symtab].head.sh_link >= o.sections.size()) return l.fail("no symbol table");
  const auto &strs = o.sections[o.sections[o.symtab].head.sh_link].head;
  if (strs.sh_type != SHT_STRTAB || !strs.sh_size || o.bytes[strs.sh_offset + strs.sh_size - 1])
    return l.fail("damaged string table");
  o.strings = o.bytes.substr(strs.sh_offset, strs.sh_size);
  o.n_symbols = o.sections[o.symtab].head.sh_size / sizeof(Elf64_Sym);
  o.address.assign(o.n_symbols, nullptr);
  o.slot.assign(o.n_symbols, SIZE_MAX);
  for (size_t i = 1; i < o.n_symbols; ++i) {
    const auto s = o.symbol(i);
    if (s.st_name >= o.strings.size()) return l.fail("symbol name out of range");
    if (s.st_shndx != SHN_UNDEF || !*o.name(s)) continue;
    if (!std::strcmp(o.name(s), "_GLOBAL_OFFSET_TABLE_")) continue;
    auto [it, is_new] = l.slots.try_emplace(o.name(s), l.slot_target.size());
    if (is_new) {
      void *target = outside_symbol(o.name(s));
      if (!target) return l.fail("it refers to " + std::string(o.name(s)) + ", which is not on the list");
      l.slot_target.push_back(target);
    }
    o.slot[i] = it->second;
  }
  return true;
}

// Layout: [code of all objects | slots] page [read-only data of all objects].
void place_sections(Loading &l) {
  size_t at = 0;
  auto place = [&](bool code) {
    for (auto &o : l.objects)
      for (auto &s : o.sections) {
        if (!loaded(s.head) || bool(s.head.sh_flags & SHF_EXECINSTR) != code) continue;
        s.place = at = aligned(at, std::max<size_t>(s.head.sh_addralign, 1));
        at += s.head.sh_size;
      }
  };
  place(true);
  l.slots_at = aligned(at, slot_bytes);
  at = l.code_end = aligned(l.slots_at + slot_bytes * l.slot_target.size(), page);
  place(false);
  l.end = std::max(aligned(at, page), page);
}

bool copy_and_bind(Loading &l) {
  for (size_t i = 0; i < l.slot_target.size();
       ++i) {  // an address (a GOT entry), then `jmp *slot(%rip)` within reach of a call
    char *slot = l.base + l.slots_at + slot_bytes * i;
    std::memcpy(slot, &l.slot_target[i], 8);
    std::memcpy(slot + 8, "\xff\x25\xf2\xff\xff\xff", 6);  // -14: from the end of the jump back to the slot
  }
  for (auto &o : l.objects) {
    for (auto &s : o.sections)
      if (s.place != SIZE_MAX && s.head.sh_size)
        std::memcpy(l.base + s.place, o.bytes.data() + s.head.sh_offset, s.head.sh_size);
    for (size_t i = 1; i < o.n_symbols; ++i) {
      const auto s = o.symbol(i);
      if (s.st_shndx == SHN_UNDEF || s.st_shndx >= o.sections.size() || o.sections[s.st_shndx].place == SIZE_MAX)
        continue;
      if (s.st_value > o.sections[s.st_shndx].head.sh_size) return l.fail("symbol value out of range");
      o.address[i] = l.base + o.sections[s.st_shndx].place + s.st_value;
    }
  }
  return true;
}

bool relocate_one(Loading &l, Object &o, const Section &into, const Elf64_Rela &r) {
  const size_t sym = ELF64_R_SYM(r.r_info);
  if (into.head.sh_size < 4 || r.r_offset > into.head.sh_size - 4) return l.fail("relocation out of range");
  if (sym >= o.n_symbols || (!o.address[sym] && o.slot[sym] == SIZE_MAX)) return l.fail("relocation against nothing");
  char *slot = o.slot[sym] == SIZE_MAX ? nullptr : l.base + l.slots_at + slot_bytes * o.slot[sym];
  char *target = nullptr;
  switch (ELF64_R_TYPE(r.r_info)) {
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: target = slot; break;
    case R_X86_64_PLT32:
    case R_X86_64_PC32: target = slot ? slot + 8 : o.address[sym]; break;
    default: return l.fail("relocation type " + std::to_string(ELF64_R_TYPE(r.r_info)));
  }
  if (!target) return l.fail("a local symbol through the offset table");
  char *at = l.base + into.place + r.r_offset;
  const int64_t v = int64_t(uint64_t(target) + uint64_t(r.r_addend) - uint64_t(at));
  if (v != int32_t(v)) return l.fail("relocation out of reach");
  const int32_t w = int32_t(v);
  std::memcpy(at, &w, 4);
  return true;
}

bool relocate(Loading &l) {
  for (auto &o : l.objects)
    for (auto &s : o.sections) {
      if (s.head.sh_type != SHT_RELA) continue;
      if (s.head.sh_info >= o.sections.size()) return l.fail("relocations of no section");
      const auto &into = o.sections[s.head.sh_info];
      if (into.place == SIZE_MAX) continue;
      for (size_t at = 0; at + sizeof(Elf64_Rela) <= s.head.sh_size; at += sizeof(Elf64_Rela))
        if (!relocate_one(l, o, into, record<Elf64_Rela>(o.bytes, s.head.sh_offset + at))) return false;
    }
  return true;
}

}  // namespace

std::unique_ptr<Image> Image::load(std::span<const std::string_view> objects, std::string &error) {
  Loading l;
  auto failed = [&] {
    error = std::move(l.error);
    return nullptr;
  };
  l.objects.resize(objects.size());
  for (size_t i = 0; i < objects.size(); ++i) {
    l.objects[i].bytes = objects[i];
    if (!read_sections(l, l.objects[i]) || !read_symbols(l, l.objects[i])) return failed();
  }
  place_sections(l);
  if (l.end > max_image) return l.fail("its sections add up to too much"), failed();  // many may share the same bytes
  void *base = mmap(nullptr, l.end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return l.fail("no memory for its code"), failed();
  std::unique_ptr<Image> image(new Image);
  image->base_ = l.base = static_cast<char *>(base);
  image->size_ = l.end;
  if (!copy_and_bind(l) || !relocate(l)) return failed();
  for (auto &o : l.objects)
    for (size_t i = 1; i < o.n_symbols; ++i) {
      const auto s = o.symbol(i);
      if (!o.address[i] || ELF64_ST_BIND(s.st_info) == STB_LOCAL) continue;
      image->symbols_.try_emplace(o.name(s), Symbol{o.address[i], o.sections[s.st_shndx].head.sh_size - s.st_value});
    }
  if ((l.code_end && mprotect(base, l.code_end, PROT_READ | PROT_EXEC)) ||
      (l.end > l.code_end && mprotect(l.base + l.code_end, l.end - l.code_end, PROT_READ)))
    return l.fail("the system refuses executable memory"), failed();
  return image;
}

Image::~Image() {
  if (base_) munmap(base_, size_);
}

const void *Image::symbol(std::string_view name, size_t room) const {
  const auto it = symbols_.find(std::string(name));
  return it == symbols_.end() || it->second.room < room ? nullptr : it->second.address;
}

}  // namespace qd::cpu

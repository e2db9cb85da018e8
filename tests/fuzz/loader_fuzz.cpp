// loader_fuzz.cpp: edits of a small object file, and whole files, into the loader of the cpu backend. What loads is not run. The
// object is put together here, as the code generator's look, so that the fuzzer needs no LLVM.
#include <elf.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/loader.hpp"

namespace {

template <class T>
void put(std::string &s, const T &v) {
  s.append(reinterpret_cast<const char *>(&v), sizeof v);
}

// .text with a call of sinf and a reference to .rodata, their relocations, symbols and names.
std::string object() {
  const std::string text(64, '\x90'), rodata(32, '\1');
  static const char all_names[] = "\0.text\0.rodata\0.rela.text\0.symtab\0.strtab\0task0\0sinf";
  const std::string names(all_names, sizeof all_names);
  const auto name = [&](const char *n) { return uint32_t(names.find(std::string("\0", 1) + n + '\0') + 1); };
  std::string symbols, relocations;
  put(symbols, Elf64_Sym{});
  put(symbols, Elf64_Sym{0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION), 0, 2, 0, 0});
  put(symbols, Elf64_Sym{name("task0"), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0, 64});
  put(symbols, Elf64_Sym{name("sinf"), ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, 0, 0, 0});
  put(relocations, Elf64_Rela{8, ELF64_R_INFO(3, R_X86_64_PLT32), -4});
  put(relocations, Elf64_Rela{20, ELF64_R_INFO(1, R_X86_64_PC32), -4});
  std::string file(sizeof(Elf64_Ehdr), '\0');
  Elf64_Shdr sections[6] = {};
  const auto add = [&](int k, uint32_t type, uint64_t flags, const std::string &bytes, uint32_t link, uint32_t info,
                       uint64_t entry, const char *n) {
    file.resize((file.size() + 15) / 16 * 16);
    sections[k] = {name(n), type, flags, 0, file.size(), bytes.size(), link, info, 16, entry};
    file += bytes;
  };
  add(1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, 0, 0, 0, ".text");
  add(2, SHT_PROGBITS, SHF_ALLOC, rodata, 0, 0, 0, ".rodata");
  add(3, SHT_RELA, SHF_INFO_LINK, relocations, 4, 1, sizeof(Elf64_Rela), ".rela.text");
  add(4, SHT_SYMTAB, 0, symbols, 5, 2, sizeof(Elf64_Sym), ".symtab");
  add(5, SHT_STRTAB, 0, names, 0, 0, 0, ".strtab");
  file.resize((file.size() + 15) / 16 * 16);
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64, h.e_ident[EI_DATA] = ELFDATA2LSB, h.e_ident[EI_VERSION] = EV_CURRENT;
  h.e_type = ET_REL, h.e_machine = EM_X86_64, h.e_version = EV_CURRENT, h.e_ehsize = sizeof h;
  h.e_shoff = file.size(), h.e_shentsize = sizeof(Elf64_Shdr), h.e_shnum = 6, h.e_shstrndx = 5;
  std::memcpy(file.data(), &h, sizeof h);
  for (const auto &s : sections) put(file, s);
  return file;
}

}  // namespace

// In place of outside.cpp, whose half precision functions not every clang takes.
void *qd::cpu::outside_symbol(std::string_view name) {
  return name == "sinf" ? reinterpret_cast<void *>(&std::abort) : nullptr;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::string valid = [] {
    const std::string v = object();
    std::string error;
    const std::string_view one = v;
    if (!qd::cpu::Image::load(std::span(&one, 1), error)) {
      std::fprintf(stderr, "the fuzzer's own object does not load: %s\n", error.c_str());
      std::abort();
    }
    return v;
  }();
  if (!size) return 0;
  std::string file(reinterpret_cast<const char *>(data + 1), size - 1);
  if (data[0] & 1) {  // three bytes an edit: position, position, value
    file = valid;
    for (size_t i = 1; i + 3 <= size; i += 3) file[(size_t(data[i]) << 8 | data[i + 1]) % file.size()] = char(data[i + 2]);
  }
  std::string error;
  const std::string_view one = file;
  const auto image = qd::cpu::Image::load(std::span(&one, 1), error);
  if (bool(image) != error.empty()) std::abort();
  if (image) image->symbol("task0", 1 + data[0]);
  return 0;
}

// elf_check.cpp: is this file a whole shared object for this machine that exports qdb_negotiate? Answered by reading
// headers and the dynamic symbol table; every offset is compared with the file's length before it is used.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "core/plugin/load.hpp"

namespace qd::plugin {
namespace {

#if defined(__x86_64__)
constexpr uint16_t machine = EM_X86_64;
constexpr const char *machine_name = "x86-64";
#elif defined(__aarch64__)
constexpr uint16_t machine = EM_AARCH64;
constexpr const char *machine_name = "AArch64";
#else
#error "plugins are loaded on x86-64 and AArch64"
#endif

constexpr uint64_t largest_table = 64u << 20;  // of symbols or names: far above any real one

struct File {
  int fd = -1;
  uint64_t size = 0;
  ~File() {
    if (fd >= 0) ::close(fd);
  }
  bool has(uint64_t offset, uint64_t n) const { return offset <= size && n <= size - offset; }
  bool read(uint64_t offset, void *to, uint64_t n) const {
    return has(offset, n) && ::pread(fd, to, n, off_t(offset)) == ssize_t(n);
  }
  template <class T>
  bool read(uint64_t offset, std::vector<T> &to, uint64_t n) const {
    if (n > largest_table / sizeof(T) || !has(offset, n * sizeof(T))) return false;
    to.resize(n);
    return read(offset, to.data(), n * sizeof(T));
  }
};

Refusal truncated(const std::string &what) {
  return {"file", "the file is incomplete: " + what, "install the package that it belongs to again"};
}

Refusal foreign(const std::string &what) {
  return {"file", what, std::string("install the build for this machine (") + machine_name + ", 64-bit)"};
}

std::optional<Refusal> check_header(const File &f, Elf64_Ehdr &e) {
  size_t first = std::min<uint64_t>(f.size, SELFMAG);
  if (!f.read(0, e.e_ident, first) || std::memcmp(e.e_ident, ELFMAG, first))
    return Refusal{step_not_a_plugin, "not an ELF file", "give the path of a plugin, libqd_<arch>.so"};
  if (!f.read(0, &e, sizeof e))
    return truncated("it has " + std::to_string(f.size) + " bytes, less than an ELF header");
  if (e.e_ident[EI_CLASS] != ELFCLASS64) return foreign("a 32-bit file");
  if (e.e_ident[EI_DATA] != ELFDATA2LSB) return foreign("a big-endian file");
  if (e.e_machine != machine)
    return foreign("built for another machine (ELF machine " + std::to_string(e.e_machine) + ")");
  if (e.e_type != ET_DYN)
    return Refusal{step_not_a_plugin, "not a shared object", "give the path of a plugin, libqd_<arch>.so"};
  return {};
}

std::optional<Refusal> check_segments(const File &f, const Elf64_Ehdr &e) {
  std::vector<Elf64_Phdr> segments;
  if (e.e_phentsize != sizeof(Elf64_Phdr) || !f.read(e.e_phoff, segments, e.e_phnum))
    return truncated("its program headers lie beyond its end");
  for (const Elf64_Phdr &p : segments)
    if (p.p_type == PT_LOAD && !f.has(p.p_offset, p.p_filesz)) return truncated("a segment ends after the file does");
  return {};
}

std::optional<Refusal> check_sections(const File &f, const Elf64_Ehdr &e, std::vector<Elf64_Shdr> &sections) {
  if (!e.e_shnum || e.e_shentsize != sizeof(Elf64_Shdr) || !f.read(e.e_shoff, sections, e.e_shnum))
    return truncated("its section headers are missing or lie beyond its end");
  for (const Elf64_Shdr &s : sections)
    if (s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL && !f.has(s.sh_offset, s.sh_size))
      return truncated("a section ends after the file does");
  return {};
}

bool exports_entry(const File &f, const std::vector<Elf64_Shdr> &sections) {
  for (const Elf64_Shdr &s : sections) {
    if (s.sh_type != SHT_DYNSYM || s.sh_entsize != sizeof(Elf64_Sym) || s.sh_link >= sections.size()) continue;
    std::vector<Elf64_Sym> symbols;
    std::vector<char> names;
    const Elf64_Shdr &strings = sections[s.sh_link];
    if (!f.read(s.sh_offset, symbols, s.sh_size / sizeof(Elf64_Sym)) ||
        !f.read(strings.sh_offset, names, strings.sh_size))
      continue;
    constexpr std::string_view entry(QDB_ENTRY_SYMBOL, sizeof QDB_ENTRY_SYMBOL);  // with its NUL
    for (const Elf64_Sym &sym : symbols)
      if (sym.st_shndx != SHN_UNDEF && ELF64_ST_BIND(sym.st_info) != STB_LOCAL && sym.st_name < names.size() &&
          std::string_view(names.data() + sym.st_name, names.size() - sym.st_name).starts_with(entry))
        return true;
  }
  return false;
}

}  // namespace

std::optional<Refusal> check_file(const std::string &path) {
  if (path.empty() || path[0] != '/')
    return Refusal{"path", "the path is not absolute", "give the whole path, beginning with /"};
  File f{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat s {};
  if (f.fd < 0 || ::fstat(f.fd, &s)) {
    std::string why = std::generic_category().message(errno);
    return Refusal{"path", "can't be opened: " + why, "check the path and its permissions"};
  }
  if (!S_ISREG(s.st_mode)) return Refusal{"path", "not a regular file", "give the path of a plugin, libqd_<arch>.so"};
  f.size = uint64_t(s.st_size);
  Elf64_Ehdr e{};
  std::vector<Elf64_Shdr> sections;
  if (auto r = check_header(f, e)) return r;
  if (auto r = check_segments(f, e)) return r;
  if (auto r = check_sections(f, e, sections)) return r;
  if (!exports_entry(f, sections))
    return Refusal{step_not_a_plugin, "does not export " QDB_ENTRY_SYMBOL,
                   "not a Quadrants backend: take it off the list"};
  return {};
}

}  // namespace qd::plugin

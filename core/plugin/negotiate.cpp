// negotiate.cpp: first contact with a plugin, and the checks of its reply: nothing of it is used before it was looked
// at. Runs in the helper process for foreign plugins first, then here; the text is the same.
#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include <cstring>
#include <list>

#include "core/plugin/host.hpp"
#include "core/plugin/load.hpp"

namespace qd::plugin {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr uint32_t our_sanitizer = 1;
#elif defined(__SANITIZE_THREAD__)
constexpr uint32_t our_sanitizer = 3;
#else
constexpr uint32_t our_sanitizer = 0;
#endif

constexpr unsigned char guard_byte = 0xA5;

struct Answer {
  QdbReply reply{};
  unsigned char guard[64];
  Answer() {
    std::memset(guard, guard_byte, sizeof guard);
    reply.struct_size = sizeof reply;
  }
  bool overrun() const {
    for (unsigned char g : guard)
      if (g != guard_byte) return true;
    return false;
  }
};

template <size_t n>
std::string text(const char (&field)[n]) {
  return {field, strnlen(field, n)};
}

Refusal fault(std::string step, std::string reason) {
  return {std::move(step), std::move(reason), "report this to the plugin's authors, and remove it until it is fixed"};
}

const char *const upgrade = "install versions of quadrants and of the plugin that go together (pip install -U both)";

bool good_arch(const std::string &arch) {
  if (arch.empty() || arch.size() > 31 || arch[0] < 'a' || arch[0] > 'z') return false;
  for (char c : arch)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return true;
}

// The first required member that is NULL; extension and finish are optional.
const char *missing_member(const QdbBackend &t) {
#define QD_REQUIRE(member) \
  if (!t.member) return #member;
  QD_REQUIRE(instance_create)
  QD_REQUIRE(instance_destroy)
  QD_REQUIRE(instance_quiesce)
  QD_REQUIRE(caps)
  QD_REQUIRE(device_count)
  QD_REQUIRE(device_info)
  QD_REQUIRE(device_open)
  QD_REQUIRE(device_close)
  QD_REQUIRE(device_sync)
  QD_REQUIRE(target_of_device)
  QD_REQUIRE(compile)
  QD_REQUIRE(module_load)
  QD_REQUIRE(module_unload)
  QD_REQUIRE(module_entry)
  QD_REQUIRE(mem_alloc)
  QD_REQUIRE(mem_free)
  QD_REQUIRE(mem_info)
  QD_REQUIRE(stream_create)
  QD_REQUIRE(stream_destroy)
  QD_REQUIRE(stream_sync)
  QD_REQUIRE(copy)
  QD_REQUIRE(fill)
  QD_REQUIRE(launch)
#undef QD_REQUIRE
  return nullptr;
}

std::variant<Library, Refusal> read_reply(const std::string &path, QdbStatus status, const Answer &answer) {
  const QdbReply &r = answer.reply;
  if (answer.overrun()) return fault("reply", "the plugin wrote past the end of the reply");
  if (status != QDB_OK) {
    std::string reason = text(r.reason);
    return Refusal{"negotiate",
                   (reason.empty() ? meaning_of(status) : reason) + " [" + name_of(status) + "; this core speaks ABI " +
                       std::to_string(QDB_ABI_MAJOR) + "." + std::to_string(QDB_ABI_MINOR) + "]",
                   upgrade};
  }
  if (r.magic != QDB_MAGIC) return fault("reply", "the reply has a wrong magic number");
  std::string arch = text(r.arch);
  if (!good_arch(arch)) return fault("reply", "the arch name is not of the form [a-z][a-z0-9_]{0,30}");
  if (r.major != QDB_ABI_MAJOR)
    return Refusal{
        "reply",
        "the plugin chose ABI major " + std::to_string(r.major) + ", offered was " + std::to_string(QDB_ABI_MAJOR),
        upgrade};
  if (r.sanitizer != 0 && r.sanitizer != our_sanitizer)
    return Refusal{"reply", "the plugin was built with another sanitizer than the core", "use builds of one preset"};
  const auto *theirs = static_cast<const QdbBackend *>(r.backend);
  if (!theirs) return fault("table", "the reply has no table");
  if (theirs->struct_size < QDB_BACKEND_MINOR0_SIZE)
    return Refusal{"table",
                   "the table has " + std::to_string(theirs->struct_size) + " bytes, ABI 1.0 needs " +
                       std::to_string(QDB_BACKEND_MINOR0_SIZE),
                   upgrade};
  Library library;
  // Only what both sides know is copied: members behind the plugin's end stay NULL, and what is there is never read.
  std::memcpy(&library.table, theirs, std::min<size_t>(theirs->struct_size, sizeof library.table));
  library.table.struct_size = uint32_t(std::min<size_t>(theirs->struct_size, sizeof library.table));
  if (const char *member = missing_member(library.table))
    return fault("table", std::string("the required function ") + member + " is NULL");
  library.path = path;
  library.arch = std::move(arch);
  library.name = text(r.name);
  library.version = text(r.version);
  std::memcpy(library.build_id.bytes.data(), r.build_id, sizeof r.build_id);
  library.minor = std::min(r.minor, QDB_ABI_MINOR);
  return library;
}

}  // namespace

std::variant<Library, Refusal> negotiate(const std::string &path, uint32_t flags) {
  namespace dll = boost::dll;
  QdbNegotiateFn entry = nullptr;
  try {
    // Never unloaded: threads, exit handlers and tables of a plugin outlive any moment at which we could be sure.
    static auto *kept = new std::list<dll::shared_library>;
    dll::shared_library *library = &kept->emplace_back(path, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
    if (!library->has(QDB_ENTRY_SYMBOL))
      return Refusal{"symbol", "does not export " QDB_ENTRY_SYMBOL, "not a Quadrants backend: take it off the list"};
    entry = &library->get<std::remove_pointer_t<QdbNegotiateFn>>(QDB_ENTRY_SYMBOL);
  } catch (const std::exception &e) {
    return Refusal{"load", e.what(), "install what the message names, or the package again"};
  }
  QdbHello hello{QDB_MAGIC, sizeof hello, QDB_ABI_MAJOR, QDB_ABI_MAJOR, QDB_ABI_MINOR, flags, our_sanitizer,
                 0,         host_table,   nullptr};
  Answer answer;
  QdbStatus status = entry(&hello, &answer.reply);
  return read_reply(path, status, answer);
}

}  // namespace qd::plugin

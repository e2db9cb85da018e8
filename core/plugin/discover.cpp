// discover.cpp: where plugins are looked for, in order: an explicit path; beside the core; entry points of packages,
// for an arch that isn't beside the core; QD_BACKEND_PATH. The ones beside the core were installed with it and are
// loaded at once; all others meet the helper process first. A library is loaded once, and stays.
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "core/plugin/load.hpp"

namespace qd::plugin {
namespace {

enum class Trust { first_party, foreign };

struct Candidate {
  std::string path;
  const char *source;
  Trust trust = Trust::foreign;
  bool in_folder = false;  // found by listing a folder: what isn't a plugin is no news
};

using FileId = std::tuple<dev_t, ino_t, int64_t, int64_t, off_t>;
struct Registry {  // of this process
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Library>> loaded;       // by real path
  std::map<FileId, std::variant<std::string, Refusal>> probed;  // a hanging plugin costs its 3 s once
};

Registry &registry() {
  static Registry *r = new Registry;  // plugins outlive every destructor
  return *r;
}

bool is_file(const std::string &path) {
  struct stat s;
  return !::stat(path.c_str(), &s) && S_ISREG(s.st_mode);
}

std::vector<std::string> shared_objects(const std::string &folder) {
  std::vector<std::string> found;
  DIR *dir = ::opendir(folder.c_str());
  if (!dir) return found;
  while (dirent *e = ::readdir(dir))
    if (std::string_view(e->d_name).ends_with(".so")) found.push_back(folder + "/" + e->d_name);
  ::closedir(dir);
  std::sort(found.begin(), found.end());
  return found;
}

std::string beside(const ContextConfig &c, const std::string &arch) { return c.plugin_dir + "/libqd_" + arch + ".so"; }

void add_path_variable(std::vector<Candidate> &out) {
  const char *list = ::secure_getenv("QD_BACKEND_PATH");
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    size_t end = std::min(rest.find(':'), rest.size());
    std::string element(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    struct stat s;
    if (element.empty()) continue;
    if (element[0] == '/' && !::stat(element.c_str(), &s) && S_ISDIR(s.st_mode))
      for (std::string &path : shared_objects(element))
        out.push_back({std::move(path), "QD_BACKEND_PATH", Trust::foreign, true});
    else out.push_back({element, "QD_BACKEND_PATH"});
  }
}

// For one arch, or for all when `arch` is empty.
std::vector<Candidate> candidates(const ContextConfig &c, const std::string &arch) {
  std::vector<Candidate> out;
  if (!c.plugin_path.empty()) {
    out.push_back({c.plugin_path, "explicit"});
    if (!arch.empty()) return out;  // who names a file wants no other
  }
  auto is_beside = [&](const std::string &a) { return !c.plugin_dir.empty() && is_file(beside(c, a)); };
  if (arch.empty()) {
    if (!c.plugin_dir.empty())
      for (std::string &path : shared_objects(c.plugin_dir))
        out.push_back({std::move(path), "beside the core", Trust::first_party, true});
  } else if (is_beside(arch)) {
    out.push_back({beside(c, arch), "beside the core", Trust::first_party});
  }
  for (const auto &[name, path] : c.entry_points)
    if ((arch.empty() || name == arch) && !is_beside(name)) out.push_back({path, "entry point"});
  add_path_variable(out);
  return out;
}

std::string real_path(const std::string &path) {
  char *resolved = ::realpath(path.c_str(), nullptr);
  std::string real = resolved ? resolved : path;
  ::free(resolved);
  return real;
}

std::variant<std::string, Refusal> probed(const ContextConfig &c, const std::string &path) {
  Registry &r = registry();
  struct stat s {};
  ::stat(path.c_str(), &s);
  FileId id{s.st_dev, s.st_ino, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_size};
  if (auto it = r.probed.find(id); it != r.probed.end()) return it->second;
  return r.probed[id] = probe(c.plugin_dir + "/qd_probe", path);
}

// The library, or why not. With an arch, a candidate for another one gives a Refusal without a step: it is no news.
std::variant<const Library *, Refusal> open(const ContextConfig &c, const Candidate &candidate,
                                            const std::string &arch) {
  if (auto refusal = check_file(candidate.path)) {
    if (candidate.in_folder && refusal->step == step_not_a_plugin) return Refusal{};
    return std::move(*refusal);
  }
  Registry &r = registry();
  std::lock_guard lock(r.mutex);
  std::string path = real_path(candidate.path);
  auto known = r.loaded.find(path);
  if (known == r.loaded.end()) {
    if (candidate.trust == Trust::foreign) {
      auto verdict = probed(c, path);
      if (auto *refusal = std::get_if<Refusal>(&verdict)) return std::move(*refusal);
      if (!arch.empty() && std::get<std::string>(verdict) != arch && c.plugin_path.empty()) return Refusal{};
    }
    auto outcome = negotiate(path, 0);
    if (auto *refusal = std::get_if<Refusal>(&outcome)) return std::move(*refusal);
    known = r.loaded.emplace(path, std::make_unique<Library>(std::move(std::get<Library>(outcome)))).first;
  }
  const Library *library = known->second.get();
  if (arch.empty() || library->arch == arch) return library;
  return Refusal{"arch", "a plugin for arch '" + library->arch + "', asked for was '" + arch + "'",
                 "give the path of the right plugin"};
}

PluginReport report_of(const Candidate &c) {
  PluginReport r;
  r.path = c.path;
  r.source = c.source;
  return r;
}

void fill(PluginReport &r, Refusal refusal) {
  r.step = std::move(refusal.step);
  r.reason = std::move(refusal.reason);
  r.remedy = std::move(refusal.remedy);
}

// Drivers and devices: what only an instance knows.
void try_device(const ContextConfig &config, const Library &library, PluginReport &r) {
  try {
    std::vector<std::pair<std::string, std::string>> options(config.options.begin(), config.options.end());
    auto instance = Instance::create(library, std::make_shared<Services>(), options);
    r.usable = instance->device_count() > 0;
    if (!r.usable)
      fill(r, {"device", "the driver is there, but no device", "check that a device is installed and visible"});
  } catch (const Error &e) { fill(r, {"instance", e.what(), "install the vendor's driver, or use another arch"}); }
}

}  // namespace

const Library *load(const ContextConfig &config, const std::string &arch, std::vector<PluginReport> &chain) {
  size_t before = chain.size();
  for (const Candidate &c : candidates(config, arch)) {
    auto outcome = open(config, c, arch);
    if (auto *library = std::get_if<const Library *>(&outcome)) return *library;
    Refusal &refusal = std::get<Refusal>(outcome);
    if (refusal.step.empty()) continue;
    PluginReport r = report_of(c);
    r.arch = arch;
    fill(r, std::move(refusal));
    chain.push_back(std::move(r));
  }
  if (chain.size() == before) {
    PluginReport r;
    r.arch = arch;
    r.path = beside(config, arch);
    r.source = "beside the core";
    fill(r, {"search", "no plugin for arch '" + arch + "' is installed",
             "install the package of that backend, or name its file in QD_BACKEND_PATH"});
    chain.push_back(std::move(r));
  }
  return nullptr;
}

std::string describe(const std::vector<PluginReport> &chain) {
  std::string text;
  for (const PluginReport &r : chain) {
    if (!text.empty()) text += '\n';
    text += r.arch + ": " + r.path + " (" + r.source + "): " + r.step + ": " + r.reason;
    if (!r.remedy.empty()) text += "; " + r.remedy;
  }
  return text;
}

}  // namespace qd::plugin

namespace qd {

std::vector<PluginReport> survey_plugins(const ContextConfig &config) {
  using namespace plugin;
  std::vector<PluginReport> reports;
  std::map<std::string, std::string> provided;  // arch, path
  for (const Candidate &c : candidates(config, "")) {
    auto outcome = plugin::open(config, c, "");
    PluginReport r = report_of(c);
    if (auto *refusal = std::get_if<Refusal>(&outcome)) {
      if (refusal->step.empty()) continue;
      fill(r, std::move(*refusal));
      reports.push_back(std::move(r));
      continue;
    }
    const Library &library = *std::get<const Library *>(outcome);
    r.arch = library.arch;
    r.name = library.name;
    r.version = library.version;
    r.build_id = library.build_id.hex();
    r.abi = std::to_string(QDB_ABI_MAJOR) + "." + std::to_string(library.minor);
    auto [first, is_new] = provided.emplace(library.arch, c.path);
    if (!is_new && real_path(first->second) == real_path(c.path)) continue;
    if (is_new) try_device(config, library, r);
    else
      fill(r, {"shadowed", "arch '" + library.arch + "' comes from " + first->second + " already",
               "remove one of the two, or choose with an explicit path"});
    reports.push_back(std::move(r));
  }
  return reports;
}

}  // namespace qd

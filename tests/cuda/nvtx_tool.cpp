// nvtx_tool.cpp: a tool as NVTX loads it (NVTX_INJECTION64_PATH): notes ranges. With QD_TOOL_LOG it writes them to that
// file.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;
std::string &ranges() {
  static auto &text = *new std::string;
  return text;
}

void note(const std::string &what) {
  const std::lock_guard lock(mutex);
  ranges() += what;
  if (const char *path = std::getenv("QD_TOOL_LOG"))
    if (std::FILE *file = std::fopen(path, "a")) std::fputs((what + "\n").c_str(), file), std::fclose(file);
}

int NVTX_API push(const char *name) { return note(std::string("+") + name + " "), 0; }
int NVTX_API pop() { return note("- "), 0; }

}  // namespace

extern "C" __attribute__((visibility("default"))) const char *tool_ranges() { return ranges().c_str(); }

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const auto *callbacks = static_cast<const NvtxExportTableCallbacks *>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
  if (size <= NVTX_CBID_CORE_RangePop) return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}

// graph.cpp: see graph.hpp. Graphs are built node by node, not captured, so that no other work of the process can get
// into one. Errors of building are no errors of the launch: the tasks are launched one by one, and say it themselves
// when the device is lost.
#include "backends/cuda/graph.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "backends/cuda/cuda.hpp"

namespace qd::cuda {
namespace {

constexpr uint32_t most_wanted = 1024;

struct Parameters {  // of a node: read by the driver before its call returns
  void *list[5];
  KernelNode node;
  explicit Parameters(const Ready &r)
      : list{const_cast<void *>(r.args), const_cast<int64_t *>(&r.begin), const_cast<int64_t *>(&r.end),
             const_cast<int64_t *>(&r.check), const_cast<CUdeviceptr *>(&r.scratch)},
        node{r.entry->function.load(std::memory_order_relaxed),
             {r.blocks, 1, 1},
             {r.block, 1, 1},
             r.entry->meta.shared,
             list,
             nullptr} {}
};

}  // namespace

Graph::~Graph() { drop(); }

void Graph::drop() {
  if (executable_) driver_.cuGraphExecDestroy(executable_);
  if (graph_) driver_.cuGraphDestroy(graph_);
  executable_ = nullptr, graph_ = nullptr;
}

bool Graph::same_tasks(const std::vector<Ready> &tasks) const {
  return tasks.size() == nodes_.size() &&
         std::equal(tasks.begin(), tasks.end(), nodes_.begin(),
                    [](const Ready &r, const Node &n) { return r.entry == n.entry && r.lane == n.lane; });
}

bool Graph::make(const std::vector<Ready> &tasks) {
  if (driver_.cuGraphCreate(&graph_, 0)) return graph_ = nullptr, false;
  blocks_.clear();
  // What the next task of no lane waits for: the last task of each lane, or the last one of none.
  std::map<uint32_t, CUgraphNode> last;
  CUgraphNode before = nullptr;
  for (size_t k = 0; k < tasks.size(); k++) {
    const Ready &r = tasks[k];
    const Parameters p(r);
    Node &n = nodes_[k];
    n = {r.entry, nullptr, r.blocks, r.block, r.begin, r.end, r.check, r.scratch, r.lane, blocks_.size()};
    std::vector<CUgraphNode> waits_for;
    bool chain = false;  // one task behind another
    if (const auto own = last.find(r.lane); r.lane && own != last.end()) waits_for = {own->second}, chain = true;
    else if (!r.lane && !last.empty())
      for (const auto &[lane, node] : last) waits_for.push_back(node);
    else if (before) waits_for = {before}, chain = !r.lane;
    const bool early = chain && r.entry->early && driver_.cuGraphAddDependencies;
    if (driver_.cuGraphAddKernelNode(&n.node, graph_, waits_for.data(), early ? 0 : waits_for.size(), &p.node))
      return false;
    if (early && driver_.cuGraphAddDependencies(graph_, &waits_for[0], &n.node, &early_edge, 1)) return false;
    if (r.lane) last[r.lane] = n.node;
    else last.clear(), before = n.node;
    const auto *words = static_cast<const uint64_t *>(r.args);
    blocks_.insert(blocks_.end(), words, words + r.entry->meta.arg_words);
  }
  if (driver_.cuGraphInstantiateWithFlags(&executable_, graph_, 0)) return executable_ = nullptr, false;
  return true;
}

bool Graph::update(const std::vector<Ready> &tasks) {
  for (size_t k = 0; k < tasks.size(); k++) {
    const Ready &r = tasks[k];
    Node &n = nodes_[k];
    uint64_t *kept = blocks_.data() + n.args;
    const size_t bytes = 8 * size_t(r.entry->meta.arg_words);
    if (r.blocks == n.blocks && r.block == n.block && r.begin == n.begin && r.end == n.end && r.check == n.check &&
        r.scratch == n.scratch && std::memcmp(kept, r.args, bytes) == 0)
      continue;
    const Parameters p(r);
    if (driver_.cuGraphExecKernelNodeSetParams(executable_, n.node, &p.node)) return false;
    n.blocks = r.blocks, n.block = r.block, n.begin = r.begin, n.end = r.end, n.check = r.check, n.scratch = r.scratch;
    std::memcpy(kept, r.args, bytes);
  }
  return true;
}

bool Graph::launch(const std::vector<Ready> &tasks, CUstream stream) {
  if (refused_) return false;
  if (!same_tasks(tasks)) {
    if (executable_) wanted_ = std::min(2 * wanted_, most_wanted);
    drop();
    nodes_.clear();
    for (const Ready &r : tasks) nodes_.push_back({r.entry, nullptr, 0, 0, 0, 0, 0, 0, r.lane, 0});
    seen_ = 0;
  }
  if (!executable_ && seen_ < wanted_) return seen_++, false;
  if ((executable_ ? update(tasks) : make(tasks)) && driver_.cuGraphLaunch(executable_, stream) == 0) return true;
  drop();
  refused_ = true;
  return false;
}

}  // namespace qd::cuda

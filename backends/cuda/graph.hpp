// graph.hpp: a kernel of several tasks as a CUDA graph, launched by one call of the driver: the tasks one after the
// other, those of lanes in branches. Made when the kernel has run twice with the same tasks; what differs from the last launch (geometry, argument
// blocks) is changed in place. A graph never decides anything: where it can't be made, the tasks are launched one by
// one.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backends/cuda/driver.hpp"

namespace qd::cuda {

struct Entry;

struct Ready {  // one task with everything that a launch needs
  Entry *entry;
  uint32_t blocks, block;
  int64_t begin, end, check;
  CUdeviceptr scratch;
  const void *args;
  uint32_t lane;  // tasks of different lanes run side by side; 0: in order with all
};

class Graph {  // of one kernel on one stream
 public:
  explicit Graph(const Driver &d) : driver_(d) {}
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;
  // False: nothing was launched, the tasks are the caller's. Within the context.
  bool launch(const std::vector<Ready> &, CUstream);

 private:
  struct Node {
    Entry *entry;
    CUgraphNode node;
    uint32_t blocks, block;
    int64_t begin, end, check;
    CUdeviceptr scratch;
    uint32_t lane;
    size_t args;  // where its block begins in blocks_
  };
  bool same_tasks(const std::vector<Ready> &) const;
  bool make(const std::vector<Ready> &);
  bool update(const std::vector<Ready> &);
  void drop();

  const Driver &driver_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  std::vector<Node> nodes_;       // of the tasks seen last
  std::vector<uint64_t> blocks_;  // their argument blocks, as the graph has them
  uint32_t seen_ = 0;             // launches of these tasks
  uint32_t wanted_ = 2;           // before there is a graph; more each time that the tasks changed after all
  bool refused_ = false;          // the driver can't
};

// The graphs of a stream, by the first task of the kernel's list.
using Graphs = std::unordered_map<const Entry *, std::unique_ptr<Graph>>;

inline bool has_graphs(const Driver &d) {
  return d.cuGraphCreate && d.cuGraphDestroy && d.cuGraphAddKernelNode && d.cuGraphInstantiateWithFlags &&
         d.cuGraphExecKernelNodeSetParams && d.cuGraphExecDestroy && d.cuGraphLaunch;
}

}  // namespace qd::cuda

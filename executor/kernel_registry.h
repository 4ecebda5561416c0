// (op, device kind) -> kernel factory, and the kernels of a whole graph.
#ifndef SPILLWAY_EXECUTOR_KERNEL_REGISTRY_H_
#define SPILLWAY_EXECUTOR_KERNEL_REGISTRY_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "executor/kernel.h"
#include "executor/plan/algorithms.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

class KernelRegistry {
 public:
  // A pair that is there already, an empty name and a null factory are
  // refused: the registry remembers the first error.
  void Add(std::string_view op, DeviceKind kind, KernelFactory factory);
  // The first error of Add, INVALID_ARGUMENT; who uses the registry checks it.
  const absl::Status& status() const { return status_; }

  // Null when there is none.
  KernelFactory Find(std::string_view op, DeviceKind kind) const;

 private:
  std::map<std::pair<std::string, DeviceKind>, KernelFactory, std::less<>>
      factories_;
  absl::Status status_;
};

// Kernels by node; null for nodes that need none (resident, feeds, copies,
// aliases) and for nodes outside `keep`.
using KernelMap = IdMap<NodeId, std::unique_ptr<Kernel>>;

struct PrepareOptions {
  DeviceKind kind = DeviceKind::kCpu;
  int threads = 1;
  // Leave nodes without a kernel (also where a factory says UNIMPLEMENTED) null
  // instead of failing: for planning and simulating plan-only graphs.
  bool allow_missing = false;
  MathOptions math = {};
  AlgorithmNames algorithms = {};
};

// Prepares a kernel for every node of `keep`. Errors: UNIMPLEMENTED naming the
// first node whose op has no kernel for this kind of device; INVALID_ARGUMENT
// naming a node without the algorithm that is named for it; INTERNAL for a
// factory that throws, makes no kernel or one of negative workspace; what a
// factory says. Each with the node's name before it. The status of `kernels`.
absl::StatusOr<KernelMap> PrepareKernels(const Graph& graph,
                                         const OpRegistry& ops,
                                         const KernelRegistry& kernels,
                                         const IdMap<NodeId, bool>& keep,
                                         const PrepareOptions& options);

// Errors: what a kernel says, with the node's name before it.
absl::StatusOr<ListedAlgorithms> ListAlgorithms(const Graph& graph,
                                                const KernelMap& kernels);

// Workspace of each node: its kernel's, else what the graph states, else 0.
IdMap<NodeId, int64_t> WorkspaceBytes(const Graph& graph,
                                      const KernelMap& kernels);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_KERNEL_REGISTRY_H_

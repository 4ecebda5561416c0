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
  // An existing pair, an empty name and a null factory are refused: the
  // registry remembers the first error.
  void Add(std::string_view op, DeviceKind kind, KernelFactory factory);
  // The first error of Add, INVALID_ARGUMENT; users of the registry check it.
  const absl::Status& status() const { return status_; }

  // Null if not found.
  KernelFactory Find(std::string_view op, DeviceKind kind) const;

 private:
  std::map<std::pair<std::string, DeviceKind>, KernelFactory, std::less<>>
      factories_;
  absl::Status status_;
};

// Kernels by node; null for nodes that need no kernel (resident, feeds, copies,
// aliases) and for nodes outside `keep`.
using KernelMap = IdMap<NodeId, std::unique_ptr<Kernel>>;

struct PrepareOptions {
  DeviceKind kind = DeviceKind::kCpu;  // of device nodes
  int threads = 1;
  // Leave nodes without a kernel null instead of failing (also if a factory
  // returns UNIMPLEMENTED): for planning and simulating plan-only graphs.
  bool allow_missing = false;
  MathOptions math = {};
  AlgorithmNames algorithms = {};
};

// Prepares a kernel for every node of `keep`; nodes on the host have those of
// the CPU. Errors: UNIMPLEMENTED naming the first node whose op has no kernel
// for its kind of device; INVALID_ARGUMENT naming a node whose kernel lacks the
// algorithm given for it; INTERNAL for a factory that throws, or makes no
// kernel or one with a negative workspace; errors of a factory. The node's name
// is prepended to each. Also the status of `kernels`.
absl::StatusOr<KernelMap> PrepareKernels(const Graph& graph,
                                         const OpRegistry& ops,
                                         const KernelRegistry& kernels,
                                         const IdMap<NodeId, bool>& keep,
                                         const PrepareOptions& options);

// Errors: those of a kernel, with the node's name prepended.
absl::StatusOr<ListedAlgorithms> ListAlgorithms(const Graph& graph,
                                                const KernelMap& kernels);

// Workspace of each node: that of its kernel, else the graph's stated cost,
// else 0.
IdMap<NodeId, int64_t> WorkspaceBytes(const Graph& graph,
                                      const KernelMap& kernels);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_KERNEL_REGISTRY_H_

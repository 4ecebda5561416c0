#include "executor/kernel_registry.h"

#include <fmt/format.h>

#include <vector>

#include "base/status_macros.h"
#include "executor/guarded_call.h"
#include "executor/parts_kernel.h"
#include "graph/storage.h"
#include "graph/types_of.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

std::string_view KindName(DeviceKind kind) {
  return kind == DeviceKind::kCpu ? "cpu" : "cuda";
}

// The executor does the work of these nodes, or there is no work.
bool NeedsNoKernel(const OpDef* op, const Node& node) {
  return node.op == kPlaceholder || CopiesToHost(node.op) ||
         CopiesToDevice(node.op) || (op != nullptr && op->resident);
}

absl::Status MissingKernel(const Node& node, const OpDef* op, DeviceKind kind) {
  if (op == nullptr) {
    return Unimplemented(
        fmt::format("op {} is not in the op registry: the graph can be "
                    "edited, planned and simulated, but not run",
                    node.op));
  }
  return Unimplemented(fmt::format("op {} has no kernel for {} devices",
                                   node.op, KindName(kind)));
}

// Null for a pure alias without a kernel.
absl::StatusOr<std::unique_ptr<Kernel>> PrepareKernel(
    const Graph& graph, const Node& node, const OpDef* op,
    const KernelRegistry& kernels, const PrepareOptions& options) {
  const DeviceKind kind =
      node.placement == Placement::kHost ? DeviceKind::kCpu : options.kind;
  // Without an OpDef it is unknown what the op overwrites or aliases.
  const KernelFactory factory =
      op == nullptr ? nullptr : kernels.Find(node.op, kind);
  if (factory == nullptr) {
    if (IsPureAlias(op)) return nullptr;
    return MissingKernel(node, op, kind);
  }
  const std::vector<TensorType> inputs = TypesOf(graph, node.inputs);
  const std::vector<TensorType> outputs = TypesOf(graph, node.outputs);
  const std::string_view algorithm = AlgorithmOf(options.algorithms, node.id);
  // Only kernels for a CPU read parts of values where they lie.
  const KernelFactory slice =
      kind == DeviceKind::kCpu ? nullptr : kernels.Find(kSlice, kind);
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, GuardedCall([&] {
                              return PrepareFromFactory(
                                  *op,
                                  {.attributes = node.attributes,
                                   .inputs = inputs,
                                   .outputs = outputs,
                                   .threads = options.threads,
                                   .math = options.math,
                                   .algorithm = algorithm},
                                  factory, slice);
                            }));
  if (kernel == nullptr) {
    return Internal(
        fmt::format("the factory of op {} made no kernel", node.op));
  }
  if (kernel->workspace_bytes() < 0) {
    return Internal(
        fmt::format("the kernel of op {} asks for {} bytes of "
                    "workspace",
                    node.op, kernel->workspace_bytes()));
  }
  if (!algorithm.empty() && kernel->algorithm() != algorithm) {
    return InvalidArgument(
        fmt::format("op {} has no algorithm \"{}\" here", node.op, algorithm));
  }
  return kernel;
}

}  // namespace

void KernelRegistry::Add(std::string_view op, DeviceKind kind,
                         KernelFactory factory) {
  absl::Status added;
  if (op.empty() || factory == nullptr) {
    added = InvalidArgument(
        fmt::format("a kernel for op '{}' on {} devices needs the op's name "
                    "and a factory",
                    op, KindName(kind)));
  } else if (!factories_.emplace(std::pair(std::string(op), kind), factory)
                  .second) {
    added = InvalidArgument(fmt::format("op {} has two kernels for {} devices",
                                        op, KindName(kind)));
  }
  status_.Update(added);
}

KernelFactory KernelRegistry::Find(std::string_view op, DeviceKind kind) const {
  const auto found = factories_.find(std::pair(std::string(op), kind));
  return found == factories_.end() ? nullptr : found->second;
}

absl::StatusOr<KernelMap> PrepareKernels(const Graph& graph,
                                         const OpRegistry& ops,
                                         const KernelRegistry& kernels,
                                         const IdMap<NodeId, bool>& keep,
                                         const PrepareOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(kernels.status());
  KernelMap prepared;
  prepared.reserve(graph.num_nodes());
  for (const Node& node : graph.nodes()) {
    const OpDef* op = ops.Find(node.op);
    if (!keep[node.id] || NeedsNoKernel(op, node)) {
      prepared.push_back(nullptr);
      continue;
    }
    absl::StatusOr<std::unique_ptr<Kernel>> kernel =
        PrepareKernel(graph, node, op, kernels, options);
    if (!kernel.ok()) {
      const bool missing =
          kernel.status().code() == absl::StatusCode::kUnimplemented;
      if (!missing || !options.allow_missing) {
        return Annotate(kernel.status(), node.name);
      }
      kernel = nullptr;
    }
    prepared.push_back(*std::move(kernel));
  }
  return prepared;
}

absl::StatusOr<ListedAlgorithms> ListAlgorithms(const Graph& graph,
                                                const KernelMap& kernels) {
  ListedAlgorithms listed(graph.num_nodes());
  for (const Node& node : graph.nodes()) {
    if (kernels[node.id] == nullptr) continue;
    absl::StatusOr<std::vector<KernelAlgorithm>> algorithms =
        GuardedCall([&] { return kernels[node.id]->ListAlgorithms(); });
    if (!algorithms.ok()) return Annotate(algorithms.status(), node.name);
    listed[node.id] = *std::move(algorithms);
  }
  return listed;
}

IdMap<NodeId, int64_t> WorkspaceBytes(const Graph& graph,
                                      const KernelMap& kernels) {
  IdMap<NodeId, int64_t> bytes(graph.num_nodes());
  for (const Node& node : graph.nodes()) {
    if (kernels[node.id] != nullptr) {
      bytes[node.id] = kernels[node.id]->workspace_bytes();
    } else if (node.cost.has_value()) {
      bytes[node.id] = node.cost->workspace_bytes;
    }
  }
  return bytes;
}

}  // namespace spillway

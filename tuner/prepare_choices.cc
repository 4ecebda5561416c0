#include "tuner/prepare_choices.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "lms/recompute/forward_values.h"
#include "simulator/cost_model.h"
#include "tuner/model/derived_nodes.h"

namespace spillway {
namespace {

absl::StatusOr<DerivedKernels> PrepareDerived(const PlanSpec& spec) {
  const OpRegistry& ops = *spec.options->ops;
  const DerivedNodes derived = AddDerivedNodes(*spec.graph, ops);
  std::vector<ValueId> fetches;
  for (const NodeId node : derived.node_of) {
    if (node.is_valid()) fetches.push_back(derived.graph.output(node));
  }
  DerivedKernels kernels(spec.graph->num_values());
  if (fetches.empty()) return kernels;
  SPILLWAY_ASSIGN_OR_RETURN(const PlanInputs plan,
                            PreparePlan({.graph = &derived.graph,
                                         .fetches = fetches,
                                         .options = spec.options,
                                         .profile = spec.profile}));
  const IdMap<NodeId, int64_t> kernel_ns =
      EstimateKernelTimes(derived.graph, ops, *spec.profile);
  for (const ValueId value : kernels.ids()) {
    const NodeId node = derived.node_of[value];
    if (!node.is_valid()) continue;
    kernels[value] = {.ns = kernel_ns[node],
                      .workspace_bytes = plan.options.workspace_bytes[node]};
  }
  return kernels;
}

}  // namespace

absl::StatusOr<std::optional<RecomputeChoices>> PrepareChoices(
    const PlanSpec& spec) {
  const LmsOptions& lms = spec.options->lms;
  if (!TunesRecomputation(lms)) return std::nullopt;
  SPILLWAY_RETURN_IF_ERROR(CheckExclusions(lms.recompute, *spec.graph));
  RecomputeChoices choices = {.options = lms.recompute};
  SPILLWAY_ASSIGN_OR_RETURN(choices.derived, PrepareDerived(spec));
  return choices;
}

}  // namespace spillway

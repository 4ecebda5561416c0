#include "tuner/model/step_recipe.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "lms/lms.h"
#include "lms/recompute/clone_nodes.h"

namespace spillway {
namespace {

// Another algorithm could round a clone differently than its original.
absl::Status CheckAlgorithmsOfClones(const StepRecipe& recipe,
                                     const Graph& edited) {
  const size_t first = FirstClone(edited);
  for (size_t i = 0; i < recipe.recompute.clones.size(); ++i) {
    const Clone& clone = recipe.recompute.clones[i];
    const NodeId id(first + i);
    if (clone.derived_output >= 0 ||
        AlgorithmOf(recipe.algorithms, id) ==
            AlgorithmOf(recipe.algorithms, clone.original)) {
      continue;
    }
    return InvalidArgument(
        fmt::format("{} has another algorithm than {}, so its results may be "
                    "rounded differently",
                    edited.node(id).name, edited.node(clone.original).name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Graph> ApplyRecipe(const StepRecipe& recipe,
                                  const OpRegistry& ops, const Graph& graph) {
  if (recipe.recompute.clones.empty()) {
    return WithSwaps(recipe.options, recipe.swaps, ops, graph);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Graph recomputed,
                            WithClones(recipe.recompute, ops, graph));
  return WithSwaps(recipe.options, recipe.swaps, ops, recomputed);
}

absl::Status CheckFits(const StepRecipe& recipe, const Graph& edited) {
  const size_t nodes = edited.num_nodes();
  const auto is_node = [&](NodeId id) {
    return id.is_valid() && id.index() < nodes;
  };
  const size_t times = recipe.placement.expected_ns.size();
  if (std::ranges::all_of(recipe.schedule.order, is_node) &&
      (times == 0 || times == nodes) && recipe.algorithms.size() <= nodes) {
    return CheckAlgorithmsOfClones(recipe, edited);
  }
  return InvalidArgument(fmt::format(
      "order, times or algorithms do not fit the nodes of {}", edited.name()));
}

Schedule KernelOrder(const StepRecipe& recipe, const Graph& graph) {
  Schedule kernels;
  kernels.step_of.resize(graph.num_nodes(), -1);
  std::vector<NodeId> wanted;  // a node, then its missing inputs
  for (const NodeId id : recipe.schedule.order) {
    if (id.index() >= graph.num_nodes()) continue;  // a swap or an added alias
    wanted = {id};
    for (size_t i = 0; i < wanted.size(); ++i) {
      for (const ValueId input : graph.node(wanted[i]).inputs) {
        const NodeId producer = graph.value(input).producer;
        if (!kernels.contains(producer)) wanted.push_back(producer);
      }
    }
    for (; !wanted.empty(); wanted.pop_back()) {
      const NodeId next = wanted.back();
      if (kernels.contains(next)) continue;
      kernels.step_of[next] = static_cast<int32_t>(kernels.order.size());
      kernels.order.push_back(next);
    }
  }
  return kernels;
}

void ExtendToClones(const RecomputePlan& plan, size_t num_nodes,
                    AlgorithmNames& names) {
  if (names.empty() || plan.clones.empty()) return;
  names.resize(num_nodes + plan.clones.size());
  for (size_t i = 0; i < plan.clones.size(); ++i) {
    const Clone& clone = plan.clones[i];
    if (clone.derived_output >= 0) continue;
    names[NodeId(num_nodes + i)] = names[clone.original];
  }
}

CompileOptions OptionsFor(const StepRecipe& recipe, const Graph& edited,
                          CompileOptions options) {
  if (!options.workspace_bytes.empty()) {
    options.workspace_bytes.resize(edited.num_nodes(), 0);
  }
  options.placement = recipe.placement;
  return options;
}

}  // namespace spillway

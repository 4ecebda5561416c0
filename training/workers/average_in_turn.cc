#include "training/workers/average_in_turn.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "graph/well_known_ops.h"
#include "training/workers/bucket_plan.h"
#include "training/workers/reduce_gradients.h"

namespace spillway {
namespace {

// The tensors of a variable that are averaged. Slots that are not of its shape
// count the updates: they are the same on all ranks.
std::vector<Tensor> Averaged(const VariableAfterUpdate& variable,
                             bool averages_slots) {
  std::vector<Tensor> averaged = {variable.updated};
  if (!averages_slots) return averaged;
  std::ranges::copy_if(
      variable.slots, std::back_inserter(averaged),
      [&](Tensor slot) { return slot.shape() == variable.updated.shape(); });
  return averaged;
}

}  // namespace

void AverageInTurn(const NameScope& scope,
                   std::span<const VariableAfterUpdate> variables,
                   const AveragingInTurn& averaging) {
  GraphBuilder& builder = scope.builder();
  builder.Fail(
      Annotate(CheckBucketSpec(averaging.buckets), std::string(scope.name())));
  if (!builder.status().ok()) return;
  const NameScope place = scope.Scope("average");
  const Tensor weight = ConstantWeight(place, 1.0 / averaging.ranks);
  std::vector<Tensor> gradients;
  for (const VariableAfterUpdate& each : variables) {
    gradients.push_back(each.gradient);
  }
  std::vector<Tensor> before;  // the part before: one order for all ranks
  int64_t part = 0;
  for (const std::vector<size_t>& bucket :
       BucketsOf(builder.graph(), gradients, averaging.buckets)) {
    std::vector<Tensor> inputs;
    std::vector<Tensor> after = std::move(before);
    for (const size_t i : bucket) {
      const std::vector<Tensor> averaged =
          Averaged(variables[i], averaging.averages_slots);
      inputs.insert(inputs.end(), averaged.begin(), averaged.end());
      after.push_back(
          variables[i].updated);  // its slots, too, are updated then
    }
    inputs.push_back(weight);
    inputs.push_back(averaging.turn);
    const std::vector<Tensor> outputs =
        builder.AddAll(place, {.op = std::string(kAllReduceInTurn),
                               .inputs = std::move(inputs),
                               .attributes = {{"own_turn", part}},
                               .name = fmt::format("part_{}", part),
                               .control_inputs = std::move(after)});
    if (!builder.status().ok()) return;
    before = {outputs[0]};
    ++part;
  }
}

int64_t CountParts(const Graph& graph) {
  return std::ranges::count(graph.nodes(), kAllReduceInTurn, &Node::op);
}

}  // namespace spillway

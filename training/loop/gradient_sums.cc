#include "training/loop/gradient_sums.h"

#include <utility>

#include "graph/well_known_ops.h"
#include "training/variable_updates.h"

namespace spillway {
namespace {

// Whatever it holds at first: the first micro-batch of an update ignores it.
Attributes SumAttributes(const Shape& shape) {
  return {{"dtype", DType::kFloat32},
          {"shape", shape},
          {"trainable", false},
          {"saved", false}};
}

Tensor AddVariable(GraphBuilder& builder, const std::string& name,
                   const Attributes& attributes) {
  return builder.Add(
      builder,
      {.op = std::string(kVariable), .attributes = attributes, .name = name});
}

}  // namespace

GradientSums SumGradients(const NameScope& scope, Tensor loss, Tensor weights,
                          const MinimizeOptions& options, Tensor fed_scale) {
  GraphBuilder& builder = scope.builder();
  const std::vector<VariableGradient> gradients =
      GradientsToApply(scope, loss, options, fed_scale);
  RequireGradients(scope, gradients);
  GradientSums sums;
  std::vector<VariableGradient> added;
  for (const auto& [variable, gradient] : gradients) {
    const Node& node = builder.graph().producer(variable.id());
    GradientSums::Summed& summed = sums.summed.emplace_back();
    summed.variable = node.name;
    summed.attributes = node.attributes;
    const NameScope place = scope.Scope("gradient_sums").Scope(summed.variable);
    summed.sum = place.prefix() + "sum";
    const Tensor sum =
        AddVariable(builder, summed.sum, SumAttributes(variable.shape()));
    added.push_back(
        {variable, builder.Add(place, {.op = "AccumulateGradient",
                                       .inputs = {sum, gradient, weights},
                                       .name = "add"})});
    if (!builder.status().ok()) return {};
  }
  if (options.sums_squares && builder.status().ok()) {
    sums.square_sum = SquareSumOf(scope, added);
  }
  return sums;
}

void MinimizeSums(const NameScope& scope, const GradientSums& sums,
                  const Optimizer& optimizer, const MinimizeOptions& options) {
  GraphBuilder& builder = scope.builder();
  std::vector<VariableGradient> gradients;
  for (const GradientSums::Summed& summed : sums.summed) {
    const Tensor variable =
        AddVariable(builder, summed.variable, summed.attributes);
    if (!builder.status().ok()) return;
    const Tensor sum =
        AddVariable(builder, summed.sum, SumAttributes(variable.shape()));
    gradients.push_back({variable, sum});
  }
  ReduceAndUpdate(scope, gradients, optimizer, options);
}

}  // namespace spillway

#include "training/workers/reduce_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/status_macros.h"
#include "graph/storage.h"
#include "graph/well_known_ops.h"
#include "training/workers/bucket_plan.h"

namespace spillway {
namespace {

// Places of the gradients, in the order in which the backward phase makes them.
std::vector<size_t> BackwardOrder(const Graph& graph,
                                  std::span<const VariableGradient> gradients) {
  std::vector<size_t> order(gradients.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) {
    return graph.producer(gradients[i].gradient.id()).id;
  });
  return order;
}

Tensor One(const NameScope& scope) {
  return scope.builder().Add(scope, {.op = std::string(kConst),
                                     .attributes = {{"dtype", DType::kFloat32},
                                                    {"shape", Shape()},
                                                    {"value", 1.0}},
                                     .name = "weight"});
}

// Settings of the graph; those that change nothing are left out.
Attributes AttributesOf(const WireFormat& wire) {
  Attributes attributes;
  if (wire.dtype != DType::kFloat32) attributes.Set("wire", wire.dtype);
  if (wire.scale != 1) attributes.Set("wire_scale", wire.scale);
  if (wire.clip != 0) attributes.Set("clip", wire.clip);
  return attributes;
}

}  // namespace

ReducedGradients ReduceGradients(const NameScope& scope,
                                 std::span<const VariableGradient> gradients,
                                 const GradientReduction& reduction) {
  GraphBuilder& builder = scope.builder();
  builder.Fail(
      Annotate(CheckBucketSpec(reduction.buckets), std::string(scope.name())));
  if (!builder.status().ok() || gradients.empty()) return {};
  const NameScope place = scope.Scope("all_reduce");
  const Tensor weight =
      reduction.weight.is_valid() ? reduction.weight : One(place);
  const std::vector<size_t> order = BackwardOrder(builder.graph(), gradients);
  std::vector<int64_t> elements;
  for (const size_t i : order) {
    elements.push_back(gradients[i].gradient.shape().num_elements());
  }
  ReducedGradients reduced = {
      .gradients = {gradients.begin(), gradients.end()}};
  std::vector<Tensor> before;  // the bucket before: one order for all ranks
  int number = 0;
  for (const std::vector<size_t>& bucket :
       PlanBuckets(elements, reduction.buckets)) {
    std::vector<Tensor> inputs;
    for (const size_t at : bucket) {
      inputs.push_back(gradients[order[at]].gradient);
    }
    reduced.before_updates.clear();
    for (const Tensor input : inputs) {  // but for sums of gradients
      if (builder.graph().producer(input.id()).op == kVariable) continue;
      reduced.before_updates.push_back(input);
    }
    inputs.push_back(weight);
    const std::vector<Tensor> outputs =
        builder.AddAll(place, {.op = std::string(kAllReduce),
                               .inputs = std::move(inputs),
                               .attributes = AttributesOf(reduction.wire),
                               .name = fmt::format("bucket_{}", number++),
                               .control_inputs = std::move(before)});
    if (!builder.status().ok()) return {};
    for (size_t i = 0; i < bucket.size(); ++i) {
      reduced.gradients[order[bucket[i]]].gradient = outputs[i];
    }
    before = {outputs[0]};
  }
  return reduced;
}

std::vector<std::string> StatisticsOf(const Graph& graph, const OpRegistry& ops,
                                      std::string_view updates) {
  const StorageMap storages = StorageMap::Of(graph, ops);
  const std::string scope = fmt::format("{}/", updates);
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.op != kVariable ||
        !node.attributes.GetBool("saved", true).value_or(true)) {
      continue;
    }
    const Storage& storage = storages.of(node.outputs[0]);
    const bool is_statistic =
        std::ranges::any_of(storage.overwriters, [&](NodeId overwriter) {
          return !graph.node(overwriter).name.starts_with(scope);
        });
    if (is_statistic) names.push_back(node.name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace spillway

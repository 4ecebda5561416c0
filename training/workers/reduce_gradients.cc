#include "training/workers/reduce_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "base/status_macros.h"
#include "graph/storage.h"
#include "graph/well_known_ops.h"
#include "training/workers/average_in_turn.h"
#include "training/workers/bucket_plan.h"

namespace spillway {
namespace {

// Settings of the graph; those that change nothing are left out.
Attributes AttributesOf(const WireFormat& wire) {
  Attributes attributes;
  if (wire.dtype != DType::kFloat32) attributes.Set("wire", wire.dtype);
  if (wire.scale != 1) attributes.Set("wire_scale", wire.scale);
  if (wire.clip != 0) attributes.Set("clip", wire.clip);
  return attributes;
}

Attributes AttributesOf(const SparseGradients& sparse) {
  if (sparse.topk_fraction > 0) {
    return {{"topk_fraction", sparse.topk_fraction}};
  }
  return {{"min_magnitude", sparse.min_magnitude}};
}

Attributes AttributesOf(const GradientReduction& reduction) {
  return reduction.sparse ? AttributesOf(*reduction.sparse)
                          : AttributesOf(reduction.wire);
}

std::string_view OpOf(const GradientReduction& reduction) {
  if (!reduction.sparse) return kAllReduce;
  return reduction.sparse->keeps_residuals ? kErrorFeedbackAllReduce
                                           : kSparseAllReduce;
}

Tensor Residual(const NameScope& place, Tensor variable) {
  GraphBuilder& builder = place.builder();
  const std::string name = builder.graph().producer(variable.id()).name;
  return builder.Add(
      place.Scope("residuals").Scope(name),
      {.op = std::string(kVariable),
       .attributes = {{"dtype", DType::kFloat32},
                      {"shape", variable.shape()},
                      {"initializer",
                       AttributeValue::Object{{"kind", "zeros"}}},
                      {"trainable", false}},
       .name = "residual"});
}

// By name, the variables that can be saved and that `is_one` accepts.
std::vector<std::string> SavedVariables(
    const Graph& graph, const std::function<bool(const Node&)>& is_one) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.op == kVariable &&
        node.attributes.GetBool("saved", true).value_or(true) && is_one(node)) {
      names.push_back(node.name);
    }
  }
  std::ranges::sort(names);
  return names;
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
      reduction.weight.is_valid() ? reduction.weight : ConstantWeight(place, 1);
  std::vector<Tensor> own;
  for (const VariableGradient& each : gradients) own.push_back(each.gradient);
  ReducedGradients reduced = {
      .gradients = {gradients.begin(), gradients.end()}};
  std::vector<Tensor> before;  // the bucket before: one order for all ranks
  int number = 0;
  for (const std::vector<size_t>& bucket :
       BucketsOf(builder.graph(), own, reduction.buckets)) {
    std::vector<Tensor> inputs;
    reduced.before_updates.clear();
    for (const size_t i : bucket) {
      inputs.push_back(own[i]);
      if (OpOf(reduction) == kErrorFeedbackAllReduce) {
        inputs.push_back(Residual(place, gradients[i].variable));
      }
      if (!builder.status().ok()) return {};
      // But for sums of gradients.
      if (builder.graph().producer(own[i].id()).op == kVariable) continue;
      reduced.before_updates.push_back(own[i]);
    }
    inputs.push_back(weight);
    const std::vector<Tensor> outputs =
        builder.AddAll(place, {.op = std::string(OpOf(reduction)),
                               .inputs = std::move(inputs),
                               .attributes = AttributesOf(reduction),
                               .name = fmt::format("bucket_{}", number++),
                               .control_inputs = std::move(before)});
    if (!builder.status().ok()) return {};
    for (size_t i = 0; i < bucket.size(); ++i) {
      reduced.gradients[bucket[i]].gradient = outputs[i];
    }
    before = {outputs[0]};
  }
  return reduced;
}

std::vector<std::vector<size_t>> BucketsOf(const Graph& graph,
                                           std::span<const Tensor> gradients,
                                           const BucketSpec& spec) {
  std::vector<size_t> order(gradients.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) {
    return graph.producer(gradients[i].id()).id;
  });
  std::vector<int64_t> elements;
  for (const size_t i : order) {
    elements.push_back(gradients[i].shape().num_elements());
  }
  std::vector<std::vector<size_t>> buckets = PlanBuckets(elements, spec);
  for (std::vector<size_t>& bucket : buckets) {
    for (size_t& place : bucket) place = order[place];
  }
  return buckets;
}

Tensor ConstantWeight(const NameScope& scope, double value) {
  return scope.builder().Add(scope, {.op = std::string(kConst),
                                     .attributes = {{"dtype", DType::kFloat32},
                                                    {"shape", Shape()},
                                                    {"value", value}},
                                     .name = "weight"});
}

std::vector<std::string> VariablesOfRanks(const Graph& graph,
                                          const OpRegistry& ops,
                                          std::string_view updates) {
  const StorageMap storages = StorageMap::Of(graph, ops);
  const std::string scope = fmt::format("{}/", updates);
  const bool averages = CountParts(graph) > 0;
  return SavedVariables(graph, [&](const Node& node) {
    const std::vector<NodeId>& overwriters =
        storages.of(node.outputs[0]).overwriters;
    return std::ranges::any_of(overwriters, [&](NodeId overwriter) {
      const Node& by = graph.node(overwriter);
      return averages ? by.name.starts_with(scope)
                      : by.op == kErrorFeedbackAllReduce;
    });
  });
}

std::vector<std::string> StatisticsOf(const Graph& graph, const OpRegistry& ops,
                                      std::string_view updates) {
  const StorageMap storages = StorageMap::Of(graph, ops);
  const std::string scope = fmt::format("{}/", updates);
  return SavedVariables(graph, [&](const Node& node) {
    const std::vector<NodeId>& overwriters =
        storages.of(node.outputs[0]).overwriters;
    return std::ranges::any_of(overwriters, [&](NodeId overwriter) {
      return !graph.node(overwriter).name.starts_with(scope);
    });
  });
}

}  // namespace spillway

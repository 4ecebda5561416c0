#include "graph/passes/save_masks.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace spillway {
namespace {

// Slots and outputs of the two ops (ops/normalization/batch_norm.h).
constexpr size_t kNormInputsWithSide = 6;
constexpr int kMask = 3;
constexpr int kGradMask = 6;
// And of the pools (ops/reduction/pool.h).
constexpr int kPlaces = 1;
constexpr int kGradPlaces = 0;
constexpr int64_t kMostPlaces = 256;  // that a byte can name

bool IsNormWithSide(const Node& node) {
  return node.op == "FusedBatchNorm" &&
         node.inputs.size() == kNormInputsWithSide &&
         node.attributes.GetString("activation", "none").value_or("none") !=
             "none" &&
         !node.attributes.GetBool("mask", false).value_or(true);
}

// The gradients of `norm` that read its y.
std::vector<const Node*> GradientsOfNorm(const Graph& graph, const Node& norm) {
  std::vector<const Node*> gradients;
  for (const Use& use : graph.uses(norm.outputs[0])) {
    const Node& reader = graph.node(use.node);
    if (reader.op == "FusedBatchNormGrad" && use.slot == kGradMask &&
        reader.placement == norm.placement) {
      gradients.push_back(&reader);
    }
  }
  return gradients;
}

void SaveMask(const PassContext& context, const Node& norm,
              GraphRewrite& rewrite) {
  const Graph& graph = context.graph;
  const std::vector<const Node*> gradients = GradientsOfNorm(graph, norm);
  const Shape& y = graph.type(norm.outputs[0]).shape;
  if (gradients.empty() || y.dim(-1) % 8 != 0) return;
  std::vector<int64_t> dims(y.dims().begin(), y.dims().end());
  dims.back() /= 8;
  NodeSpec saving = SpecOf(graph, norm);
  saving.attributes.Set("mask", true);
  saving.outputs.push_back({.dtype = DType::kUInt8, .shape = Shape(dims)});
  rewrite.Replace(norm.id, std::move(saving));
  for (const Node* gradient : gradients) {
    NodeSpec reading = SpecOf(graph, *gradient);
    reading.attributes.Set("mask", true);
    rewrite.Replace(gradient->id, std::move(reading));
    rewrite.Connect(gradient->id, kGradMask, {.node = norm.id, .index = kMask});
  }
}

bool IsMaxPool(const Node& node) {
  return (node.op == "MaxPool" || node.op == "MaxPool3D") &&
         !node.attributes.GetBool("places", false).value_or(true);
}

// The gradients of `pool`: they read the same x through the same windows. They
// are on a higher level, so that an edge from `pool` closes no cycle. (An equal
// pool may have come first.)
std::vector<const Node*> GradientsOfPool(const PassContext& context,
                                         const Node& pool,
                                         const GraphRewrite& rewrite) {
  std::vector<const Node*> gradients;
  for (const Use& use : context.graph.uses(pool.inputs[0])) {
    const Node& reader = context.graph.node(use.node);
    if (reader.op == pool.op + "Grad" && use.slot == 0 &&
        !rewrite.touches(reader.id) && reader.attributes == pool.attributes &&
        reader.placement == pool.placement &&
        context.levels[reader.id] > context.levels[pool.id]) {
      gradients.push_back(&reader);
    }
  }
  return gradients;
}

bool PlacesAreSmall(const Graph& graph, const Node& pool) {
  const auto sizes = pool.attributes.GetInts("ksize");
  if (!sizes.ok()) return false;
  int64_t places = 1;
  for (const int64_t size : *sizes) places *= size;
  const int64_t bytes = graph.type(pool.outputs[0]).num_elements();
  return places <= kMostPlaces &&
         bytes * 8 <= graph.type(pool.inputs[0]).num_bytes();
}

void SavePlaces(const PassContext& context, const Node& pool,
                GraphRewrite& rewrite) {
  const Graph& graph = context.graph;
  const std::vector<const Node*> gradients =
      GradientsOfPool(context, pool, rewrite);
  if (gradients.empty() || !PlacesAreSmall(graph, pool)) return;
  NodeSpec saving = SpecOf(graph, pool);
  saving.attributes.Set("places", true);
  saving.outputs.push_back(
      {.dtype = DType::kUInt8, .shape = graph.type(pool.outputs[0]).shape});
  rewrite.Replace(pool.id, std::move(saving));
  for (const Node* gradient : gradients) {
    NodeSpec reading = SpecOf(graph, *gradient);
    reading.attributes.Set("places", true);
    reading.attributes.Set("input_shape", graph.type(pool.inputs[0]).shape);
    rewrite.Replace(gradient->id, std::move(reading));
    rewrite.Connect(gradient->id, kGradPlaces,
                    {.node = pool.id, .index = kPlaces});
  }
}

}  // namespace

void SaveMasks(const PassContext& context, GraphRewrite& rewrite) {
  for (const Node& node : context.graph.nodes()) {
    if (rewrite.touches(node.id)) continue;
    if (IsNormWithSide(node)) SaveMask(context, node, rewrite);
    if (IsMaxPool(node)) SavePlaces(context, node, rewrite);
  }
}

}  // namespace spillway

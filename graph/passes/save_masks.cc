#include "graph/passes/save_masks.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/types_of.h"

namespace spillway {
namespace {

// What a node saves for its gradients.
struct Saved {
  const char* attribute = "";  // of the node and of its gradients
  int output = 0;              // of the node: what it saves
  int slot = 0;                // of the gradients: where they read it
};

// ops/normalization/batch_norm.h, ops/reduction/pool.h
constexpr Saved kMask = {.attribute = "mask", .output = 3, .slot = 6};
constexpr Saved kPlaces = {.attribute = "places", .output = 1, .slot = 0};

// The gradients of `norm` that read its y.
std::vector<const Node*> GradientsOfNorm(const Graph& graph, const Node& norm) {
  std::vector<const Node*> gradients;
  for (const Use& use : graph.uses(norm.outputs[0])) {
    const Node& reader = graph.node(use.node);
    if (reader.op == "FusedBatchNormGrad" && use.slot == kMask.slot &&
        reader.placement == norm.placement) {
      gradients.push_back(&reader);
    }
  }
  return gradients;
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
    if (reader.op == pool.op + "Grad" && use.slot == kPlaces.slot &&
        !rewrite.touches(reader.id) && reader.attributes == pool.attributes &&
        reader.placement == pool.placement &&
        context.levels[reader.id] > context.levels[pool.id]) {
      gradients.push_back(&reader);
    }
  }
  return gradients;
}

// `node`, which saves it; nullopt if its op does not allow that here.
std::optional<NodeSpec> Saving(const PassContext& context, const Node& node,
                               const Saved& saved) {
  const OpDef* def = context.registry.Find(node.op);
  if (def == nullptr) return std::nullopt;
  NodeSpec saving = SpecOf(context.graph, node);
  saving.attributes.Set(saved.attribute, true);
  const std::vector<TensorType> inputs = TypesOf(context.graph, node.inputs);
  auto outputs = InferOutputs(*def, {saving.attributes, inputs});
  if (!outputs.ok()) return std::nullopt;
  saving.outputs = *std::move(outputs);
  return saving;
}

void SaveMask(const PassContext& context, const Node& norm,
              GraphRewrite& rewrite) {
  const auto gradients = GradientsOfNorm(context.graph, norm);
  if (gradients.empty()) return;
  std::optional<NodeSpec> saving = Saving(context, norm, kMask);
  if (!saving) return;
  rewrite.Replace(norm.id, *std::move(saving));
  for (const Node* gradient : gradients) {
    NodeSpec reading = SpecOf(context.graph, *gradient);
    reading.attributes.Set(kMask.attribute, true);
    rewrite.Replace(gradient->id, std::move(reading));
    rewrite.Connect(gradient->id, kMask.slot,
                    {.node = norm.id, .index = kMask.output});
  }
}

void SavePlaces(const PassContext& context, const Node& pool,
                GraphRewrite& rewrite) {
  const auto gradients = GradientsOfPool(context, pool, rewrite);
  if (gradients.empty()) return;
  std::optional<NodeSpec> saving = Saving(context, pool, kPlaces);
  if (!saving) return;
  const TensorType& x = context.graph.type(pool.inputs[0]);
  if (saving->outputs[kPlaces.output].num_bytes() * 8 > x.num_bytes()) return;
  rewrite.Replace(pool.id, *std::move(saving));
  for (const Node* gradient : gradients) {
    NodeSpec reading = SpecOf(context.graph, *gradient);
    reading.attributes.Set(kPlaces.attribute, true);
    reading.attributes.Set("input_shape", x.shape);
    rewrite.Replace(gradient->id, std::move(reading));
    rewrite.Connect(gradient->id, kPlaces.slot,
                    {.node = pool.id, .index = kPlaces.output});
  }
}

bool IsMaxPool(std::string_view op) {
  return op == "MaxPool" || op == "MaxPool3D";
}

}  // namespace

void SaveMasks(const PassContext& context, GraphRewrite& rewrite) {
  for (const Node& node : context.graph.nodes()) {
    if (rewrite.touches(node.id)) continue;
    if (node.op == "FusedBatchNorm") SaveMask(context, node, rewrite);
    if (IsMaxPool(node.op)) SavePlaces(context, node, rewrite);
  }
}

}  // namespace spillway

// A vision transformer: an image is a sequence of patches of 16 x 16 pixels,
// and what is read in the end is a place of its own before them, the class
// token. Twelve blocks of three heads and width 192.
//
// Sources: Dosovitskiy et al., "An image is worth 16x16 words", ICLR 2021;
// Touvron et al., "Training data-efficient image transformers", ICML 2021,
// table 1 (DeiT-Ti).
#include <fmt/format.h>

#include "base/status_macros.h"
#include "models/layers/layers.h"
#include "models/layers/transformer_layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

constexpr int64_t kPatch = 16;
constexpr int64_t kVitWidth = 192;
constexpr int kVitBlocks = 12;

// [batch, patches, width]
Tensor Patches(GraphBuilder& g, Tensor images) {
  const NameScope scope = g.Scope("patches");
  const Tensor x = Conv2D(scope, images,
                          {.filters = kVitWidth,
                           .kernel = {kPatch, kPatch},
                           .strides = {kPatch, kPatch},
                           .padding = "VALID",
                           .initializer = TransformerWeights()});
  if (!x.is_valid()) return x;
  const Shape shape = x.shape();
  return Reshape(scope, x,
                 {shape.dim(0), shape.dim(1) * shape.dim(2), kVitWidth});
}

Tensor WithClassToken(GraphBuilder& g, Tensor x) {
  if (!x.is_valid()) return x;
  const NameScope scope = g.Scope("class_token");
  const Tensor token =
      AddVariable(scope, {.name = "weights",
                          .shape = {1, 1, kVitWidth},
                          .initializer = TransformerWeights()});
  const Shape one_each = {x.shape().dim(0), 1, kVitWidth};
  const Tensor repeated =
      g.Add(scope, {.op = "BroadcastTo",
                    .inputs = {CastTo(scope, token, x.dtype())},
                    .attributes = {{"shape", one_each}}});
  return Concat(scope, {repeated, x}, 1);
}

// The class token's vectors [batch, width].
Tensor ClassToken(GraphBuilder& g, Tensor x) {
  if (!x.is_valid()) return x;
  const NameScope scope = g.Scope("head");
  const int64_t batch = x.shape().dim(0);
  const Tensor first =
      g.Add(scope, {.op = "Slice",
                    .inputs = {x},
                    .attributes = {{"begin", std::vector<int64_t>{0, 0, 0}},
                                   {"size", Shape({batch, 1, kVitWidth})}}});
  return Reshape(scope, first, {batch, kVitWidth});
}

}  // namespace

Network VitTiny(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  if (options.image_size % kPatch != 0) {
    g.Fail(InvalidArgument(
        fmt::format("image_size is {}, must be a multiple of {}",
                    options.image_size, kPatch)));
    return {};
  }
  const TransformerOptions block = {.heads = 3, .epsilon = 1e-6};
  Tensor x = WithClassToken(g, Patches(g, images));
  x = AddPositions(g.Scope("places"), x);
  for (int i = 1; i <= kVitBlocks; ++i) {
    x = TransformerBlock(g.Scope(fmt::format("block{}", i)), x, block);
  }
  x = LayerNorm(g.Scope("norm"), x, block.epsilon);
  return {.features = x,
          .logits = Dense(g.Scope("logits"), ClassToken(g, x),
                          {.units = options.num_classes})};
}

}  // namespace spillway

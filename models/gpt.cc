// A small language model: it reads tokens (of num_classes kinds: 256 for bytes
// of a text) and says for each place which one comes next. Four blocks of four
// heads and width 128; the table of tokens is the last layer's weight too.
//
// Source: Radford et al., "Language models are unsupervised multitask
// learners", 2019, section 2.3.
#include <fmt/format.h>

#include "models/layers/layers.h"
#include "models/layers/transformer_layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

constexpr int64_t kGptWidth = 128;
constexpr int kGptBlocks = 4;

}  // namespace

Network GptTiny(GraphBuilder& g, Tensor tokens, const ModelOptions& options) {
  const NameScope embedding = g.Scope("embedding");
  const Tensor table =
      AddVariable(embedding, {.name = "weights",
                              .shape = {options.num_classes, kGptWidth},
                              .initializer = TransformerWeights()});
  Tensor x = g.Add(embedding, {.op = "Gather",
                               .inputs = {table, tokens},
                               .attributes = {{"axis", int64_t{0}}}});
  x = AddPositions(g.Scope("places"), CastTo(embedding, x, options.dtype));
  for (int i = 1; i <= kGptBlocks; ++i) {
    x = TransformerBlock(g.Scope(fmt::format("block{}", i)), x,
                         {.heads = 4, .is_causal = true});
  }
  x = LayerNorm(g.Scope("norm"), x);
  if (!x.is_valid()) return {};
  const NameScope head = g.Scope("logits");
  const int64_t rows = options.batch_size * options.image_size;
  const Tensor logits =
      g.Add(head, {.op = "MatMul",
                   .inputs = {Reshape(head, x, {rows, kGptWidth}), table},
                   .attributes = {{"transpose_b", true}}});
  return {.features = x,
          .logits = logits,
          .labels = {options.batch_size, options.image_size}};
}

}  // namespace spillway

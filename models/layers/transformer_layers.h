// Layers of transformers. x is [batch, length, width]: a vector of `width`
// numbers for each place of a sequence. Names, variables and errors as in
// models/layers/layers.h.
#ifndef SPILLWAY_MODELS_LAYERS_TRANSFORMER_LAYERS_H_
#define SPILLWAY_MODELS_LAYERS_TRANSFORMER_LAYERS_H_

#include <cstdint>

#include "graph/builder/builder.h"
#include "models/layers/initializer.h"

namespace spillway {

// What weights, tables and positions begin with, as in the papers.
inline Initializer TransformerWeights() {
  return Initializer::TruncatedNormal(0.02);
}

// Over the last dimension of x, of any rank. Variables: scale and offset.
Tensor LayerNorm(const NameScope& scope, Tensor x, double epsilon = 1e-5);

struct TransformerOptions {
  int64_t heads = 1;  // divides width
  // Each place sees itself and those before it.
  bool is_causal = false;
  int64_t hidden = 0;  // units between the two dense layers; 0: 4 width
  double epsilon = 1e-5;
};

// Scaled dot products of queries and keys, over all heads at once.
// Source: Vaswani et al., "Attention is all you need", NIPS 2017, section 3.2.
Tensor SelfAttention(const NameScope& scope, Tensor x,
                     const TransformerOptions& options);

// x + SelfAttention(LayerNorm(x)), and the same with two dense layers and a
// GELU between them.
// Source: Radford et al., "Language models are unsupervised multitask
// learners", 2019, section 2.3 (the norms come first).
Tensor TransformerBlock(const NameScope& scope, Tensor x,
                        const TransformerOptions& options);

// A trained vector for each place is added: variable `weights`.
Tensor AddPositions(const NameScope& scope, Tensor x);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_LAYERS_TRANSFORMER_LAYERS_H_

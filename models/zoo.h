// The model zoo: name -> network, from images and labels to loss and accuracy.
#ifndef SPILLWAY_MODELS_ZOO_H_
#define SPILLWAY_MODELS_ZOO_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "graph/builder.h"
#include "models/networks.h"

namespace spillway {

// One line of the zoo.
struct ModelSpec {
  std::string_view name;
  Network (*build)(GraphBuilder& g, Tensor images,
                   const ModelOptions& options) = nullptr;
  int64_t default_batch_size = 32;
  int64_t default_image_size = 224;
  int64_t default_channels = 3;
  int64_t default_num_classes = 1000;
};

// All models, in order of name.
std::span<const ModelSpec> Zoo();

// Errors: INVALID_ARGUMENT for an unknown name; lists the known ones.
absl::StatusOr<ModelSpec> FindModel(std::string_view name);

// A network with its feeds and results. Usable after GraphBuilder::Build too,
// as ids.
struct ModelGraph {
  ModelOptions options;  // with the defaults filled in

  Tensor images;  // Placeholder: float32 [batch, size, size, channels]
  Tensor labels;  // Placeholder: int32 [batch]

  Tensor features;        // as in Network
  Tensor logits;          // float32 [batch, classes]
  Tensor loss;            // float32 scalar: the batch's mean cross entropy
  Tensor correct;         // bool [batch]: the label has the largest logit
  Tensor accuracy;        // float32 scalar: the part that is correct
  Tensor top_5_accuracy;  // float32 scalar: the label is among the largest five
};

// Adds the model `name` to `g`. Errors: as FindModel; INVALID_ARGUMENT for a
// negative size, or for an image too small for the network, naming the layer.
absl::StatusOr<ModelGraph> BuildModel(GraphBuilder& g, std::string_view name,
                                      const ModelOptions& options = {});

// Elements of all trainable variables.
int64_t CountParameters(const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_ZOO_H_

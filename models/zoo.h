// The model zoo: name -> network, from images and labels to loss and accuracy.
#ifndef SPILLWAY_MODELS_ZOO_H_
#define SPILLWAY_MODELS_ZOO_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/builder/builder.h"
#include "models/networks.h"

namespace spillway {

// One entry of the zoo.
struct ModelSpec {
  std::string_view name;
  Network (*build)(GraphBuilder& g, Tensor images,
                   const ModelOptions& options) = nullptr;
  int64_t default_batch_size = 32;
  int64_t default_image_size = 224;
  int64_t default_channels = 3;
  int64_t default_num_classes = 1000;
  int spatial_rank = 2;  // 3: images are volumes, [batch, size, size, size, C]
  bool has_auxiliary_head = false;
  // The network's source feeds pixels of 0 to 255 times this.
  double pixel_scale = 1;
  // Of texts: the feed is int32 [batch, image_size], of num_classes kinds of
  // tokens, and there is a label for each. Then channels mean nothing.
  bool reads_tokens = false;
};

// All models, sorted by name.
std::span<const ModelSpec> Zoo();

// Errors: INVALID_ARGUMENT for an unknown name; suggests the nearest name and
// lists all.
absl::StatusOr<ModelSpec> FindModel(std::string_view name);

// A network with its feeds and results. The tensors remain usable as ids after
// GraphBuilder::Build.
struct ModelGraph {
  ModelOptions options;    // with the defaults filled in
  double pixel_scale = 1;  // ModelSpec::pixel_scale

  Tensor images;   // Placeholder: float32 [batch, size, size, channels], or
                   // int32 tokens [batch, length]
  Tensor labels;   // Placeholder: int32 [batch], or Network::labels
  Tensor targets;  // Placeholder: float32, as Network::regression, or invalid
  std::vector<Tensor> more_inputs;  // of users' own models: other Placeholders
  bool has_pixels = true;           // false: images are tokens, or any numbers
  // What its evaluation computes; without a loss.
  std::vector<Tensor> outputs;

  Tensor features;        // as in Network
  Tensor logits;          // float32 [rows, classes], one row per label
  Tensor loss;            // float32 scalar: mean cross entropy, plus the losses
                          // of auxiliary heads and regression
  Tensor correct;         // bool [rows]: the label has the largest logit
  Tensor accuracy;        // float32 scalar: the fraction that is correct
  Tensor top_5_accuracy;  // float32 scalar: the label is among the 5 largest
};

// Adds the model `name` to `g`. Errors: as FindModel; INVALID_ARGUMENT for a
// negative size, for an auxiliary head that the network does not have, or for
// an image too small for the network, naming the layer.
absl::StatusOr<ModelGraph> BuildModel(GraphBuilder& g, std::string_view name,
                                      const ModelOptions& options = {});

// Number of elements of all trainable variables.
int64_t CountParameters(const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_ZOO_H_

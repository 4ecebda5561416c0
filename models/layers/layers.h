// Layers: free functions that add variables and ops to a graph, so that a model
// reads like the table of its paper.
//
//   Tensor x = Conv2D(g.Scope("conv1"), images,
//                     {.filters = 64, .kernel = {7, 7}, .strides = {2, 2}});
//   x = Dense(g.Scope("fc1"), Flatten(g.Scope("flatten"), x), {.units = 10});
//
// Shapes: images are [batch, height, width, channels], filters [out, height,
// width, in / groups], dense weights [in, out], labels int32 [batch].
// Names: variables are <scope>/weights and <scope>/biases; batch norm has
// <scope>/scale, offset, moving_mean and moving_variance. Two layers whose
// variables would have the same name need two scopes: the second is refused
// with an error that names the scope. Layers do not share weights. A
// convolution and a batch norm use different names and may share a scope.
// Errors: kept by the builder (graph/builder/builder.h); after one, every layer
// returns an invalid Tensor.
#ifndef SPILLWAY_MODELS_LAYERS_LAYERS_H_
#define SPILLWAY_MODELS_LAYERS_LAYERS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/builder/builder.h"
#include "models/layers/initializer.h"

namespace spillway {

enum class Activation : uint8_t { kNone, kRelu, kRelu6, kElu, kSigmoid, kTanh };

// "SAME" and "VALID" are TensorFlow's. "SAME_RESNET" pads kernel - 1 in total:
// half (rounded down) before and the rest after, for any stride.
struct Conv2DOptions {
  int64_t filters = 0;
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::string padding = "SAME";
  std::array<int64_t, 2> dilations = {1, 1};
  int64_t groups = 1;
  bool use_bias = true;
  Activation activation = Activation::kNone;
  Initializer initializer = Initializer::VarianceScaling(1);
  Initializer bias_initializer = Initializer::Constant(0);
};
Tensor Conv2D(const NameScope& scope, Tensor x, const Conv2DOptions& options);

struct DenseOptions {
  int64_t units = 0;
  bool use_bias = true;
  Activation activation = Activation::kNone;
  // nullopt: truncated normal, standard deviation sqrt(2 / in) before a ReLU
  // and sqrt(1 / in) otherwise.
  std::optional<Initializer> initializer = std::nullopt;
  Initializer bias_initializer = Initializer::Constant(0);
};
// x: [batch, in]; result: [batch, units].
Tensor Dense(const NameScope& scope, Tensor x, const DenseOptions& options);

// "CEIL" is Caffe's: no padding before, and as much after as the last window
// that begins inside needs; strides must not exceed the window.
struct PoolOptions {
  std::array<int64_t, 2> window = {2, 2};
  std::array<int64_t, 2> strides = {2, 2};
  std::string padding = "VALID";
  bool count_include_pad = false;  // AvgPool: the mean includes padding
};
Tensor MaxPool(const NameScope& scope, Tensor x, const PoolOptions& options);
Tensor AvgPool(const NameScope& scope, Tensor x, const PoolOptions& options);

// The published pair ReLU, max pooling, computed as max pooling, ReLU. The
// results are bitwise identical (except for the sign of a zero), both values
// and gradients: ReLU is monotonic, and if a window's largest element is not
// positive, both orders stop the gradient. ReLU then processes only the pooled
// elements, and its input, which no other node reads, can be overwritten or
// dropped sooner.
Tensor MaxPoolRelu(const NameScope& scope, Tensor x,
                   const PoolOptions& options);

// [batch, height, width, channels], or a volume, [batch, depth, height, width,
// channels] -> [batch, channels].
Tensor GlobalAveragePool(const NameScope& scope, Tensor x);

// [batch, ...] -> [batch, product of the others].
Tensor Flatten(const NameScope& scope, Tensor x);

struct DropoutOptions {
  double rate = 0.5;        // fraction that is set to zero
  bool is_training = true;  // false: x itself
};
// The mask is a function of the scope's name, the session's seed and the step
// number. A second dropout in the same scope has another mask, since its node
// has another name.
Tensor Dropout(const NameScope& scope, Tensor x, const DropoutOptions& options);

struct BatchNormOptions {
  double epsilon = 1e-3;
  double momentum = 0.99;   // of the moving averages
  bool is_training = true;  // false: normalise by the moving statistics
  bool scale = true;        // false: scale is fixed at one
  Activation activation = Activation::kNone;
  // Added to the normalised value before the activation, if valid: the shortcut
  // of a residual block.
  Tensor side = {};
};
Tensor BatchNorm(const NameScope& scope, Tensor x,
                 const BatchNormOptions& options);

// Across channels: x (bias + alpha sum of x^2 over 2 depth_radius + 1)^-beta.
struct LrnOptions {
  int64_t depth_radius = 5;
  double bias = 1;
  double alpha = 1;
  double beta = 0.5;
};
Tensor Lrn(const NameScope& scope, Tensor x, const LrnOptions& options);

Tensor Relu(const NameScope& scope, Tensor x);
Tensor Activate(const NameScope& scope, Tensor x, Activation activation);
Tensor Add(const NameScope& scope, Tensor a, Tensor b);
// `value` as a scalar.
Tensor Constant(const NameScope& scope, DType dtype, double value);
// x times a constant.
Tensor Scale(const NameScope& scope, Tensor x, double factor);
Tensor Softmax(const NameScope& scope, Tensor x);

// Concatenates tensors along dimension `axis`; the other dimensions are equal.
Tensor Concat(const NameScope& scope, std::vector<Tensor> xs, int64_t axis);
// Concatenates along the last dimension.
Tensor ConcatChannels(const NameScope& scope, std::vector<Tensor> xs);

Tensor Reshape(const NameScope& scope, Tensor x, const Shape& shape);

// x itself if it has this dtype already.
Tensor CastTo(const NameScope& scope, Tensor x, DType dtype);

// All elements in one dimension.
Tensor FlattenAll(const NameScope& scope, Tensor x);

// Mean over all elements of (a - b)^2: a float32 scalar.
Tensor MeanSquaredDistance(const NameScope& scope, Tensor a, Tensor b);

// Mean cross entropy of softmax(logits) over the batch: a float32 scalar.
Tensor SparseSoftmaxCrossEntropy(const NameScope& scope, Tensor logits,
                                 Tensor labels);

// Whether the label is among the `k` largest logits: bool [batch].
Tensor InTopK(const NameScope& scope, Tensor logits, Tensor labels, int64_t k);

// The fraction of `flags`, bool [batch], that is true: a float32 scalar.
Tensor TrueFraction(const NameScope& scope, Tensor flags);

// The fraction of the batch whose label is among the `k` largest logits: a
// float32 scalar.
Tensor Accuracy(const NameScope& scope, Tensor logits, Tensor labels,
                int64_t k = 1);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_LAYERS_LAYERS_H_

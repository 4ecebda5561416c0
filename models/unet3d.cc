// U-Net for volumes: a label for each voxel.
//
//   32 64 ----------------------> cat 64 64 -> 1x1x1
//     \ pool                     / up 2x2x2
//      64 128 ------------> cat 128 128
//         \                    /
//          128 256 ---> cat 256 256
//             \          /
//               256 512          each number: a 3x3x3 convolution, bias, ReLU
//
// All sizes must be divisible by 8. With one class, the label says whether the
// voxel belongs to it: logistic regression, computed as two classes of which
// the first has the logit 0.
// Sources: Cicek et al., "3D U-Net: learning dense volumetric segmentation from
// sparse annotation", MICCAI 2016; depth, filters and transposed convolutions
// as in the Keras implementation that the papers on large-model support
// trained.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/status_macros.h"
#include "models/layers/layers.h"
#include "models/layers/volume_layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

constexpr int kVolumeLevels = 3;  // of pooling
constexpr int64_t kVolumeFilters = 32;

Tensor VolumeConv(const NameScope& scope, Tensor x, int64_t filters) {
  return Conv3D(scope, x,
                {.filters = filters,
                 .kernel = {3, 3, 3},
                 .activation = Activation::kRelu,
                 .initializer = Initializer::VarianceScaling(2)});
}

Tensor VolumeDown(const NameScope& scope, Tensor x, int level) {
  const int64_t filters = kVolumeFilters << level;
  x = VolumeConv(scope.Scope("conv1"), x, filters);
  return VolumeConv(scope.Scope("conv2"), x, 2 * filters);
}

// One level up: upsamples x and concatenates `across`, the skip connection.
Tensor VolumeUp(const NameScope& scope, Tensor x, Tensor across) {
  x = Conv3DTranspose(scope.Scope("up"), x,
                      {.filters = x.shape().dim(-1),
                       .initializer = Initializer::VarianceScaling(2)});
  x = ConcatChannels(scope, {x, across});
  const int64_t filters = across.shape().dim(-1);
  x = VolumeConv(scope.Scope("conv1"), x, filters);
  return VolumeConv(scope.Scope("conv2"), x, filters);
}

// [rows, classes]; a single class gets a first column of logits 0.
Tensor Rows(const NameScope& scope, Tensor x, int64_t rows) {
  const int64_t classes = x.shape().dim(-1);
  x = Reshape(scope, x, {rows, classes});
  if (classes > 1) return x;
  return scope.builder().Add(scope,
                             {.op = "Pad",
                              .inputs = {x},
                              .attributes = {{"paddings", {{0, 0}, {1, 0}}}}});
}

}  // namespace

Network UNet3D(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  const int64_t divisor = int64_t{1} << kVolumeLevels;
  if (options.image_size % divisor != 0) {
    g.Fail(InvalidArgument(fmt::format(
        "image_size is {}, must be divisible by {}: it is halved {} times",
        options.image_size, divisor, kVolumeLevels)));
    return {};
  }
  std::vector<Tensor> across;
  Tensor x = images;
  for (int level = 0; level < kVolumeLevels; ++level) {
    const NameScope scope = g.Scope(fmt::format("down{}", level + 1));
    across.push_back(VolumeDown(scope, x, level));
    x = MaxPool3D(scope, across.back(), {});
  }
  x = VolumeDown(g.Scope("bottom"), x, kVolumeLevels);
  for (int level = kVolumeLevels - 1; level >= 0; --level) {
    if (!g.status().ok()) return {};
    x = VolumeUp(g.Scope(fmt::format("up{}", level + 1)), x,
                 across[static_cast<size_t>(level)]);
  }
  const Tensor features = x;
  x = Conv3D(g.Scope("logits"), x, {.filters = options.num_classes});
  if (!x.is_valid()) return {};
  const int64_t size = options.image_size;
  const Shape labels = {x.shape().dim(0), size, size, size};
  return {.features = features,
          .logits = Rows(g.Scope("logits"), x, labels.num_elements()),
          .labels = labels};
}

}  // namespace spillway

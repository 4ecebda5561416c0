// U-Net for images: a class for each pixel.
//
//   64 ------------------------------------> cat 64 -> 1x1
//     \ pool                          up 2x2 /
//      128 ----------------------> cat 128
//        \                          /
//         256 ------------> cat 256
//           \                 /
//            512 ---> cat 512
//              \       /
//                1024            each number: two 3x3 convolutions
//
// unet2d        padded, batch norm instead of biases; labels as large as the
//               image. Where pooling has dropped an odd row, zeros replace it
//               on the way up.
// unet2d_valid  the paper's: not padded, with biases; the skip connections are
//               cropped. 572 pixels in, 388 out.
// Sources: Ronneberger, Fischer, Brox, "U-Net: convolutional networks for
// biomedical image segmentation", MICCAI 2015, figure 1; the padded form is the
// common one in PyTorch.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "models/layers/layers.h"
#include "models/layers/volume_layers.h"
#include "models/networks.h"

namespace spillway {
namespace {

constexpr int kUNetLevels = 4;  // of pooling
constexpr int64_t kUNetFilters = 64;

struct UNet {
  bool is_padded = true;
  bool is_training = true;
};

Tensor UNetConv(const NameScope& scope, Tensor x, int64_t filters,
                const UNet& net) {
  const bool is_padded = net.is_padded;
  x = Conv2D(scope, x,
             {.filters = filters,
              .kernel = {3, 3},
              .padding = is_padded ? "SAME" : "VALID",
              .use_bias = !is_padded,
              .activation = is_padded ? Activation::kNone : Activation::kRelu,
              .initializer = Initializer::VarianceScaling(2)});
  if (!is_padded) return x;
  return BatchNorm(scope, x,
                   {.epsilon = 1e-5,
                    .momentum = 0.9,
                    .is_training = net.is_training,
                    .activation = Activation::kRelu});
}

Tensor TwoConvs(const NameScope& scope, Tensor x, int64_t filters,
                const UNet& net) {
  x = UNetConv(scope.Scope("conv1"), x, filters, net);
  return UNetConv(scope.Scope("conv2"), x, filters, net);
}

// `x` padded with zeros to the height and width of `like`.
Tensor PadTo(const NameScope& scope, Tensor x, const Shape& like) {
  if (x.shape().dim(1) == like.dim(1) && x.shape().dim(2) == like.dim(2)) {
    return x;
  }
  AttributeValue::List paddings = {std::vector<int64_t>{0, 0}};
  for (const int axis : {1, 2}) {
    const int64_t missing = like.dim(axis) - x.shape().dim(axis);
    paddings.emplace_back(
        std::vector<int64_t>{missing / 2, missing - missing / 2});
  }
  paddings.emplace_back(std::vector<int64_t>{0, 0});
  return scope.builder().Add(
      scope,
      {.op = "Pad", .inputs = {x}, .attributes = {{"paddings", paddings}}});
}

// The centre of `x`, with the height and width of `like`.
Tensor CropTo(const NameScope& scope, Tensor x, const Shape& like) {
  const int64_t top = (x.shape().dim(1) - like.dim(1)) / 2;
  const int64_t left = (x.shape().dim(2) - like.dim(2)) / 2;
  const Shape size = {x.shape().dim(0), like.dim(1), like.dim(2),
                      x.shape().dim(3)};
  return scope.builder().Add(
      scope, {.op = "Slice",
              .inputs = {x},
              .attributes = {{"begin", std::vector<int64_t>{0, top, left, 0}},
                             {"size", size}}});
}

// One level up: upsamples x and concatenates `across`, the skip connection.
Tensor UNetUp(const NameScope& scope, Tensor x, Tensor across,
              const UNet& net) {
  const int64_t filters = across.shape().dim(-1);
  x = Conv2DTranspose(
      scope.Scope("up"), x,
      {.filters = filters, .initializer = Initializer::VarianceScaling(2)});
  if (!x.is_valid()) return {};
  if (net.is_padded) {
    x = PadTo(scope, x, across.shape());
  } else {
    across = CropTo(scope, across, x.shape());
  }
  return TwoConvs(scope, ConcatChannels(scope, {across, x}), filters, net);
}

Network BuildUNet(GraphBuilder& g, Tensor images, const ModelOptions& options,
                  const UNet& net) {
  std::vector<Tensor> across;
  Tensor x = images;
  for (int level = 0; level < kUNetLevels; ++level) {
    const NameScope scope = g.Scope(fmt::format("down{}", level + 1));
    across.push_back(TwoConvs(scope, x, kUNetFilters << level, net));
    x = MaxPool(scope, across.back(), {});
  }
  x = TwoConvs(g.Scope("bottom"), x, kUNetFilters << kUNetLevels, net);
  for (int level = kUNetLevels - 1; level >= 0; --level) {
    if (!g.status().ok()) return {};
    x = UNetUp(g.Scope(fmt::format("up{}", level + 1)), x,
               across[static_cast<size_t>(level)], net);
  }
  const Tensor features = x;
  x = Conv2D(g.Scope("logits"), x, {.filters = options.num_classes});
  if (!x.is_valid()) return {};
  const Shape labels = {x.shape().dim(0), x.shape().dim(1), x.shape().dim(2)};
  return {.features = features,
          .logits = Reshape(g.Scope("logits"), x,
                            {labels.num_elements(), options.num_classes}),
          .labels = labels};
}

}  // namespace

Network UNet2D(GraphBuilder& g, Tensor images, const ModelOptions& options) {
  return BuildUNet(g, images, options, {.is_training = options.is_training});
}

Network UNet2DValid(GraphBuilder& g, Tensor images,
                    const ModelOptions& options) {
  return BuildUNet(g, images, options, {.is_padded = false});
}

}  // namespace spillway

#include "models/layers/blocks.h"

#include <fmt/format.h>

#include <vector>

#include "base/status_macros.h"
#include "models/layers/layer_parts.h"

namespace spillway {

Tensor ConvNorm(const NameScope& scope, Tensor x, Conv2DOptions conv,
                const BatchNormOptions& norm) {
  conv.use_bias = false;
  conv.activation = Activation::kNone;
  return BatchNorm(scope, Conv2D(scope, x, conv), norm);
}

Conv2DOptions ResNetConv(int64_t filters, int64_t kernel, int64_t stride) {
  return {.filters = filters,
          .kernel = {kernel, kernel},
          .strides = {stride, stride},
          .padding = stride == 1 ? "SAME" : "SAME_RESNET",
          .use_bias = false};
}

BatchNormOptions ResNetNorm(bool is_training, Activation activation) {
  return {.epsilon = 1e-5,
          .momentum = 0.9,
          .is_training = is_training,
          .activation = activation};
}

Tensor DepthwiseConv2D(const NameScope& scope, Tensor x, Conv2DOptions conv) {
  if (!layer::HasRank(scope, x, 4)) return Tensor();
  conv.filters = x.shape().dim(-1);
  conv.groups = conv.filters;
  return Conv2D(scope, x, conv);
}

Tensor Subsample(const NameScope& scope, Tensor x, int64_t stride) {
  if (stride == 1) return x;
  return AvgPool(scope, x, {.window = {1, 1}, .strides = {stride, stride}});
}

Tensor PadChannels(const NameScope& scope, Tensor x, int64_t channels) {
  if (!x.is_valid() || x.shape().rank() == 0) {
    scope.builder().Fail(InvalidArgument(
        fmt::format("{}: has no channels to pad", scope.name())));
    return Tensor();
  }
  if (x.shape().dim(-1) == channels) return x;
  const int64_t zeros = channels - x.shape().dim(-1);
  std::vector<AttributeValue> paddings(static_cast<size_t>(x.shape().rank()),
                                       std::vector<int64_t>{0, 0});
  paddings.back() = std::vector<int64_t>{zeros / 2, zeros - zeros / 2};
  return scope.builder().Add(
      scope,
      {.op = "Pad", .inputs = {x}, .attributes = {{"paddings", paddings}}});
}

Tensor FinalAveragePool(const NameScope& scope, Tensor x, int64_t size) {
  const bool fits = x.is_valid() && x.shape().rank() == 4 &&
                    x.shape().dim(1) == size && x.shape().dim(2) == size;
  if (!fits) return GlobalAveragePool(scope, x);
  const PoolOptions pool = {.window = {size, size}, .strides = {1, 1}};
  return Flatten(scope, AvgPool(scope, x, pool));
}

}  // namespace spillway

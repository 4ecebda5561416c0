// Blocks: layers made of layers (models/layers/layers.h), which several
// networks use. Shapes, names and errors as there.
#ifndef SPILLWAY_MODELS_LAYERS_BLOCKS_H_
#define SPILLWAY_MODELS_LAYERS_BLOCKS_H_

#include <cstdint>

#include "graph/builder/builder.h"
#include "models/layers/layers.h"

namespace spillway {

// Conv2D without bias and activation, then BatchNorm, both of them in `scope`.
Tensor ConvNorm(const NameScope& scope, Tensor x, Conv2DOptions conv,
                const BatchNormOptions& norm);

// A convolution as residual networks have it: kernel x kernel pixels, without
// bias, padded "SAME_RESNET" where it has a stride.
Conv2DOptions ResNetConv(int64_t filters, int64_t kernel, int64_t stride = 1);

// The batch norm after it: epsilon 1e-5, momentum 0.9.
BatchNormOptions ResNetNorm(bool is_training, Activation activation);

// Each channel by itself: Conv2D with as many filters and groups as x has
// channels, whatever `conv` says of these two.
Tensor DepthwiseConv2D(const NameScope& scope, Tensor x, Conv2DOptions conv);

// Every stride-th row and column, from the first on; x itself for a stride of
// 1.
Tensor Subsample(const NameScope& scope, Tensor x, int64_t stride);

// Zeros before and after the channels of x, one more after if the number is
// odd, so that there are `channels`; x itself if it has them.
Tensor PadChannels(const NameScope& scope, Tensor x, int64_t channels);

// The published average pool before a classifier, of size x size pixels: where
// an image of another size than the published one leaves a map of another size,
// the mean of that. Result: [batch, channels].
Tensor FinalAveragePool(const NameScope& scope, Tensor x, int64_t size);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_LAYERS_BLOCKS_H_

// Blocks: combinations of layers (models/layers/layers.h) that several networks
// use. Shapes, names and errors as there.
#ifndef SPILLWAY_MODELS_LAYERS_BLOCKS_H_
#define SPILLWAY_MODELS_LAYERS_BLOCKS_H_

#include <cstdint>

#include "graph/builder/builder.h"
#include "models/layers/layers.h"

namespace spillway {

// Conv2D without bias and activation, then BatchNorm, both in `scope`.
Tensor ConvNorm(const NameScope& scope, Tensor x, Conv2DOptions conv,
                const BatchNormOptions& norm);

// A convolution of a residual network: kernel x kernel pixels, without bias,
// padded "SAME_RESNET" if the stride is not 1.
Conv2DOptions ResNetConv(int64_t filters, int64_t kernel, int64_t stride = 1);

// The batch norm after ResNetConv: epsilon 1e-5, momentum 0.9.
BatchNormOptions ResNetNorm(bool is_training, Activation activation);

// Convolves each channel separately: Conv2D whose filters and groups are set to
// the channels of x; the values in `conv` are ignored.
Tensor DepthwiseConv2D(const NameScope& scope, Tensor x, Conv2DOptions conv);

// Every stride-th row and column, starting with the first; x itself if the
// stride is 1.
Tensor Subsample(const NameScope& scope, Tensor x, int64_t stride);

// Pads x with zero channels on both sides, the odd one at the end, up to
// `channels` in all; x itself if it has that many.
Tensor PadChannels(const NameScope& scope, Tensor x, int64_t channels);

// The average pool of size x size pixels that the paper has before the
// classifier. If another image size leaves a map of another size, the mean of
// the whole map. Result: [batch, channels].
Tensor FinalAveragePool(const NameScope& scope, Tensor x, int64_t size);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_LAYERS_BLOCKS_H_

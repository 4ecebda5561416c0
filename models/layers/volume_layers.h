// Layers (models/layers/layers.h) over volumes, and transposed convolutions
// over images and volumes.
//
// Shapes: volumes are [batch, depth, height, width, channels], filters [out,
// depth, height, width, in / groups]; arrays of three are depth, height, width.
// Names, dtypes and errors are as in models/layers/layers.h.
#ifndef SPILLWAY_MODELS_LAYERS_VOLUME_LAYERS_H_
#define SPILLWAY_MODELS_LAYERS_VOLUME_LAYERS_H_

#include <array>
#include <cstdint>
#include <string>

#include "models/layers/layers.h"

namespace spillway {

// Paddings as in Conv2DOptions, except "SAME_RESNET".
struct Conv3DOptions {
  int64_t filters = 0;
  std::array<int64_t, 3> kernel = {1, 1, 1};
  std::array<int64_t, 3> strides = {1, 1, 1};
  std::string padding = "SAME";
  std::array<int64_t, 3> dilations = {1, 1, 1};
  int64_t groups = 1;
  bool use_bias = true;
  Activation activation = Activation::kNone;
  Initializer initializer = Initializer::VarianceScaling(1);
  Initializer bias_initializer = Initializer::Constant(0);
};
Tensor Conv3D(const NameScope& scope, Tensor x, const Conv3DOptions& options);

struct Pool3DOptions {
  std::array<int64_t, 3> window = {2, 2, 2};
  std::array<int64_t, 3> strides = {2, 2, 2};
  std::string padding = "VALID";
};
Tensor MaxPool3D(const NameScope& scope, Tensor x,
                 const Pool3DOptions& options);
Tensor AvgPool3D(const NameScope& scope, Tensor x,
                 const Pool3DOptions& options);

// Transposed convolution to images of `filters` channels. Each dimension grows
// to input * stride, and with "VALID" by another kernel - stride if that is
// positive: a convolution of the result with these options has the shape of
// x.
//
// The weights have the shape of that convolution's, [channels of x, height,
// width, filters], and the fan-in that scales the initializer is that
// convolution's.
struct Conv2DTransposeOptions {
  int64_t filters = 0;
  std::array<int64_t, 2> kernel = {2, 2};
  std::array<int64_t, 2> strides = {2, 2};
  std::string padding = "SAME";
  bool use_bias = true;
  Activation activation = Activation::kNone;
  Initializer initializer = Initializer::VarianceScaling(1);
  Initializer bias_initializer = Initializer::Constant(0);
};
Tensor Conv2DTranspose(const NameScope& scope, Tensor x,
                       const Conv2DTransposeOptions& options);

// The same for volumes.
struct Conv3DTransposeOptions {
  int64_t filters = 0;
  std::array<int64_t, 3> kernel = {2, 2, 2};
  std::array<int64_t, 3> strides = {2, 2, 2};
  std::string padding = "SAME";
  bool use_bias = true;
  Activation activation = Activation::kNone;
  Initializer initializer = Initializer::VarianceScaling(1);
  Initializer bias_initializer = Initializer::Constant(0);
};
Tensor Conv3DTranspose(const NameScope& scope, Tensor x,
                       const Conv3DTransposeOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_LAYERS_VOLUME_LAYERS_H_

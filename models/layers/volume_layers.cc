#include "models/layers/volume_layers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/layers/layer_parts.h"

// Options that exist for several numbers of spatial dimensions, with the same
// members, are a template parameter here.
namespace spillway {
namespace {

template <size_t kSpatial>
std::vector<int64_t> List(const std::array<int64_t, kSpatial>& values) {
  return {values.begin(), values.end()};
}

// Whether a layer with these options can be built.
template <typename Options>
bool CanBuild(const NameScope& scope, Tensor x, const Options& options) {
  const int rank = static_cast<int>(options.kernel.size()) + 2;
  return layer::HasRank(scope, x, rank) &&
         layer::IsPositive(scope, options.filters, "filters");
}

// [out, kernel..., in]
template <typename Options>
Tensor Weights(const NameScope& scope, const Options& options, int64_t out,
               int64_t in) {
  std::vector<int64_t> dims = List(options.kernel);
  dims.insert(dims.begin(), out);
  dims.push_back(in);
  return AddVariable(scope, {.name = "weights",
                             .shape = Shape(std::move(dims)),
                             .initializer = options.initializer});
}

Tensor Pool(const NameScope& scope, const char* op, Tensor x,
            const Pool3DOptions& options) {
  return scope.builder().Add(scope,
                             {.op = op,
                              .inputs = {x},
                              .attributes = {{"ksize", List(options.window)},
                                             {"strides", List(options.strides)},
                                             {"padding", options.padding}}});
}

// The result's shape for a transposed convolution of x.
template <typename Options>
Shape TransposedShape(Tensor x, const Options& options) {
  std::vector<int64_t> dims = x.shape().dims();
  for (size_t i = 0; i < options.kernel.size(); ++i) {
    const int64_t rest = options.kernel[i] - options.strides[i];
    dims[i + 1] *= options.strides[i];
    if (options.padding == "VALID") dims[i + 1] += std::max<int64_t>(rest, 0);
  }
  dims.back() = options.filters;
  return Shape(std::move(dims));
}

template <typename Options>
Tensor Transposed(const NameScope& scope, const char* op, Tensor x,
                  const Options& options) {
  if (!CanBuild(scope, x, options)) return Tensor();
  const Tensor weights =
      Weights(scope, options, x.shape().dim(-1), options.filters);
  const Tensor y = scope.builder().Add(
      scope, {.op = op,
              .inputs = {x, weights},
              .attributes = {{"strides", List(options.strides)},
                             {"padding", options.padding},
                             {"output_shape", TransposedShape(x, options)}}});
  return layer::Finish(scope, y, options);
}

}  // namespace

Tensor Conv3D(const NameScope& scope, Tensor x, const Conv3DOptions& options) {
  if (!CanBuild(scope, x, options)) return Tensor();
  const int64_t groups = std::max<int64_t>(options.groups, 1);
  const Tensor weights =
      Weights(scope, options, options.filters, x.shape().dim(-1) / groups);
  const Tensor y = scope.builder().Add(
      scope, {.op = "Conv3D",
              .inputs = {x, weights},
              .attributes = {{"strides", List(options.strides)},
                             {"padding", options.padding},
                             {"dilations", List(options.dilations)},
                             {"groups", options.groups}}});
  return layer::Finish(scope, y, options);
}

Tensor MaxPool3D(const NameScope& scope, Tensor x,
                 const Pool3DOptions& options) {
  return Pool(scope, "MaxPool3D", x, options);
}

Tensor AvgPool3D(const NameScope& scope, Tensor x,
                 const Pool3DOptions& options) {
  return Pool(scope, "AvgPool3D", x, options);
}

Tensor Conv2DTranspose(const NameScope& scope, Tensor x,
                       const Conv2DTransposeOptions& options) {
  return Transposed(scope, "Conv2DTranspose", x, options);
}

Tensor Conv3DTranspose(const NameScope& scope, Tensor x,
                       const Conv3DTransposeOptions& options) {
  return Transposed(scope, "Conv3DTranspose", x, options);
}

}  // namespace spillway

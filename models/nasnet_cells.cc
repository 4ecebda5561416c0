#include "models/nasnet_cells.h"

#include <utility>
#include <vector>

#include "models/layers/blocks.h"

namespace spillway {
namespace {

BatchNormOptions With(BatchNormOptions norm, Activation activation) {
  norm.activation = activation;
  return norm;
}

BatchNormOptions WithSide(BatchNormOptions norm, Tensor side) {
  norm.side = side;
  return norm;
}

PoolOptions Window3(int64_t stride) {
  return {.window = {3, 3}, .strides = {stride, stride}, .padding = "SAME"};
}

// Depthwise, then 1 x 1, then batch norm.
Tensor SeparableConv(const NasNetCell& cell, const NameScope& scope, Tensor x,
                     const Conv2DOptions& conv, const BatchNormOptions& norm) {
  x = DepthwiseConv2D(scope.Scope("depthwise"), x, conv);
  return ConvNorm(scope.Scope("pointwise"), x, {.filters = cell.filters}, norm);
}

struct Separable {
  int64_t kernel = 3;
  int64_t stride = 1;
  Tensor side = {};  // added to the result, if valid
};

// x: after ReLU. Two separable convolutions with ReLU between them; the first
// one has the stride.
Tensor SeparableTwice(const NasNetCell& cell, const NameScope& scope, Tensor x,
                      const Separable& options) {
  Conv2DOptions conv = {.kernel = {options.kernel, options.kernel},
                        .strides = {options.stride, options.stride},
                        .use_bias = false};
  x = SeparableConv(cell, scope.Scope("separable1"), x, conv,
                    With(cell.norm, Activation::kRelu));
  conv.strides = {1, 1};
  return SeparableConv(cell, scope.Scope("separable2"), x, conv,
                       WithSide(cell.norm, options.side));
}

// x with the cell's number of channels.
Tensor FitChannels(const NasNetCell& cell, const NameScope& scope, Tensor x) {
  if (!x.is_valid() || x.shape().dim(-1) == cell.filters) return x;
  return ConvNorm(scope, x, {.filters = cell.filters}, cell.norm);
}

// Every second pixel of x, starting with the second row and column. The size is
// that of Subsample: zeros fill what lies beyond the edge.
Tensor SubsampleShifted(const NameScope& scope, Tensor x) {
  const int64_t height = x.shape().dim(1);
  const int64_t width = x.shape().dim(2);
  x = scope.builder().Add(
      scope, {.op = "Slice",
              .inputs = {x},
              .attributes = {{"begin", {0, 1, 1, 0}},
                             {"size", {-1, height - 1, width - 1, -1}}}});
  x = Subsample(scope, x, 2);
  if (height % 2 == 0 && width % 2 == 0) return x;
  return scope.builder().Add(
      scope,
      {.op = "Pad",
       .inputs = {x},
       .attributes = {
           {"paddings", {{0, 0}, {0, height % 2}, {0, width % 2}, {0, 0}}}}});
}

// Half the filters read the even pixels, half the odd ones.
Tensor FactorizedReduction(const NasNetCell& cell, const NameScope& scope,
                           Tensor x, Activation activation) {
  const int64_t half = cell.filters / 2;
  const Tensor even =
      Conv2D(scope.Scope("even"), x,
             {.filters = half, .strides = {2, 2}, .use_bias = false});
  Tensor odd = SubsampleShifted(scope.Scope("odd"), x);
  odd = Conv2D(scope.Scope("odd"), odd,
               {.filters = cell.filters - half, .use_bias = false});
  return BatchNorm(scope, ConcatChannels(scope, {even, odd}),
                   With(cell.norm, activation));
}

// `current` with the cell's number of channels, before ReLU.
Tensor Begin(const NasNetCell& cell, Tensor current) {
  return ConvNorm(cell.scope.Scope("begin"), current, {.filters = cell.filters},
                  cell.norm);
}

Tensor ConcatRelu(const NasNetCell& cell, std::vector<Tensor> sums) {
  return Relu(cell.scope, ConcatChannels(cell.scope, std::move(sums)));
}

}  // namespace

Tensor FitPrevious(const NasNetCell& cell, Tensor previous, Tensor current,
                   Activation activation) {
  if (!previous.is_valid() || !current.is_valid()) return Tensor();
  const NameScope scope = cell.scope.Scope("previous");
  if (previous.shape().dim(1) != current.shape().dim(1)) {
    return FactorizedReduction(cell, scope, previous, activation);
  }
  return ConvNorm(scope, previous, {.filters = cell.filters},
                  With(cell.norm, activation));
}

// With h the current map, p the previous one, and s a separable convolution:
//
//   s5(h) + s3(p)   s5(p) + s3(p)   avg(h) + p   avg(p) + avg(p)   s3(h) + h
//
// The result concatenates p and these five sums. Only in a network's first cell
// does p have another number of channels than the cell; it is fitted where it
// is used.
Tensor NormalCell(const NasNetCell& cell, const NasNetInputs& inputs) {
  const auto at = [&](const char* name) { return cell.scope.Scope(name); };
  const Tensor p = inputs.previous;
  const Tensor p_relu = inputs.previous_relu;
  const Tensor h = Begin(cell, inputs.current);
  const Tensor h_relu = Relu(at("begin"), h);
  const Tensor h_avg = AvgPool(at("begin"), h, Window3(1));
  const Tensor p_avg = AvgPool(at("previous"), p, Window3(1));

  Tensor sum1 = SeparableTwice(cell, at("sum1_right"), p_relu, {.kernel = 3});
  sum1 = SeparableTwice(cell, at("sum1_left"), h_relu,
                        {.kernel = 5, .side = sum1});
  Tensor sum2 = SeparableTwice(cell, at("sum2_right"), p_relu, {.kernel = 3});
  sum2 = SeparableTwice(cell, at("sum2_left"), p_relu,
                        {.kernel = 5, .side = sum2});
  const bool fits = p.is_valid() && p.shape().dim(-1) == cell.filters;
  const Tensor sum3 =
      Add(at("sum3"), h_avg,
          FitChannels(cell, at("sum3_right"), fits ? p : p_relu));
  const Tensor sum4 = Add(at("sum4"), FitChannels(cell, at("sum4_left"), p_avg),
                          FitChannels(cell, at("sum4_right"), p_avg));
  const Tensor sum5 =
      SeparableTwice(cell, at("sum5_left"), h_relu, {.kernel = 3, .side = h});
  return ConcatRelu(
      cell, {FitChannels(cell, at("output"), p), sum1, sum2, sum3, sum4, sum5});
}

// With h the current map, p the previous one, and s a separable convolution:
//
//   s5(h) + s7(p)   max(h) + s7(p)   avg(h) + s5(p)
//
// halve the map. The other two sums read these; the first of the three reaches
// the result only through them:
//
//   avg(sum1) + sum2   s3(sum1) + max(h)
Tensor ReductionCell(const NasNetCell& cell, const NasNetInputs& inputs) {
  const auto at = [&](const char* name) { return cell.scope.Scope(name); };
  const Tensor p_relu = inputs.previous_relu;
  const Tensor h = Begin(cell, inputs.current);
  const Tensor h_relu = Relu(at("begin"), h);
  const Tensor h_max = MaxPool(at("begin"), h, Window3(2));
  const Tensor h_avg = AvgPool(at("begin"), h, Window3(2));

  Tensor sum1 = SeparableTwice(cell, at("sum1_right"), p_relu,
                               {.kernel = 7, .stride = 2});
  sum1 = SeparableTwice(cell, at("sum1_left"), h_relu,
                        {.kernel = 5, .stride = 2, .side = sum1});
  const Tensor sum2 = SeparableTwice(cell, at("sum2_right"), p_relu,
                                     {.kernel = 7, .stride = 2, .side = h_max});
  const Tensor sum3 = SeparableTwice(cell, at("sum3_right"), p_relu,
                                     {.kernel = 5, .stride = 2, .side = h_avg});
  const Tensor sum4 =
      Add(at("sum4"), AvgPool(at("sum4"), sum1, Window3(1)), sum2);
  const Tensor sum5 =
      SeparableTwice(cell, at("sum5_left"), Relu(at("sum5_left"), sum1),
                     {.kernel = 3, .side = h_max});
  return ConcatRelu(cell, {sum2, sum3, sum4, sum5});
}

}  // namespace spillway

// The layers of models/layers as methods of GraphBuilder.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/layers/layers.h"
#include "models/layers/transformer_layers.h"
#include "models/layers/volume_layers.h"
#include "pybind11/stl.h"
#include "python/module/arrays.h"
#include "python/module/graph/graph_builder.h"
#include "python/module/options.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

// 3, or a number for each dimension.
template <size_t N>
std::array<int64_t, N> SizesFrom(py::handle value) {
  std::array<int64_t, N> sizes;
  if (!py::isinstance<py::int_>(value)) {
    return py::cast<std::array<int64_t, N>>(value);
  }
  sizes.fill(py::cast<int64_t>(value));
  return sizes;
}

template <size_t N>
void Set(std::array<int64_t, N>& sizes, py::handle value) {
  sizes = SizesFrom<N>(value);
}

const std::map<std::string, Activation> kActivations = {
    {"none", Activation::kNone},       {"relu", Activation::kRelu},
    {"relu6", Activation::kRelu6},     {"elu", Activation::kElu},
    {"sigmoid", Activation::kSigmoid}, {"tanh", Activation::kTanh}};

Activation ActivationFrom(py::handle value) {
  return value.is_none() ? Activation::kNone : ChoiceOf(value, kActivations);
}

template <typename Options>
using Layer = Tensor (*)(const NameScope&, Tensor, const Options&);

template <typename Options>
void BindConvolution(BuilderClass& type, const char* method, Layer<Options> add,
                     const char* documentation) {
  type.def(
      method,
      [add](Builder& g, const std::string& name, const Value& x,
            int64_t filters, py::handle kernel, py::handle strides,
            const std::string& padding, py::handle dilations, int64_t groups,
            bool use_bias, py::handle activation) {
        Options options = {.filters = filters,
                           .padding = padding,
                           .groups = groups,
                           .use_bias = use_bias,
                           .activation = ActivationFrom(activation)};
        Set(options.kernel, kernel);
        Set(options.strides, strides);
        Set(options.dilations, dilations);
        return g.Checked(add(g.Scope(name), x.tensor, options));
      },
      py::arg("name"), py::arg("x"), py::kw_only(), py::arg("filters"),
      py::arg("kernel") = 1, py::arg("strides") = 1,
      py::arg("padding") = "SAME", py::arg("dilations") = 1,
      py::arg("groups") = 1, py::arg("use_bias") = true,
      py::arg("activation") = py::none(), documentation);
}

template <typename Options>
void BindTransposed(BuilderClass& type, const char* method,
                    Layer<Options> add) {
  type.def(
      method,
      [add](Builder& g, const std::string& name, const Value& x,
            int64_t filters, py::handle kernel, py::handle strides,
            const std::string& padding, bool use_bias, py::handle activation) {
        Options options = {.filters = filters,
                           .padding = padding,
                           .use_bias = use_bias,
                           .activation = ActivationFrom(activation)};
        Set(options.kernel, kernel);
        Set(options.strides, strides);
        return g.Checked(add(g.Scope(name), x.tensor, options));
      },
      py::arg("name"), py::arg("x"), py::kw_only(), py::arg("filters"),
      py::arg("kernel") = 2, py::arg("strides") = 2,
      py::arg("padding") = "SAME", py::arg("use_bias") = true,
      py::arg("activation") = py::none(),
      "A transposed convolution: each dimension grows to input * stride.");
}

template <typename Options>
void BindPool(BuilderClass& type, const char* method, Layer<Options> add) {
  type.def(
      method,
      [add](Builder& g, const std::string& name, const Value& x,
            py::handle window, py::handle strides, const std::string& padding) {
        Options options = {.padding = padding};
        Set(options.window, window);
        Set(options.strides, strides);
        return g.Checked(add(g.Scope(name), x.tensor, options));
      },
      py::arg("name"), py::arg("x"), py::kw_only(), py::arg("window") = 2,
      py::arg("strides") = 2, py::arg("padding") = "VALID",
      "padding: \"VALID\", \"SAME\" or \"CEIL\" (Caffe's).");
}

void BindConvolutions(BuilderClass& type) {
  BindConvolution(type, "conv2d", Conv2D,
                  "x: [batch, height, width, channels]. padding: \"SAME\", "
                  "\"VALID\" or \"SAME_RESNET\". activation: \"relu\", "
                  "\"relu6\", \"elu\", \"sigmoid\" or \"tanh\".");
  BindConvolution(type, "conv3d", Conv3D,
                  "x: [batch, depth, height, width, channels]. As conv2d.");
  BindTransposed(type, "conv2d_transpose", Conv2DTranspose);
  BindTransposed(type, "conv3d_transpose", Conv3DTranspose);
  BindPool(type, "max_pool", MaxPool);
  BindPool(type, "avg_pool", AvgPool);
  BindPool(type, "max_pool3d", MaxPool3D);
  BindPool(type, "avg_pool3d", AvgPool3D);
}

void BindNormalization(BuilderClass& type) {
  type.def(
      "batch_norm",
      [](Builder& g, const std::string& name, const Value& x, double epsilon,
         double momentum, bool is_training, bool scale, py::handle activation,
         const Value* side) {
        return g.Checked(
            BatchNorm(g.Scope(name), x.tensor,
                      {.epsilon = epsilon,
                       .momentum = momentum,
                       .is_training = is_training,
                       .scale = scale,
                       .activation = ActivationFrom(activation),
                       .side = side == nullptr ? Tensor() : side->tensor}));
      },
      py::arg("name"), py::arg("x"), py::kw_only(), py::arg("epsilon") = 1e-3,
      py::arg("momentum") = 0.99, py::arg("is_training") = true,
      py::arg("scale") = true, py::arg("activation") = py::none(),
      py::arg("side") = nullptr,
      "side: added before the activation, the shortcut of a residual block.");
  type.def(
      "layer_norm",
      [](Builder& g, const std::string& name, const Value& x, double epsilon) {
        return g.Checked(LayerNorm(g.Scope(name), x.tensor, epsilon));
      },
      py::arg("name"), py::arg("x"), py::kw_only(), py::arg("epsilon") = 1e-5);
  type.def(
      "dropout",
      [](Builder& g, const std::string& name, const Value& x, double rate,
         bool is_training) {
        return g.Checked(Dropout(g.Scope(name), x.tensor,
                                 {.rate = rate, .is_training = is_training}));
      },
      py::arg("name"), py::arg("x"), py::kw_only(), py::arg("rate") = 0.5,
      py::arg("is_training") = true);
}

void BindLrn(BuilderClass& type) {
  type.def(
      "lrn",
      [](Builder& g, const std::string& name, const Value& x,
         int64_t depth_radius, double bias, double alpha, double beta) {
        return g.Checked(Lrn(g.Scope(name), x.tensor,
                             {.depth_radius = depth_radius,
                              .bias = bias,
                              .alpha = alpha,
                              .beta = beta}));
      },
      py::arg("name"), py::arg("x"), py::kw_only(), py::arg("depth_radius") = 5,
      py::arg("bias") = 1.0, py::arg("alpha") = 1.0, py::arg("beta") = 0.5,
      "Across channels: x (bias + alpha sum of x^2 over 2 depth_radius + "
      "1)^-beta.");
}

void BindDenseLayers(BuilderClass& type) {
  type.def(
      "dense",
      [](Builder& g, const std::string& name, const Value& x, int64_t units,
         bool use_bias, py::handle activation) {
        return g.Checked(Dense(g.Scope(name), x.tensor,
                               {.units = units,
                                .use_bias = use_bias,
                                .activation = ActivationFrom(activation)}));
      },
      py::arg("name"), py::arg("x"), py::kw_only(), py::arg("units"),
      py::arg("use_bias") = true, py::arg("activation") = py::none(),
      "x: [batch, in]; the result is [batch, units].");
  const auto attention = [&type](const char* method,
                                 Layer<TransformerOptions> add) {
    type.def(
        method,
        [add](Builder& g, const std::string& name, const Value& x,
              int64_t heads, bool is_causal, int64_t hidden, double epsilon) {
          return g.Checked(add(g.Scope(name), x.tensor,
                               {.heads = heads,
                                .is_causal = is_causal,
                                .hidden = hidden,
                                .epsilon = epsilon}));
        },
        py::arg("name"), py::arg("x"), py::kw_only(), py::arg("heads"),
        py::arg("is_causal") = false, py::arg("hidden") = 0,
        py::arg("epsilon") = 1e-5, "x: [batch, length, width].");
  };
  attention("self_attention", SelfAttention);
  attention("transformer_block", TransformerBlock);
  type.def(
      "add_positions",
      [](Builder& g, const std::string& name, const Value& x) {
        return g.Checked(AddPositions(g.Scope(name), x.tensor));
      },
      py::arg("name"), py::arg("x"));
}

// A layer of a scope and a tensor only.
void BindUnary(BuilderClass& type, const char* method,
               Tensor (*add)(const NameScope&, Tensor)) {
  type.def(
      method,
      [add](Builder& g, const std::string& name, const Value& x) {
        return g.Checked(add(g.Scope(name), x.tensor));
      },
      py::arg("name"), py::arg("x"));
}

void BindShapes(BuilderClass& type) {
  BindUnary(type, "flatten", Flatten);
  BindUnary(type, "global_average_pool", GlobalAveragePool);
  BindUnary(type, "softmax", Softmax);
  type.def(
      "activate",
      [](Builder& g, const std::string& name, const Value& x,
         py::handle activation) {
        return g.Checked(
            Activate(g.Scope(name), x.tensor, ActivationFrom(activation)));
      },
      py::arg("name"), py::arg("x"), py::arg("activation"));
  type.def(
      "concat",
      [](Builder& g, const std::string& name, const std::vector<Value>& xs,
         int64_t axis) {
        return g.Checked(Concat(g.Scope(name), TensorsOf(xs), axis));
      },
      py::arg("name"), py::arg("xs"), py::arg("axis"));
  type.def(
      "reshape",
      [](Builder& g, const std::string& name, const Value& x,
         const std::vector<int64_t>& shape) {
        return g.Checked(Reshape(g.Scope(name), x.tensor, ShapeFrom(shape)));
      },
      py::arg("name"), py::arg("x"), py::arg("shape"));
  type.def(
      "cast",
      [](Builder& g, const std::string& name, const Value& x,
         const std::string& dtype) {
        return g.Checked(
            CastTo(g.Scope(name), x.tensor, ParseDTypeOrThrow(dtype)));
      },
      py::arg("name"), py::arg("x"), py::arg("dtype"));
}

void BindLosses(BuilderClass& type) {
  type.def(
      "sparse_softmax_cross_entropy",
      [](Builder& g, const std::string& name, const Value& logits,
         const Value& labels) {
        return g.Checked(SparseSoftmaxCrossEntropy(g.Scope(name), logits.tensor,
                                                   labels.tensor));
      },
      py::arg("name"), py::arg("logits"), py::arg("labels"),
      "The mean over the rows of logits [batch, classes]; labels: int32 "
      "[batch].");
  type.def(
      "mean_squared_distance",
      [](Builder& g, const std::string& name, const Value& a, const Value& b) {
        return g.Checked(
            MeanSquaredDistance(g.Scope(name), a.tensor, b.tensor));
      },
      py::arg("name"), py::arg("a"), py::arg("b"),
      "The mean of (a - b)^2 over all elements.");
  type.def(
      "accuracy",
      [](Builder& g, const std::string& name, const Value& logits,
         const Value& labels, int64_t k) {
        return g.Checked(
            Accuracy(g.Scope(name), logits.tensor, labels.tensor, k));
      },
      py::arg("name"), py::arg("logits"), py::arg("labels"), py::arg("k") = 1,
      "The part of the batch whose label is among the k largest logits.");
}

}  // namespace

void BindLayers(BuilderClass& type) {
  BindConvolutions(type);
  BindNormalization(type);
  BindLrn(type);
  BindDenseLayers(type);
  BindShapes(type);
  BindLosses(type);
}

}  // namespace spillway::python

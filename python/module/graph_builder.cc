// GraphBuilder with its layers as methods. A layer's first argument is the name
// of its scope, within those of `with g.scope(name):`.
#include "python/module/graph_builder.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/builder.h"
#include "graph/passes/pass.h"
#include "models/layers/layers.h"
#include "models/layers/transformer_layers.h"
#include "ops/all_ops.h"
#include "pybind11/stl.h"
#include "python/module/arrays.h"
#include "python/module/optimizers.h"
#include "python/module/options.h"
#include "python/module/status.h"
#include "python/module/step.h"
#include "training/optimizer.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

class Builder;

// A tensor keeps its builder alive.
struct Value {
  std::shared_ptr<Builder> builder = {};
  Tensor tensor = {};
};

class Builder : public std::enable_shared_from_this<Builder> {
 public:
  explicit Builder(const std::string& name) : g_(name) {}

  GraphBuilder& graph() { return g_; }

  void Enter(const std::string& name) { scopes_.push_back(name); }
  void Leave() { scopes_.pop_back(); }

  NameScope Scope(const std::string& name) {
    NameScope scope(g_);
    for (const std::string& outer : scopes_) scope = scope.Scope(outer);
    return name.empty() ? scope : scope.Scope(name);
  }

  // Throws the first error; a result that is valid belongs to this builder.
  Value Checked(Tensor tensor) {
    ThrowIfError(g_.status());
    return {.builder = shared_from_this(), .tensor = tensor};
  }

 private:
  GraphBuilder g_;
  std::vector<std::string> scopes_;
};

// `with g.scope("block1"):`
class ScopeGuard {
 public:
  ScopeGuard(std::shared_ptr<Builder> builder, std::string name)
      : builder_(std::move(builder)), name_(std::move(name)) {}
  void Enter() { builder_->Enter(name_); }
  void Exit(const py::args& /*exception*/) { builder_->Leave(); }

 private:
  std::shared_ptr<Builder> builder_;
  std::string name_;
};

// 3 or (3, 5)
std::array<int64_t, 2> Pair(py::handle value) {
  if (py::isinstance<py::int_>(value)) {
    const auto both = py::cast<int64_t>(value);
    return {both, both};
  }
  return py::cast<std::array<int64_t, 2>>(value);
}

const std::map<std::string, Activation> kActivations = {
    {"none", Activation::kNone},       {"relu", Activation::kRelu},
    {"relu6", Activation::kRelu6},     {"elu", Activation::kElu},
    {"sigmoid", Activation::kSigmoid}, {"tanh", Activation::kTanh}};

Activation ActivationFrom(py::handle value) {
  return value.is_none() ? Activation::kNone : ChoiceOf(value, kActivations);
}

// None, a bool, a number, a text, a list or a dict.
AttributeValue AttributeFrom(py::handle value) {
  if (value.is_none()) return {};
  if (py::isinstance<py::bool_>(value)) return py::cast<bool>(value);
  if (py::isinstance<py::int_>(value)) return py::cast<int64_t>(value);
  if (py::isinstance<py::float_>(value)) return py::cast<double>(value);
  if (py::isinstance<py::str>(value)) return py::cast<std::string>(value);
  if (py::isinstance<py::dict>(value)) {
    AttributeValue::Object object;
    for (const auto& [key, item] : py::cast<py::dict>(value)) {
      object[py::cast<std::string>(key)] = AttributeFrom(item);
    }
    return object;
  }
  AttributeValue::List list;
  for (const py::handle item : py::cast<py::sequence>(value)) {
    list.push_back(AttributeFrom(item));
  }
  return list;
}

std::vector<Tensor> TensorsOf(const std::vector<Value>& values) {
  std::vector<Tensor> tensors;
  tensors.reserve(values.size());
  for (const Value& value : values) tensors.push_back(value.tensor);
  return tensors;
}

std::vector<Value> AddOp(Builder& g, const std::string& op,
                         const std::vector<Value>& inputs,
                         const py::kwargs& attributes) {
  OpSpec spec = {.op = op, .inputs = TensorsOf(inputs)};
  std::string name;
  for (const auto& [key, value] : attributes) {
    const auto attribute = py::cast<std::string>(key);
    if (attribute == "name") {
      spec.name = py::cast<std::string>(value);
    } else {
      spec.attributes.Set(attribute, AttributeFrom(value));
    }
  }
  std::vector<Value> outputs;
  for (const Tensor output : g.graph().AddAll(g.Scope(""), std::move(spec))) {
    outputs.push_back({.builder = g.shared_from_this(), .tensor = output});
  }
  ThrowIfError(g.graph().status());
  return outputs;
}

Initializer InitializerFrom(py::handle value) {
  if (py::isinstance<py::float_>(value) || py::isinstance<py::int_>(value)) {
    return Initializer::Constant(py::cast<double>(value));
  }
  const auto [kind, number] = py::cast<std::pair<std::string, double>>(value);
  if (kind == "constant") return Initializer::Constant(number);
  if (kind == "truncated_normal") return Initializer::TruncatedNormal(number);
  if (kind == "variance_scaling") return Initializer::VarianceScaling(number);
  throw StatusError(
      InvalidArgument(fmt::format("initializer: '{}' is none of 'constant', "
                                  "'truncated_normal', 'variance_scaling'",
                                  kind)));
}

// The finished graph after the passes, with these outputs.
StepPtr Finish(Builder& g, const std::string& name,
               const std::vector<std::pair<std::string, Tensor>>& outputs,
               const std::string& passes, const std::string& device,
               bool has_loss) {
  std::vector<ValueId> keep;
  keep.reserve(outputs.size());
  for (const auto& [output, tensor] : outputs) keep.push_back(tensor.id());
  const std::vector<Pass> selected = PassesFor(passes, device);
  const Graph graph = ValueOrThrow(std::move(g.graph()).Build());
  OptimizedGraph optimized =
      ValueOrThrow(RunPasses(graph, StandardOps(), selected, keep));
  Step step = StepOf(name, std::move(optimized.graph));
  step.has_loss = has_loss;
  for (const auto& [output, tensor] : outputs) {
    step.outputs.emplace_back(output, optimized.at(tensor.id()));
  }
  for (const auto& [input, fed] : step.inputs) {
    if (fed.type.shape.rank() == 0) continue;
    step.batch_size = fed.type.shape.dim(0);
    break;
  }
  return std::make_shared<const Step>(std::move(step));
}

using NamedValues = std::map<std::string, Value>;

StepPtr TrainingStep(Builder& g, const Value& loss, py::handle optimizer,
                     const NamedValues& fetches, const py::kwargs& settings) {
  Minimization minimization = MinimizationFrom(optimizer, settings);
  if (minimization.feeds_rate) {
    minimization.options.learning_rate_feed =
        g.graph().Placeholder("learning_rate", DType::kFloat32, {});
  }
  Minimize(g.graph().Scope(minimization.scope()), loss.tensor,
           minimization.optimizer, minimization.options);
  ThrowIfError(g.graph().status());
  std::vector<std::pair<std::string, Tensor>> outputs = {{"loss", loss.tensor}};
  for (const auto& [name, value] : fetches) {
    outputs.emplace_back(name, value.tensor);
  }
  return Finish(g, "training step", outputs, minimization.passes,
                minimization.device, /*has_loss=*/true);
}

StepPtr ForwardStep(Builder& g, const NamedValues& fetches,
                    const std::string& passes, const std::string& device) {
  std::vector<std::pair<std::string, Tensor>> outputs;
  for (const auto& [name, value] : fetches) {
    outputs.emplace_back(name, value.tensor);
  }
  return Finish(g, "step", outputs, passes, device,
                /*has_loss=*/false);
}

void BindTensor(py::module_& module) {
  const auto arithmetic = [](auto operation) {
    return [operation](const Value& a, const Value& b) {
      return a.builder->Checked(operation(a.tensor, b.tensor));
    };
  };
  const auto with_number = [](auto operation) {
    return [operation](const Value& a, double b) {
      return a.builder->Checked(operation(a.tensor, b));
    };
  };
  py::class_<Value>(module, "Tensor",
                    "A value of the graph under construction; + - * add nodes.")
      .def_property_readonly(
          "shape", [](const Value& x) { return ShapeOf(x.tensor.shape()); })
      .def_property_readonly(
          "dtype", [](const Value& x) { return DTypeNameOf(x.tensor.dtype()); })
      .def("__add__", arithmetic([](Tensor a, Tensor b) { return a + b; }))
      .def("__add__", with_number([](Tensor a, double b) { return a + b; }))
      .def("__radd__", with_number([](Tensor a, double b) { return b + a; }))
      .def("__sub__", arithmetic([](Tensor a, Tensor b) { return a - b; }))
      .def("__sub__", with_number([](Tensor a, double b) { return a - b; }))
      .def("__rsub__", with_number([](Tensor a, double b) { return b - a; }))
      .def("__mul__", arithmetic([](Tensor a, Tensor b) { return a * b; }))
      .def("__mul__", with_number([](Tensor a, double b) { return a * b; }))
      .def("__rmul__", with_number([](Tensor a, double b) { return b * a; }))
      .def("__repr__", [](const Value& x) {
        return fmt::format("<spillway.Tensor {}>", x.tensor.type().ToString());
      });
}

using BuilderClass = py::class_<Builder, std::shared_ptr<Builder>>;

void BindConvolutions(BuilderClass& type) {
  type.def(
      "conv2d",
      [](Builder& g, const std::string& name, const Value& x, int64_t filters,
         py::handle kernel, py::handle strides, const std::string& padding,
         py::handle dilations, int64_t groups, bool use_bias,
         py::handle activation) {
        return g.Checked(Conv2D(g.Scope(name), x.tensor,
                                {.filters = filters,
                                 .kernel = Pair(kernel),
                                 .strides = Pair(strides),
                                 .padding = padding,
                                 .dilations = Pair(dilations),
                                 .groups = groups,
                                 .use_bias = use_bias,
                                 .activation = ActivationFrom(activation)}));
      },
      py::arg("name"), py::arg("x"), py::kw_only(), py::arg("filters"),
      py::arg("kernel") = 1, py::arg("strides") = 1,
      py::arg("padding") = "SAME", py::arg("dilations") = 1,
      py::arg("groups") = 1, py::arg("use_bias") = true,
      py::arg("activation") = py::none(),
      "x: [batch, height, width, channels]. padding: \"SAME\", \"VALID\" or "
      "\"SAME_RESNET\". activation: \"relu\", \"relu6\", \"elu\", \"sigmoid\" "
      "or \"tanh\".");
  const auto pool =
      [&type](const char* method,
              Tensor (*add)(const NameScope&, Tensor, const PoolOptions&)) {
        type.def(
            method,
            [add](Builder& g, const std::string& name, const Value& x,
                  py::handle window, py::handle strides,
                  const std::string& padding) {
              return g.Checked(add(g.Scope(name), x.tensor,
                                   {.window = Pair(window),
                                    .strides = Pair(strides),
                                    .padding = padding}));
            },
            py::arg("name"), py::arg("x"), py::kw_only(), py::arg("window") = 2,
            py::arg("strides") = 2, py::arg("padding") = "VALID",
            "padding: \"VALID\", \"SAME\" or \"CEIL\" (Caffe's).");
      };
  pool("max_pool", MaxPool);
  pool("avg_pool", AvgPool);
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
  type.def(
      "transformer_block",
      [](Builder& g, const std::string& name, const Value& x, int64_t heads,
         bool is_causal, int64_t hidden, double epsilon) {
        return g.Checked(TransformerBlock(g.Scope(name), x.tensor,
                                          {.heads = heads,
                                           .is_causal = is_causal,
                                           .hidden = hidden,
                                           .epsilon = epsilon}));
      },
      py::arg("name"), py::arg("x"), py::kw_only(), py::arg("heads"),
      py::arg("is_causal") = false, py::arg("hidden") = 0,
      py::arg("epsilon") = 1e-5, "x: [batch, length, width].");
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

void BindGraph(BuilderClass& type) {
  type.def(py::init<const std::string&>(), py::arg("name") = "graph")
      .def(
          "scope",
          [](const std::shared_ptr<Builder>& g, const std::string& name) {
            return ScopeGuard(g, name);
          },
          py::arg("name"), "For `with`: a prefix of all names in it.")
      .def(
          "placeholder",
          [](Builder& g, const std::string& name, const std::string& dtype,
             const std::vector<int64_t>& shape) {
            return g.Checked(g.graph().Placeholder(
                name, ParseDTypeOrThrow(dtype), ShapeFrom(shape)));
          },
          py::arg("name"), py::arg("dtype"), py::arg("shape"),
          "What each run is fed under this name.")
      .def(
          "variable",
          [](Builder& g, const std::string& name,
             const std::vector<int64_t>& shape, py::handle initializer,
             bool trainable) {
            return g.Checked(AddVariable(
                g.Scope(""), {.name = name,
                              .shape = ShapeFrom(shape),
                              .initializer = InitializerFrom(initializer),
                              .trainable = trainable}));
          },
          py::arg("name"), py::arg("shape"), py::arg("initializer") = 0.0,
          py::arg("trainable") = true,
          "float32. initializer: a number, or (\"truncated_normal\", standard "
          "deviation) or (\"variance_scaling\", scale).")
      .def("add_op", AddOp, py::arg("op"), py::arg("inputs"),
           "Any op of docs/ops.md, with its attributes as keyword arguments "
           "(and name, of the node). Returns the list of its outputs.")
      .def("training_step", TrainingStep, py::arg("loss"),
           py::arg("optimizer") = "sgd", py::arg("fetches") = NamedValues(),
           "Ends the graph with backward pass and update. fetches: {name: "
           "tensor} that a run returns beside the loss. Keyword arguments: as "
           "Model.training_step.")
      .def("forward_step", ForwardStep, py::arg("fetches"),
           py::arg("passes") = "auto", py::arg("device") = "",
           "Ends the graph as it is: a run returns the fetches, {name: "
           "tensor}.");
}

}  // namespace

void BindGraphBuilder(py::module_& module) {
  BindTensor(module);
  py::class_<ScopeGuard>(module, "_Scope")
      .def("__enter__", &ScopeGuard::Enter)
      .def("__exit__", &ScopeGuard::Exit);
  BuilderClass type(
      module, "GraphBuilder",
      "Builds a network from layers. Shapes are checked at once; images are "
      "[batch, height, width, channels]. The first argument of a layer is its "
      "name, that of its variables' scope.");
  BindGraph(type);
  BindConvolutions(type);
  BindNormalization(type);
  BindDenseLayers(type);
  BindShapes(type);
  BindLosses(type);
}

}  // namespace spillway::python

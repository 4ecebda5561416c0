#include "python/module/graph/graph_builder.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "models/layers/initializer.h"
#include "pybind11/stl.h"
#include "python/module/arrays.h"
#include "python/module/graph/numpy_op.h"
#include "python/module/graph/optimizers.h"
#include "python/module/graph/step.h"
#include "python/module/options.h"
#include "python/module/status.h"
#include "training/optimizer.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

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

std::vector<Value> AddOp(Builder& g, const std::string& op,
                         const std::vector<Value>& inputs,
                         const py::kwargs& attributes) {
  OpSpec spec = {.op = op, .inputs = TensorsOf(inputs)};
  for (const auto& [key, value] : attributes) {
    const auto attribute = py::cast<std::string>(key);
    if (attribute == "name") {
      spec.name = py::cast<std::string>(value);
    } else {
      spec.attributes.Set(attribute, AttributeFrom(value));
    }
  }
  return g.CheckedAll(g.graph().AddAll(g.Scope(""), std::move(spec)));
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

using NamedValues = std::map<std::string, Value>;

// The rows of the first input that has any.
int64_t BatchSizeOf(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op != kPlaceholder) continue;
    const Shape& shape = graph.type(node.outputs[0]).shape;
    if (shape.rank() > 0) return shape.dim(0);
  }
  return 0;
}

bool IsScalar(Tensor tensor) {
  return tensor.type() == TensorType{.dtype = DType::kFloat32, .shape = {}};
}

StepPtr TrainingStep(Builder& g, const Value& loss, py::handle optimizer,
                     const NamedValues& fetches, const py::kwargs& arguments) {
  TrainingSettings settings = TrainingSettingsFrom(optimizer, arguments);
  ForwardPhase phase = {.loss = loss.tensor};
  std::vector<std::string> names;
  for (const auto& [name, value] : fetches) {
    if (name == "accuracy" && IsScalar(value.tensor)) {
      phase.accuracy = value.tensor;
      continue;
    }
    names.push_back(name);
    phase.fetches.push_back(value.tensor);
  }
  const int64_t batch_size = BatchSizeOf(g.graph().graph());
  TrainingPrograms programs = ValueOrThrow(MakeTrainingPrograms(
      settings.plan(), settings.spec, std::move(g.graph()), phase));
  return std::make_shared<const Step>(
      TrainingStepOf("training step", std::move(programs), names, batch_size,
                     settings.accumulate, std::move(settings.workers)));
}

StepPtr ForwardStep(Builder& g, const NamedValues& fetches,
                    const std::string& passes, const std::string& device) {
  Outputs outputs;
  for (const auto& [name, value] : fetches) {
    outputs.emplace_back(name, value.tensor);
  }
  const int64_t batch_size = BatchSizeOf(g.graph().graph());
  Step step = OptimizedStep("step", std::move(g.graph()), outputs,
                            PassesFor(passes, device));
  step.batch_size = batch_size;
  return std::make_shared<const Step>(std::move(step));
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
      .def("numpy_op", AddNumPyOp, py::arg("name"), py::arg("inputs"),
           py::arg("forward"), py::arg("backward") = py::none(),
           py::arg("outputs") = py::none(), kNumPyOpDoc)
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

std::vector<Tensor> TensorsOf(const std::vector<Value>& values) {
  std::vector<Tensor> tensors;
  tensors.reserve(values.size());
  for (const Value& value : values) tensors.push_back(value.tensor);
  return tensors;
}

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
  BindLayers(type);
}

}  // namespace spillway::python

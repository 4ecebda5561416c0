#include "python/module/graph/numpy_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "base/status_macros.h"
#include "executor/standard_kernels.h"
#include "graph/builder/gradient.h"
#include "graph/op_def.h"
#include "ops/all_ops.h"
#include "pybind11/numpy.h"
#include "pybind11/stl.h"
#include "python/module/arrays.h"
#include "python/module/graph/graph_builder.h"
#include "python/module/status.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

constexpr const char* kForward = "NumPyOp";
constexpr const char* kBackward = "NumPyOpGrad";
constexpr int kMostOutputs = 16;

struct Functions {
  py::object forward;
  py::object backward;  // None: there is no gradient
};

// By name. Never destroyed: the interpreter ends before static objects do. The
// GIL guards it.
std::map<std::string, Functions>& Table() {
  static auto& table = *new std::map<std::string, Functions>;
  return table;
}

std::string NameOf(py::handle function) {
  const auto part = [&](const char* attribute) -> std::string {
    return py::str(py::getattr(function, attribute, py::str("?")));
  };
  return part("__module__") + "." + part("__qualname__");
}

// The name of these functions; others of the same name get a number.
std::string Register(const Functions& functions) {
  const std::string base = NameOf(functions.forward);
  std::string name = base;
  for (int number = 2;; ++number) {
    const auto [entry, is_new] = Table().try_emplace(name, functions);
    if (is_new || (entry->second.forward.is(functions.forward) &&
                   entry->second.backward.is(functions.backward))) {
      return name;
    }
    name = fmt::format("{}#{}", base, number);
  }
}

// Valid for ever.
absl::StatusOr<const Functions*> Find(const std::string& name) {
  const py::gil_scoped_acquire gil;
  const auto found = Table().find(name);
  if (found != Table().end()) return &found->second;
  return NotFound(fmt::format(
      "this process has no function '{}': the graph is of another", name));
}

// What the nodes say of themselves.

AttributeValue TypesValue(const std::vector<TensorType>& types) {
  AttributeValue::List list;
  for (const TensorType& type : types) {
    AttributeValue::Object object;
    object["dtype"] = type.dtype;
    object["shape"] = type.shape;
    list.emplace_back(std::move(object));
  }
  return list;
}

absl::StatusOr<std::vector<TensorType>> InferForward(const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(node.attributes.GetString("function").status());
  const AttributeValue* value = node.attributes.Find("outputs");
  const auto* list = value == nullptr
                         ? nullptr
                         : std::get_if<AttributeValue::List>(&value->variant());
  if (list == nullptr) return InvalidArgument("outputs must be a list");
  std::vector<TensorType> types;
  for (const AttributeValue& item : *list) {
    const auto* object = std::get_if<AttributeValue::Object>(&item.variant());
    if (object == nullptr) return InvalidArgument("outputs must have objects");
    const Attributes type(*object);
    TensorType& output = types.emplace_back();
    SPILLWAY_ASSIGN_OR_RETURN(output.dtype, type.GetDType("dtype"));
    SPILLWAY_ASSIGN_OR_RETURN(output.shape, type.GetShape("shape"));
  }
  if (types.empty() || types.size() > kMostOutputs) {
    return InvalidArgument(fmt::format("a node has 1 to {} outputs, not {}",
                                       kMostOutputs, types.size()));
  }
  return types;
}

// What a NumPyOpGrad reads: inputs and outputs of the forward node, and the
// gradients of those outputs that one has reached. It computes those of the
// inputs that are wanted.
struct BackwardNode {
  int64_t num_inputs = 0;
  int64_t num_outputs = 0;
  std::vector<int64_t> reached = {};
  std::vector<int64_t> wanted = {};
};

bool AreBelow(const std::vector<int64_t>& numbers, int64_t limit) {
  return std::ranges::all_of(numbers, [limit](int64_t number) {
    return number >= 0 && number < limit;
  });
}

absl::StatusOr<BackwardNode> ReadBackward(const Attributes& attributes,
                                          std::span<const TensorType> inputs) {
  BackwardNode node;
  SPILLWAY_ASSIGN_OR_RETURN(node.num_inputs, attributes.GetInt("num_inputs"));
  SPILLWAY_ASSIGN_OR_RETURN(node.reached, attributes.GetInts("reached"));
  SPILLWAY_ASSIGN_OR_RETURN(node.wanted, attributes.GetInts("wanted"));
  node.num_outputs = static_cast<int64_t>(inputs.size()) - node.num_inputs -
                     static_cast<int64_t>(node.reached.size());
  if (node.num_inputs < 1 || node.num_outputs < 1 ||
      !AreBelow(node.reached, node.num_outputs) ||
      !AreBelow(node.wanted, node.num_inputs)) {
    return InvalidArgument(
        "num_inputs, reached and wanted do not fit the inputs");
  }
  return node;
}

absl::StatusOr<std::vector<TensorType>> InferBackward(
    const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(node.attributes.GetString("function").status());
  SPILLWAY_ASSIGN_OR_RETURN(const BackwardNode read,
                            ReadBackward(node.attributes, node.inputs));
  std::vector<TensorType> types;
  for (const int64_t input : read.wanted) {
    types.push_back(node.inputs[static_cast<size_t>(input)]);
  }
  return types;
}

absl::StatusOr<std::vector<Tensor>> Gradient(GradientContext& grad) {
  const auto num_inputs = static_cast<size_t>(grad.num_inputs());
  std::vector<Tensor> gradients(num_inputs);
  SPILLWAY_ASSIGN_OR_RETURN(const std::string name,
                            grad.attributes().GetString("function"));
  std::vector<int64_t> wanted;
  std::vector<Tensor> inputs;
  for (int i = 0; i < grad.num_inputs(); ++i) {
    inputs.push_back(grad.x(i));
    if (grad.wants(i) && IsFloating(grad.x(i).dtype())) wanted.push_back(i);
  }
  if (wanted.empty()) return gradients;
  SPILLWAY_ASSIGN_OR_RETURN(const Functions* functions, Find(name));
  if (functions->backward.is_none()) {
    return InvalidArgument(fmt::format(
        "'{}' has no backward function, so what comes before it cannot be "
        "trained",
        name));
  }
  std::vector<int64_t> reached;  // outputs that a gradient reaches
  std::vector<Tensor> output_gradients;
  for (int i = 0; i < grad.num_outputs(); ++i) {
    inputs.push_back(grad.y(i));
    if (!grad.dy(i).is_valid()) continue;
    reached.push_back(i);
    output_gradients.push_back(grad.dy(i));
  }
  inputs.insert(inputs.end(), output_gradients.begin(), output_gradients.end());
  const std::vector<Tensor> computed =
      grad.AddAll(kBackward, inputs,
                  {{"function", name},
                   {"num_inputs", static_cast<int64_t>(num_inputs)},
                   {"reached", reached},
                   {"wanted", wanted}});
  if (computed.size() != wanted.size()) return gradients;  // after an error
  for (size_t i = 0; i < wanted.size(); ++i) {
    gradients[static_cast<size_t>(wanted[i])] = computed[i];
  }
  return gradients;
}

// Kernels.

// A copy: a function may keep its arguments for longer than the step.
py::array ArrayAt(const void* data, const TensorType& type) {
  const auto* begin = static_cast<const std::byte*>(data);
  return ArrayOf({.type = type, .bytes = {begin, begin + type.num_bytes()}});
}

py::array Zeros(const TensorType& type) {
  return ArrayOf(
      {.type = type,
       .bytes = std::vector<std::byte>(static_cast<size_t>(type.num_bytes()))});
}

// The results of a function that returns one, or a tuple or list of several.
std::vector<py::object> Results(const py::object& returned) {
  if (!py::isinstance<py::tuple>(returned) &&
      !py::isinstance<py::list>(returned)) {
    return {returned};
  }
  return returned.cast<std::vector<py::object>>();
}

void CopyTo(py::handle value, const TensorType& type, const std::string& name,
            void* to) {
  const ArrayTensor tensor = TensorOf(value, type, name);
  std::memcpy(to, tensor.view.data, static_cast<size_t>(type.num_bytes()));
}

class NumPyKernel : public Kernel {
 public:
  NumPyKernel(const KernelRequest& node, std::string name,
              const Functions* functions)
      : inputs_(node.inputs.begin(), node.inputs.end()),
        outputs_(node.outputs.begin(), node.outputs.end()),
        name_(std::move(name)),
        functions_(functions) {}

  absl::Status Run(const KernelContext& context) override {
    const py::gil_scoped_acquire gil;
    try {
      Call(context);
    } catch (const py::error_already_set& error) {
      return InvalidArgument(fmt::format("'{}': {}", name_, error.what()));
    } catch (const StatusError& error) {
      return Annotate(error.status(), fmt::format("'{}'", name_));
    }
    return absl::OkStatus();
  }

 protected:
  virtual void Call(const KernelContext& context) const = 0;

  const Functions& functions() const { return *functions_; }
  const std::vector<TensorType>& inputs() const { return inputs_; }
  const std::vector<TensorType>& outputs() const { return outputs_; }

  // Arrays of the inputs [begin, end).
  std::vector<py::array> Arrays(const KernelContext& context, size_t begin,
                                size_t end) const {
    std::vector<py::array> arrays;
    for (size_t i = begin; i < end; ++i) {
      arrays.push_back(ArrayAt(context.inputs[i], inputs_[i]));
    }
    return arrays;
  }

 private:
  std::vector<TensorType> inputs_;
  std::vector<TensorType> outputs_;
  std::string name_;
  const Functions* functions_;
};

void CheckCount(size_t count, size_t wanted, const char* what) {
  if (count == wanted) return;
  throw StatusError(InvalidArgument(
      fmt::format("it returned {} {}, not {}", count, what, wanted)));
}

class ForwardKernel final : public NumPyKernel {
 public:
  using NumPyKernel::NumPyKernel;

 private:
  void Call(const KernelContext& context) const override {
    const std::vector<py::object> results = Results(functions().forward(
        *py::tuple(py::cast(Arrays(context, 0, inputs().size())))));
    CheckCount(results.size(), outputs().size(), "arrays");
    for (size_t i = 0; i < results.size(); ++i) {
      CopyTo(results[i], outputs()[i], fmt::format("output {}", i),
             context.outputs[i]);
    }
  }
};

// backward(inputs, outputs, gradients)
class BackwardKernel final : public NumPyKernel {
 public:
  BackwardKernel(const KernelRequest& request, std::string name,
                 const Functions* functions, BackwardNode node)
      : NumPyKernel(request, std::move(name), functions),
        node_(std::move(node)) {}

 private:
  void Call(const KernelContext& context) const override {
    const auto first_output = static_cast<size_t>(node_.num_inputs);
    const size_t first_gradient =
        first_output + static_cast<size_t>(node_.num_outputs);
    const std::vector<py::array> reached =
        Arrays(context, first_gradient, inputs().size());
    std::vector<py::array> gradients;
    for (size_t i = first_output; i < first_gradient; ++i) {
      gradients.push_back(Zeros(inputs()[i]));
    }
    for (size_t i = 0; i < reached.size(); ++i) {
      gradients[static_cast<size_t>(node_.reached[i])] = reached[i];
    }
    const std::vector<py::object> results = Results(functions().backward(
        py::tuple(py::cast(Arrays(context, 0, first_output))),
        py::tuple(py::cast(Arrays(context, first_output, first_gradient))),
        py::tuple(py::cast(gradients))));
    CheckCount(results.size(), first_output, "gradients");
    for (size_t i = 0; i < node_.wanted.size(); ++i) {
      const auto input = static_cast<size_t>(node_.wanted[i]);
      if (results[input].is_none()) {
        std::memset(context.outputs[i], 0,
                    static_cast<size_t>(outputs()[i].num_bytes()));
        continue;
      }
      CopyTo(results[input], outputs()[i],
             fmt::format("the gradient of input {}", input),
             context.outputs[i]);
    }
  }

  BackwardNode node_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeForward(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(std::string name,
                            node.attributes.GetString("function"));
  SPILLWAY_ASSIGN_OR_RETURN(const Functions* functions, Find(name));
  return std::make_unique<ForwardKernel>(node, std::move(name), functions);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBackward(
    const KernelRequest& request) {
  SPILLWAY_ASSIGN_OR_RETURN(std::string name,
                            request.attributes.GetString("function"));
  SPILLWAY_ASSIGN_OR_RETURN(BackwardNode node,
                            ReadBackward(request.attributes, request.inputs));
  SPILLWAY_ASSIGN_OR_RETURN(const Functions* functions, Find(name));
  return std::make_unique<BackwardKernel>(request, std::move(name), functions,
                                          std::move(node));
}

std::vector<std::string> Numbered(const char* letters, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i)
    names.push_back(fmt::format("{}{}", letters, i));
  return names;
}

// The types of the outputs, as the caller says or as `forward` shows.
std::vector<TensorType> OutputTypes(const std::vector<Value>& inputs,
                                    const py::object& forward,
                                    const py::object& outputs) {
  std::vector<TensorType> types;
  if (!outputs.is_none()) {
    using Given = std::vector<std::pair<std::string, std::vector<int64_t>>>;
    for (const auto& [dtype, dims] : outputs.cast<Given>()) {
      types.push_back(
          {.dtype = ParseDTypeOrThrow(dtype), .shape = ShapeFrom(dims)});
    }
    return types;
  }
  py::tuple zeros(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    zeros[i] = Zeros(inputs[i].tensor.type());
  }
  for (const py::object& result : Results(forward(*zeros))) {
    types.push_back(TypeFrom(result));
  }
  return types;
}

}  // namespace

const OpRegistry& Ops() {
  static const OpRegistry& registry = *[] {
    auto* ops = new OpRegistry(StandardOps());
    ops->Add({.name = kForward,
              .inputs = {"x"},
              .outputs = Numbered("y", kMostOutputs),
              .variadic = true,
              .attributes = {"function", "outputs"},
              .infer = InferForward,
              .gradient = Gradient,
              .recompute = RecomputeRule::kNever});
    ops->Add({.name = kBackward,
              .inputs = {"x"},
              .outputs = Numbered("dx", kMostOutputs),
              .variadic = true,
              .attributes = {"function", "num_inputs", "reached", "wanted"},
              .infer = InferBackward,
              .recompute = RecomputeRule::kNever});
    return ops;
  }();
  return registry;
}

const KernelRegistry& Kernels() {
  static const KernelRegistry& registry = *[] {
    auto* kernels = new KernelRegistry(StandardKernels());
    kernels->Add(kForward, DeviceKind::kCpu, MakeForward);
    kernels->Add(kBackward, DeviceKind::kCpu, MakeBackward);
    return kernels;
  }();
  return registry;
}

py::object AddNumPyOp(Builder& g, const std::string& name,
                      const std::vector<Value>& inputs,
                      const py::object& forward, const py::object& backward,
                      const py::object& outputs) {
  if (inputs.empty() || inputs.size() > kMostOutputs) {
    throw StatusError(
        InvalidArgument(fmt::format("{}: a node has 1 to {} inputs, not {}",
                                    name, kMostOutputs, inputs.size())));
  }
  const AttributeValue types =
      TypesValue(OutputTypes(inputs, forward, outputs));
  const std::string function = Register({forward, backward});
  const std::vector<Value> values = g.CheckedAll(g.graph().AddAll(
      g.Scope(""), {.op = kForward,
                    .inputs = TensorsOf(inputs),
                    .attributes = {{"function", function}, {"outputs", types}},
                    .name = name}));
  return values.size() == 1 ? py::cast(values[0]) : py::cast(values);
}

const char* const kNumPyOpDoc =
    R"(An op of your own, from functions over NumPy arrays: for prototypes. Each run
copies its inputs and outputs and takes the GIL, so it is slow; it runs on the
CPU only.

forward(*inputs): returns the output, or a tuple of outputs.
backward(inputs, outputs, gradients): three tuples of arrays; returns the gradient
    of the input, or a tuple with one for each input, None for zeros. None: what
    comes before the op is not trained.
outputs: [(dtype, shape)] of the outputs. None: forward is called once with zeros
    to learn them.

Both must return the same for the same inputs, so that results do not depend on
the budget. Returns the output Tensor, or the list of several.)";

}  // namespace spillway::python

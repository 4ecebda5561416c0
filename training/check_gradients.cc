#include "training/check_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "base/counted.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/builder/gradient.h"
#include "graph/input_groups.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

using Values = std::map<ValueId, HostTensor>;

bool Contains(const std::vector<int>& list, int item) {
  return std::ranges::find(list, item) != list.end();
}

float* FloatsOf(HostTensor& tensor) {
  return reinterpret_cast<float*>(tensor.bytes.data());
}

HostTensor ZeroTensor(const TensorType& type) {
  HostTensor tensor;
  tensor.type = type;
  tensor.bytes.resize(static_cast<size_t>(type.num_bytes()));
  return tensor;
}

HostTensor RandomTensor(const TensorType& type, uint64_t key) {
  HostTensor tensor = ZeroTensor(type);
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    FloatsOf(tensor)[i] =
        static_cast<float>(NormalAt(key, static_cast<uint64_t>(i)));
  }
  return tensor;
}

// Whether T has this value: integer types exactly, floating-point types after
// rounding.
template <typename T>
bool Has(double value) {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::is_integer) {
    // A double cannot represent the largest int64_t, but it can represent 2^63.
    const double end = std::ldexp(1.0, Limits::digits);
    return value >= static_cast<double>(Limits::lowest()) && value < end &&
           std::trunc(value) == value;
  } else {
    return !std::isfinite(value) ||
           std::abs(value) <= static_cast<double>(Limits::max());
  }
}

template <typename T>
absl::StatusOr<HostTensor> Converted(const TensorType& type,
                                     const std::vector<double>& values) {
  HostTensor tensor = ZeroTensor(type);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!Has<T>(values[i])) {
      return InvalidArgument(fmt::format("value {} is {}, which {} cannot hold",
                                         i, values[i], DTypeName(type.dtype)));
    }
    const T element = static_cast<T>(values[i]);
    std::memcpy(tensor.bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return tensor;
}

absl::StatusOr<HostTensor> TensorOf(const TensorType& type,
                                    const std::vector<double>& values) {
  if (static_cast<int64_t>(values.size()) != type.num_elements()) {
    return InvalidArgument(
        fmt::format("{} values for {}", values.size(), type.ToString()));
  }
  switch (type.dtype) {
    case DType::kFloat32:
      return Converted<float>(type, values);
    case DType::kInt32:
      return Converted<int32_t>(type, values);
    case DType::kInt64:
      return Converted<int64_t>(type, values);
    case DType::kUInt8:
      return Converted<uint8_t>(type, values);
    case DType::kBool:
      return Converted<bool>(type, values);
    case DType::kBFloat16:
    case DType::kFloat16:
      break;
  }
  return InvalidArgument(fmt::format(
      "values of {}: too coarse for finite differences", type.ToString()));
}

absl::StatusOr<std::vector<HostTensor>> MakeInputs(const GradientCheck& check) {
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < check.inputs.size(); ++i) {
    const TensorType& type = check.inputs[i];
    SPILLWAY_RETURN_IF_ERROR(
        Annotate(CheckShape(type.shape), fmt::format("input {}", i)));
    const auto given = check.values.find(static_cast<int>(i));
    const uint64_t key = MixKeys(check.seed, i);
    if (given != check.values.end()) {
      absl::StatusOr<HostTensor> tensor = TensorOf(type, given->second);
      if (!tensor.ok()) {
        return Annotate(tensor.status(), fmt::format("input {}", i));
      }
      inputs.push_back(*std::move(tensor));
    } else {
      inputs.push_back(type.dtype == DType::kFloat32 ? RandomTensor(type, key)
                                                     : ZeroTensor(type));
    }
  }
  return inputs;
}

// A graph of the op with its inputs and outputs: a Variable for each input that
// it overwrites, a Placeholder for each other input.
class OpGraph {
 public:
  explicit OpGraph(const GradientCheck& check)
      : check_(check), builder_(*check.ops, "gradient_check") {
    const OpDef* def = check.ops->Find(check.op);
    if (def != nullptr) mutated_ = MutatedInputs(*def, check.inputs.size());
    for (size_t i = 0; i < check.inputs.size(); ++i) AddInput(i);
    outputs_ = builder_.AddAll(
        builder_,
        {.op = check.op, .inputs = inputs_, .attributes = check.attributes});
  }

  // Adds the gradient by every float32 input, given the weights of outputs.
  absl::Status AddGradients() {
    SPILLWAY_RETURN_IF_ERROR(CheckOutputs());
    std::vector<Tensor> output_gradients(outputs_.size());
    for (const int output : check_.outputs) {
      const auto k = static_cast<size_t>(output);
      const TensorType type = outputs_[k].type();
      weights_[output] = output_gradients[k] = builder_.Placeholder(
          fmt::format("weights{}", k), type.dtype, type.shape);
    }
    std::vector<bool> wanted;
    for (const TensorType& type : check_.inputs) {
      wanted.push_back(type.dtype == DType::kFloat32);
    }
    const NodeId node = builder_.graph().producer(outputs_[0]).id;
    SPILLWAY_ASSIGN_OR_RETURN(gradients_,
                              OpGradients(builder_.Scope("gradients"), node,
                                          std::move(output_gradients), wanted));
    return absl::OkStatus();
  }

  absl::StatusOr<Program> Finish(std::vector<ValueId> fetches) {
    SPILLWAY_RETURN_IF_ERROR(builder_.status());
    std::ranges::sort(fetches);
    fetches.erase(std::unique(fetches.begin(), fetches.end()), fetches.end());
    Program program;
    program.fetches = std::move(fetches);
    SPILLWAY_ASSIGN_OR_RETURN(program.graph, std::move(builder_).Build());
    return program;
  }

  const absl::Status& status() const { return builder_.status(); }
  bool is_variable(size_t i) const {
    return Contains(mutated_, static_cast<int>(i));
  }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  // By output, and by input.
  const std::map<int, Tensor>& weights() const { return weights_; }
  const std::vector<Tensor>& gradients() const { return gradients_; }

  static std::string InputName(size_t i) { return fmt::format("input{}", i); }

 private:
  void AddInput(size_t i) {
    const TensorType& type = check_.inputs[i];
    inputs_.push_back(
        is_variable(i)
            ? builder_.Add(builder_, {.op = std::string(kVariable),
                                      .attributes = {{"dtype", type.dtype},
                                                     {"shape", type.shape}},
                                      .name = InputName(i)})
            : builder_.Placeholder(InputName(i), type.dtype, type.shape));
  }

  absl::Status CheckOutputs() const {
    SPILLWAY_RETURN_IF_ERROR(builder_.status());
    for (const int k : check_.outputs) {
      if (k < 0 || static_cast<size_t>(k) >= outputs_.size() ||
          outputs_[static_cast<size_t>(k)].dtype() != DType::kFloat32) {
        return InvalidArgument(fmt::format(
            "there is no output {} of float32: {} has {} outputs here", k,
            check_.op, outputs_.size()));
      }
    }
    return absl::OkStatus();
  }

  const GradientCheck& check_;
  GraphBuilder builder_;
  std::vector<int> mutated_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::map<int, Tensor> weights_;
  std::vector<Tensor> gradients_;
};

// One step of a new session, so that random ops draw the same numbers each
// time.
absl::StatusOr<Values> RunOnce(const GradientCheck& check,
                               const OpGraph& op_graph, const Program& program,
                               const std::vector<HostTensor>& inputs,
                               const Values& weights) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                            NewDevice("inline", {.threads = 1}));
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                            Session::Create({program}, std::move(device),
                                            {.ops = check.ops,
                                             .kernels = check.kernels,
                                             .threads = 1,
                                             .seed = check.seed}));
  Feeds feeds;
  const auto feed = [&](ValueId id, const HostTensor& tensor) {
    feeds[id] = TensorView{.type = tensor.type, .data = tensor.bytes.data()};
  };
  std::map<std::string, HostTensor> variables;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (op_graph.is_variable(i)) {
      variables[OpGraph::InputName(i)] = inputs[i];
    } else {
      feed(op_graph.inputs()[i], inputs[i]);
    }
  }
  for (const auto& [id, tensor] : weights) feed(id, tensor);
  SPILLWAY_RETURN_IF_ERROR(session->WriteVariables(variables));
  SPILLWAY_ASSIGN_OR_RETURN(StepResult step, session->Step(feeds));
  return std::move(step.fetched);
}

// The outputs of the op, and their weighted sum in double.
class Loss {
 public:
  explicit Loss(const GradientCheck& check) : check_(check), graph_(check) {}

  // `weights`: by output.
  absl::Status Prepare(std::map<int, HostTensor> weights) {
    weights_ = std::move(weights);
    std::vector<ValueId> fetches;
    for (const auto& [output, weight] : weights_) {
      fetches.push_back(graph_.outputs()[static_cast<size_t>(output)]);
    }
    SPILLWAY_ASSIGN_OR_RETURN(program_, graph_.Finish(std::move(fetches)));
    return absl::OkStatus();
  }

  absl::StatusOr<double> At(const std::vector<HostTensor>& inputs) const {
    SPILLWAY_ASSIGN_OR_RETURN(const Values values,
                              RunOnce(check_, graph_, program_, inputs, {}));
    double loss = 0;
    for (const auto& [output, weight] : weights_) {
      const ValueId id = graph_.outputs()[static_cast<size_t>(output)];
      const float* y = values.at(id).data<float>();
      const float* w = weight.data<float>();
      for (int64_t i = 0; i < weight.type.num_elements(); ++i) {
        loss += double{y[i]} * double{w[i]};
      }
    }
    return loss;
  }

  // By one element of inputs[input]. Restores the element.
  absl::StatusOr<double> Derivative(std::vector<HostTensor>& inputs,
                                    size_t input, size_t element) const {
    float& x = FloatsOf(inputs[input])[element];
    const float at = x;
    x = static_cast<float>(at + check_.step);
    const double high = x;
    const absl::StatusOr<double> above = At(inputs);
    x = static_cast<float>(at - check_.step);
    const double low = x;
    const absl::StatusOr<double> below = At(inputs);
    x = at;
    SPILLWAY_RETURN_IF_ERROR(above.status());
    SPILLWAY_RETURN_IF_ERROR(below.status());
    return (*above - *below) / (high - low);
  }

 private:
  const GradientCheck& check_;
  OpGraph graph_;
  std::map<int, HostTensor> weights_;
  Program program_;
};

// The inputs to differentiate by.
absl::StatusOr<std::vector<int>> Chosen(const GradientCheck& check,
                                        const OpGraph& graph) {
  std::vector<int> chosen;
  for (size_t i = 0; i < check.inputs.size(); ++i) {
    if (graph.gradients()[i].is_valid()) chosen.push_back(static_cast<int>(i));
  }
  for (const int input : check.differentiate_by) {
    if (Contains(chosen, input)) continue;
    return InvalidArgument(fmt::format(
        "{} has no gradient by input {} (of {}), or the input is not float32",
        check.op, input, check.inputs.size()));
  }
  if (chosen.empty()) {
    return InvalidArgument(
        fmt::format("{}: there is nothing to differentiate", check.op));
  }
  return check.differentiate_by.empty() ? chosen : check.differentiate_by;
}

absl::Status CheckOptions(const GradientCheck& check) {
  if (check.ops == nullptr || check.kernels == nullptr) {
    return InvalidArgument("a gradient check needs ops and kernels");
  }
  if (check.outputs.empty()) {
    return InvalidArgument(
        fmt::format("{}: the loss has no outputs", check.op));
  }
  for (const auto& [input, values] : check.values) {
    const auto slot = static_cast<size_t>(input);
    if (input >= 0 && slot < check.inputs.size()) continue;
    return InvalidArgument(
        fmt::format("values are given for input {}: {} has {} here", input,
                    check.op, Counted(check.inputs.size(), "input")));
  }
  if (!(check.step > 0) || !(check.tolerance > 0)) {
    return InvalidArgument(
        fmt::format("the step ({}) and the tolerance ({}) must be positive",
                    check.step, check.tolerance));
  }
  return absl::OkStatus();
}

absl::StatusOr<GradientDifference> LargestDifference(
    const Loss& loss, std::vector<HostTensor>& inputs, int input,
    const HostTensor& gradient) {
  GradientDifference worst = {.input = input, .error = -1};
  const auto i = static_cast<size_t>(input);
  const auto num_elements = static_cast<size_t>(gradient.type.num_elements());
  for (size_t element = 0; element < num_elements; ++element) {
    SPILLWAY_ASSIGN_OR_RETURN(const double differences,
                              loss.Derivative(inputs, i, element));
    const double graph = gradient.data<float>()[element];
    const double error =
        std::abs(graph - differences) / std::max(1.0, std::abs(differences));
    if (error <= worst.error) continue;  // false for NaN
    worst = {.input = input,
             .element = element,
             .graph = graph,
             .differences = differences,
             .error = error};
    if (std::isnan(error)) break;
  }
  return worst;
}

}  // namespace

absl::StatusOr<std::vector<GradientDifference>> CompareGradients(
    const GradientCheck& check) {
  SPILLWAY_RETURN_IF_ERROR(CheckOptions(check));
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, MakeInputs(check));
  OpGraph graph(check);
  SPILLWAY_RETURN_IF_ERROR(graph.AddGradients());
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int> chosen,
                            Chosen(check, graph));
  Values weights;
  std::map<int, HostTensor> weights_by_output;
  for (const auto& [output, tensor] : graph.weights()) {
    const uint64_t key = MixKeys(HashName("weights"), check.seed + output);
    weights[tensor] = weights_by_output[output] =
        RandomTensor(tensor.type(), key);
  }
  std::vector<ValueId> fetches;
  for (const int input : chosen) {
    fetches.push_back(graph.gradients()[static_cast<size_t>(input)]);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Program program, graph.Finish(fetches));
  SPILLWAY_ASSIGN_OR_RETURN(const Values gradients,
                            RunOnce(check, graph, program, inputs, weights));
  Loss loss(check);
  SPILLWAY_RETURN_IF_ERROR(loss.Prepare(std::move(weights_by_output)));
  std::vector<GradientDifference> result;
  for (size_t i = 0; i < chosen.size(); ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(
        result.emplace_back(),
        LargestDifference(loss, inputs, chosen[i], gradients.at(fetches[i])));
  }
  return result;
}

absl::Status CheckGradients(const GradientCheck& check) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<GradientDifference> differences,
                            CompareGradients(check));
  for (const GradientDifference& difference : differences) {
    if (difference.error <= check.tolerance) continue;
    return FailedPrecondition(fmt::format(
        "{}: the gradient by element {} of input {} is {}, by central "
        "differences it is {}",
        check.op, difference.element, difference.input, difference.graph,
        difference.differences));
  }
  return absl::OkStatus();
}

}  // namespace spillway

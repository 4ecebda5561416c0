#include "onnx_model/convert/node_conversion.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/status_macros.h"

namespace spillway::onnx_model {

const ModelValue& NodeConversion::value(int input) const {
  const ModelValue* value = state_.Find(node_.input(input));
  SPILLWAY_CHECK(value != nullptr);
  return *value;
}

bool NodeConversion::IsWeight(int input) const {
  const ModelValue& v = value(input);
  return v.weight.has_value() && !v.arranged.has_value();
}

absl::StatusOr<Constant> NodeConversion::ConstantInput(int input) const {
  absl::StatusOr<Constant> constant = state_.ConstantOf(value(input));
  if (constant.ok()) return constant;
  return Unimplemented(fmt::format("input {}: {}", input,
                                   std::string(constant.status().message())));
}

absl::StatusOr<std::vector<int64_t>> NodeConversion::IntegersInput(
    int input) const {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant constant, ConstantInput(input));
  if (constant.is_real()) {
    return InvalidArgument(
        fmt::format("input {} is of {}, it must be of integers", input,
                    ElementTypeName(constant.type)));
  }
  return constant.integers();
}

absl::StatusOr<Arranged> NodeConversion::Input(int input) {
  return state_.TensorOf(*state_.Find(node_.input(input)));
}

absl::StatusOr<Tensor> NodeConversion::InputInOrder(int input,
                                                    const Order& order) {
  ModelValue& value = *state_.Find(node_.input(input));
  if (IsWeight(input)) {
    SPILLWAY_RETURN_IF_ERROR(state_
                                 .BindWeight(value,
                                             WithoutParts(value.dims, order),
                                             WeightRole::kTrained)
                                 .status());
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, state_.TensorOf(value));
  return Ordered(scope(), x, order);
}

absl::StatusOr<Arranged> NodeConversion::BoundWeight(int input,
                                                     const WeightOrder& order,
                                                     WeightRole role) {
  ModelValue& value = *state_.Find(node_.input(input));
  if (!IsFloating(value.type)) {
    return InvalidArgument(fmt::format("input {} is of {}, it must be of reals",
                                       input, ElementTypeName(value.type)));
  }
  return state_.BindWeight(value, order, role);
}

absl::StatusOr<Tensor> NodeConversion::WeightInOrder(int input,
                                                     const Order& order,
                                                     WeightRole role) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const Arranged weight,
      BoundWeight(input, WithoutParts(dims(input), order), role));
  return Ordered(scope(), weight, order);
}

absl::StatusOr<int> NodeConversion::Axis(int64_t axis, int rank) const {
  const int64_t from_zero = axis < 0 ? axis + rank : axis;
  if (from_zero < 0 || from_zero >= rank) {
    return InvalidArgument(
        fmt::format("axis {} of a value of {} dimensions", axis, rank));
  }
  return static_cast<int>(from_zero);
}

absl::StatusOr<std::vector<int>> NodeConversion::Axes(
    const std::vector<int64_t>& axes, int rank) const {
  std::vector<int> result;
  if (axes.size() > static_cast<size_t>(rank)) {
    return InvalidArgument(
        fmt::format("lists {} axes of a value of {} "
                    "dimensions",
                    axes.size(), rank));
  }
  for (const int64_t axis : axes) {
    SPILLWAY_ASSIGN_OR_RETURN(const int checked, Axis(axis, rank));
    if (std::ranges::find(result, checked) != result.end()) {
      return InvalidArgument(fmt::format("axis {} is listed twice", axis));
    }
    result.push_back(checked);
  }
  return result;
}

Tensor NodeConversion::Add(std::string op, std::vector<Tensor> inputs,
                           Attributes attributes) {
  const std::vector<Tensor> outputs =
      AddAll(std::move(op), std::move(inputs), std::move(attributes));
  return outputs.empty() ? Tensor() : outputs.front();
}

std::vector<Tensor> NodeConversion::AddAll(std::string op,
                                           std::vector<Tensor> inputs,
                                           Attributes attributes) {
  OpSpec spec = {.op = std::move(op),
                 .inputs = std::move(inputs),
                 .attributes = std::move(attributes)};
  if (!is_used_) {
    is_used_ = true;
    spec.name = name();
    return state_.builder().AddAll(state_.builder(), std::move(spec));
  }
  return state_.builder().AddAll(scope(), std::move(spec));
}

Tensor NodeConversion::Helper(std::string op, std::vector<Tensor> inputs,
                              Attributes attributes) {
  return state_.builder().Add(scope(), {.op = std::move(op),
                                        .inputs = std::move(inputs),
                                        .attributes = std::move(attributes)});
}

Tensor NodeConversion::Number(double value, Tensor like) {
  return Helper(
      "Const", {},
      {{"dtype", like.dtype()}, {"shape", Shape()}, {"value", value}});
}

NameScope NodeConversion::scope() { return state_.builder().Scope(name()); }

bool NodeConversion::IsWanted(int output) const {
  return node_.has_output(output) && state_.IsRead(node_.output(output));
}

void NodeConversion::Set(int output, Arranged value) {
  Set(output, std::move(value), type(0));
}

void NodeConversion::Set(int output, Arranged value, ElementType type) {
  if (!node_.has_output(output) || !value.tensor.is_valid()) return;
  ModelValue result = {
      .name = node_.output(output), .type = type, .dims = value.dims.dims()};
  result.arranged = std::move(value);
  state_.Define(std::move(result));
}

void NodeConversion::Set(int output, Constant value) {
  if (!node_.has_output(output)) return;
  ModelValue result = {
      .name = node_.output(output), .type = value.type, .dims = value.dims};
  result.constant = std::move(value);
  state_.Define(std::move(result));
}

void NodeConversion::SetFilled(int output, ElementType type,
                               std::vector<int64_t> dims, double fill) {
  if (!node_.has_output(output)) return;
  state_.Define({.name = node_.output(output),
                 .type = type,
                 .dims = std::move(dims),
                 .weight = Weight{.fill = fill}});
}

void NodeConversion::SetSequence(int output, SplitSequence sequence) {
  if (!node_.has_output(output)) return;
  state_.Define({.name = node_.output(output),
                 .type = type(0),
                 .sequence = std::move(sequence)});
}

void NodeConversion::SetToInput(int output, int input) {
  if (!node_.has_output(output)) return;
  state_.DefineAlias(node_.output(output), node_.input(input));
}

const std::string& NodeConversion::name() {
  if (name_.empty()) {
    name_ =
        state_.NodeName(node_.proto().name(),
                        node_.num_outputs() > 0 && !node_.output(0).empty()
                            ? fmt::format("{}_{}", node_.op(), node_.output(0))
                            : node_.op());
  }
  return name_;
}

absl::Status CheckDims(const std::vector<int64_t>& dims) {
  return CheckShape(Shape(dims));
}

}  // namespace spillway::onnx_model

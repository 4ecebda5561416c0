// Functions of one tensor, element by element: in whatever order it lies.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/fold/fold.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

// y = op(x); the op has the node's name in our registry, or another.
absl::Status ConvertAs(NodeConversion& node, const std::string& op,
                       Attributes attributes = {}) {
  if (!IsFloating(node.type(0))) {
    return Unimplemented(
        fmt::format("an input of {}", ElementTypeName(node.type(0))));
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  x.tensor = node.Add(op, {x.tensor}, std::move(attributes));
  node.Set(0, x);
  return absl::OkStatus();
}

absl::Status ConvertSameName(NodeConversion& node) {
  return ConvertAs(node, node.node().op());
}

// An attribute that ours has too, under the same name.
struct Parameter {
  const char* name = "";
  double fallback = 0;  // of ONNX
};

absl::Status ConvertWith(NodeConversion& node, const std::string& op,
                         std::initializer_list<Parameter> parameters) {
  Attributes attributes;
  for (const Parameter& parameter : parameters) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const double value,
        node.node().Real(parameter.name, parameter.fallback));
    attributes.Set(parameter.name, value);
  }
  return ConvertAs(node, op, std::move(attributes));
}

absl::Status ConvertCelu(NodeConversion& node) {
  return ConvertWith(node, "Celu", {{"alpha", 1}});
}
absl::Status ConvertHardSigmoid(NodeConversion& node) {
  return ConvertWith(node, "HardSigmoid", {{"alpha", 0.2}, {"beta", 0.5}});
}
absl::Status ConvertLeakyRelu(NodeConversion& node) {
  return ConvertWith(node, "LeakyRelu", {{"alpha", 0.01}});
}
absl::Status ConvertSelu(NodeConversion& node) {
  return ConvertWith(node, "Selu",
                     {{"alpha", 1.67326319217681884765625},
                      {"gamma", 1.05070102214813232421875}});
}
absl::Status ConvertShrink(NodeConversion& node) {
  return ConvertWith(node, "Shrink", {{"lambd", 0.5}, {"bias", 0}});
}
absl::Status ConvertThresholdedRelu(NodeConversion& node) {
  return ConvertWith(node, "ThresholdedRelu", {{"alpha", 1}});
}

absl::Status ConvertElu(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const double alpha, node.node().Real("alpha", 1));
  if (alpha == 1) return ConvertAs(node, "Elu");
  return ConvertAs(node, "Selu", {{"alpha", alpha}, {"gamma", 1.0}});
}

absl::Status ConvertGelu(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const size_t approximate,
      node.node().Choice("approximate", {"none", "tanh"}));
  if (approximate == 0) return ConvertAs(node, "Gelu");
  return ConvertAs(node, "Gelu", {{"approximate", true}});
}

struct Bounds {
  double low = std::numeric_limits<double>::lowest();
  double high = std::numeric_limits<double>::max();
};

absl::StatusOr<double> BoundInput(NodeConversion& node, int input,
                                  double fallback) {
  if (!node.has(input)) return fallback;
  SPILLWAY_ASSIGN_OR_RETURN(const Constant bound, node.ConstantInput(input));
  if (bound.size() != 1) {
    return InvalidArgument(fmt::format("input {} is not one number", input));
  }
  return bound.real(0);
}

absl::StatusOr<Bounds> ReadBounds(NodeConversion& node) {
  Bounds bounds;
  if (node.opset() < 11) {
    SPILLWAY_ASSIGN_OR_RETURN(bounds.low, node.node().Real("min", bounds.low));
    SPILLWAY_ASSIGN_OR_RETURN(bounds.high,
                              node.node().Real("max", bounds.high));
    return bounds;
  }
  SPILLWAY_ASSIGN_OR_RETURN(bounds.low, BoundInput(node, 1, bounds.low));
  SPILLWAY_ASSIGN_OR_RETURN(bounds.high, BoundInput(node, 2, bounds.high));
  return bounds;
}

absl::Status ConvertClip(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Bounds bounds, ReadBounds(node));
  constexpr double kHuge = std::numeric_limits<float>::max();
  if (bounds.low == 0 && bounds.high == 6) return ConvertAs(node, "Relu6");
  if (bounds.low == 0 && bounds.high >= kHuge) return ConvertAs(node, "Relu");
  if (bounds.low <= -kHuge && bounds.high >= kHuge) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  return ConvertAs(node, "Clip",
                   {{"min", std::clamp(bounds.low, -kHuge, kHuge)},
                    {"max", std::clamp(bounds.high, -kHuge, kHuge)}});
}

absl::Status ConvertNeg(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  x.tensor = node.Add("Mul", {x.tensor, node.Number(-1, x.tensor)});
  node.Set(0, x);
  return absl::OkStatus();
}

absl::Status ConvertIdentity(NodeConversion& node) {
  node.SetToInput(0, 0);
  return absl::OkStatus();
}

// Reals to reals change nothing: all are computed in one precision.
absl::Status ConvertTo(NodeConversion& node, ElementType type) {
  const std::optional<DType> dtype = DTypeOf(type);
  if (!dtype.has_value()) {
    return Unimplemented(fmt::format("to {}", ElementTypeName(type)));
  }
  if (IsFloating(type) && IsFloating(node.type(0))) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  if (node.IsConstant(0)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Constant constant, node.ConstantInput(0));
    node.Set(0, CastTo(constant, type));
    return absl::OkStatus();
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (x.tensor.is_valid() && x.tensor.dtype() != *dtype) {
    const DType target =
        IsFloating(type) ? node.state().options().dtype : *dtype;
    x.tensor = node.Add("Cast", {x.tensor}, {{"dtype", target}});
  }
  node.Set(0, x, type);
  return absl::OkStatus();
}

absl::Status ConvertCast(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t to, node.node().Int("to", 0));
  return ConvertTo(node, static_cast<ElementType>(to));
}

absl::Status ConvertCastLike(NodeConversion& node) {
  return ConvertTo(node, node.type(1));
}

// x sigmoid(alpha x)
absl::Status ConvertSwish(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const double alpha, node.node().Real("alpha", 1));
  if (alpha == 1) return ConvertAs(node, "Silu");
  SPILLWAY_RETURN_IF_ERROR(CheckReals(node));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const Tensor scaled =
      node.Helper("Mul", {x.tensor, node.Number(alpha, x.tensor)});
  x.tensor = node.Add("Mul", {x.tensor, node.Helper("Sigmoid", {scaled})});
  node.Set(0, x);
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 33> kActivationOps = {{
    {"Abs", 1, 1, ConvertSameName},
    {"Cast", 1, 1, ConvertCast},
    {"CastLike", 2, 2, ConvertCastLike},
    {"Ceil", 1, 1, ConvertSameName},
    {"Celu", 1, 1, ConvertCelu},
    {"Clip", 1, 3, ConvertClip},
    {"Cos", 1, 1, ConvertSameName},
    {"Elu", 1, 1, ConvertElu},
    {"Erf", 1, 1, ConvertSameName},
    {"Exp", 1, 1, ConvertSameName},
    {"Floor", 1, 1, ConvertSameName},
    {"Gelu", 1, 1, ConvertGelu},
    {"HardSigmoid", 1, 1, ConvertHardSigmoid},
    {"HardSwish", 1, 1, ConvertSameName},
    {"Identity", 1, 1, ConvertIdentity},
    {"LeakyRelu", 1, 1, ConvertLeakyRelu},
    {"Log", 1, 1, ConvertSameName},
    {"Mish", 1, 1, ConvertSameName},
    {"Neg", 1, 1, ConvertNeg},
    {"Reciprocal", 1, 1, ConvertSameName},
    {"Relu", 1, 1, ConvertSameName},
    {"Round", 1, 1, ConvertSameName},
    {"Selu", 1, 1, ConvertSelu},
    {"Shrink", 1, 1, ConvertShrink},
    {"Sigmoid", 1, 1, ConvertSameName},
    {"Sign", 1, 1, ConvertSameName},
    {"Sin", 1, 1, ConvertSameName},
    {"Softplus", 1, 1, ConvertSameName},
    {"Softsign", 1, 1, ConvertSameName},
    {"Sqrt", 1, 1, ConvertSameName},
    {"Swish", 1, 1, ConvertSwish},
    {"Tanh", 1, 1, ConvertSameName},
    {"ThresholdedRelu", 1, 1, ConvertThresholdedRelu},
}};

}  // namespace

std::span<const OpEntry> ActivationOps() { return kActivationOps; }

}  // namespace spillway::onnx_model

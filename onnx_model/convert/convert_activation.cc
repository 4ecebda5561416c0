// Functions of one tensor, element by element: in whatever order it lies.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "base/status_macros.h"
#include "onnx_model/convert/op_table.h"

namespace spillway::onnx_model {
namespace {

absl::Status ConvertUnary(NodeConversion& node, const char* op) {
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  x.tensor = node.Add(op, {x.tensor});
  node.Set(0, x);
  return absl::OkStatus();
}

absl::Status ConvertRelu(NodeConversion& node) {
  return ConvertUnary(node, "Relu");
}
absl::Status ConvertSigmoid(NodeConversion& node) {
  return ConvertUnary(node, "Sigmoid");
}
absl::Status ConvertTanh(NodeConversion& node) {
  return ConvertUnary(node, "Tanh");
}

absl::Status ConvertElu(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const double alpha, node.node().Real("alpha", 1));
  if (alpha != 1) return Unimplemented(fmt::format("alpha {}", alpha));
  return ConvertUnary(node, "Elu");
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
  if (bounds.low == 0 && bounds.high == 6) return ConvertUnary(node, "Relu6");
  if (bounds.low == 0 && bounds.high >= kHuge) return ConvertRelu(node);
  if (bounds.low <= -kHuge && bounds.high >= kHuge) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  return Unimplemented(
      fmt::format("bounds {:.6g} and {:.6g}", bounds.low, bounds.high));
}

// min(max(alpha x + beta, 0), 1) = Relu6(6 alpha x + 6 beta) / 6.
absl::StatusOr<Arranged> HardSigmoid(NodeConversion& node, double alpha,
                                     double beta) {
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  const Tensor scaled =
      node.Helper("Mul", {x.tensor, node.Number(6 * alpha, x.tensor)});
  const Tensor moved =
      node.Helper("Add", {scaled, node.Number(6 * beta, scaled)});
  const Tensor clipped = node.Helper("Relu6", {moved});
  x.tensor = node.Add("Mul", {clipped, node.Number(1.0 / 6, clipped)});
  return x;
}

absl::Status ConvertHardSigmoid(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const double alpha, node.node().Real("alpha", 0.2));
  SPILLWAY_ASSIGN_OR_RETURN(const double beta, node.node().Real("beta", 0.5));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged y, HardSigmoid(node, alpha, beta));
  node.Set(0, y);
  return absl::OkStatus();
}

absl::Status ConvertHardSwish(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged gate,
                            HardSigmoid(node, 1.0 / 6, 0.5));
  x.tensor = node.Helper("Mul", {x.tensor, gate.tensor});
  node.Set(0, x);
  return absl::OkStatus();
}

// alpha x + (1 - alpha) max(x, 0).
absl::Status ConvertLeakyRelu(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const double alpha,
                            node.node().Real("alpha", 0.01));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  const Tensor below =
      node.Helper("Mul", {x.tensor, node.Number(alpha, x.tensor)});
  const Tensor above = node.Helper("Relu", {x.tensor});
  const Tensor rest =
      node.Helper("Mul", {above, node.Number(1 - alpha, above)});
  x.tensor = node.Add("Add", {below, rest});
  node.Set(0, x);
  return absl::OkStatus();
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
absl::Status ConvertCast(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t to, node.node().Int("to", 0));
  const auto type = static_cast<ElementType>(to);
  const std::optional<DType> dtype = DTypeOf(type);
  if (!dtype.has_value()) {
    return Unimplemented(fmt::format("to {}", ElementTypeName(type)));
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (IsFloating(type) && IsFloating(node.type(0))) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  if (x.tensor.is_valid() && x.tensor.dtype() != *dtype) {
    const DType target =
        IsFloating(type) ? node.state().options().dtype : *dtype;
    x.tensor = node.Add("Cast", {x.tensor}, {{"dtype", target}});
  }
  node.Set(0, x, type);
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 11> kActivationOps = {{
    {"Cast", 1, 1, ConvertCast},
    {"Clip", 1, 3, ConvertClip},
    {"Elu", 1, 1, ConvertElu},
    {"HardSigmoid", 1, 1, ConvertHardSigmoid},
    {"HardSwish", 1, 1, ConvertHardSwish},
    {"Identity", 1, 1, ConvertIdentity},
    {"LeakyRelu", 1, 1, ConvertLeakyRelu},
    {"Neg", 1, 1, ConvertNeg},
    {"Relu", 1, 1, ConvertRelu},
    {"Sigmoid", 1, 1, ConvertSigmoid},
    {"Tanh", 1, 1, ConvertTanh},
}};

}  // namespace

std::span<const OpEntry> ActivationOps() { return kActivationOps; }

}  // namespace spillway::onnx_model

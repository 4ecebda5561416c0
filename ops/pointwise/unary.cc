#include "ops/pointwise/unary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

// An attribute; its default, if it has one.
struct Parameter {
  std::string_view name = {};  // empty: there is none
  std::optional<double> fallback = {};
};

struct UnaryEntry {
  std::string_view name;
  PointwiseFunction function = PointwiseFunction::kAbs;
  double flops = 1;  // an exponential or its like counts as ten
  Parameter a = {};
  Parameter b = {};
  bool has_gradient = true;
};

constexpr double kLargest = std::numeric_limits<float>::max();
constexpr std::string_view kApproximate = "approximate";

constexpr std::array<UnaryEntry, 26> kUnaryOps = {{
    {"Abs", PointwiseFunction::kAbs},
    {"Ceil", PointwiseFunction::kCeil, 1, {}, {}, false},
    {"Celu", PointwiseFunction::kCelu, 12, {"alpha", 1}},
    {"Clip",
     PointwiseFunction::kClip,
     2,
     {"min", -kLargest},
     {"max", kLargest}},
    {"Cos", PointwiseFunction::kCos, 10},
    {"Erf", PointwiseFunction::kErf, 10},
    {"Exp", PointwiseFunction::kExp, 10},
    {"Floor", PointwiseFunction::kFloor, 1, {}, {}, false},
    {"Gelu", PointwiseFunction::kGelu, 14},
    {"HardSigmoid",
     PointwiseFunction::kHardSigmoid,
     4,
     {"alpha", 0.2},
     {"beta", 0.5}},
    {"HardSwish", PointwiseFunction::kHardSwish, 5},
    {"LeakyRelu", PointwiseFunction::kLeakyRelu, 2, {"alpha", 0.01}},
    {"Log", PointwiseFunction::kLog, 10},
    {"Mish", PointwiseFunction::kMish, 32},
    {"Power", PointwiseFunction::kPower, 20, {"exponent", std::nullopt}},
    {"Reciprocal", PointwiseFunction::kReciprocal},
    {"Round", PointwiseFunction::kRound, 1, {}, {}, false},
    {"Selu",
     PointwiseFunction::kSelu,
     13,
     {"alpha", 1.67326319217681884765625},
     {"gamma", 1.05070102214813232421875}},
    {"Shrink", PointwiseFunction::kShrink, 3, {"lambd", 0.5}, {"bias", 0}},
    {"Sign", PointwiseFunction::kSign, 1, {}, {}, false},
    {"Silu", PointwiseFunction::kSilu, 13},
    {"Sin", PointwiseFunction::kSin, 10},
    {"Softplus", PointwiseFunction::kSoftplus, 22},
    {"Softsign", PointwiseFunction::kSoftsign, 3},
    {"Sqrt", PointwiseFunction::kSqrt},
    {"ThresholdedRelu", PointwiseFunction::kThresholdedRelu, 1, {"alpha", 1}},
}};

const UnaryEntry& EntryOf(PointwiseFunction function) {
  return *std::ranges::find(kUnaryOps, function, &UnaryEntry::function);
}

absl::StatusOr<float> ReadParameter(const Parameter& parameter,
                                    const Attributes& attributes) {
  if (parameter.name.empty()) return 0.0F;
  SPILLWAY_ASSIGN_OR_RETURN(
      const double value,
      parameter.fallback.has_value()
          ? attributes.GetReal(parameter.name, *parameter.fallback)
          : attributes.GetReal(parameter.name));
  return static_cast<float>(value);
}

std::vector<std::string> AttributesOf(const UnaryEntry& entry) {
  std::vector<std::string> names;
  for (const Parameter& parameter : {entry.a, entry.b}) {
    if (!parameter.name.empty()) names.emplace_back(parameter.name);
  }
  if (entry.function == PointwiseFunction::kGelu)
    names.emplace_back(kApproximate);
  return names;
}

using Types = std::vector<TensorType>;

absl::StatusOr<Types> InferUnary(PointwiseFunction function,
                                 const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", node.inputs[0]));
  SPILLWAY_RETURN_IF_ERROR(ReadUnary(function, node.attributes).status());
  return Types{node.inputs[0]};
}

absl::StatusOr<Types> InferUnaryGrad(PointwiseFunction function,
                                     const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("dy", node.inputs[0]));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("x", node.inputs[1], node.inputs[0], "dy"));
  SPILLWAY_RETURN_IF_ERROR(ReadUnary(function, node.attributes).status());
  return Types{node.inputs[0]};
}

// Kernel factories are functions of the request alone.
template <size_t kEntry>
NewKernel CpuKernel(const KernelRequest& node) {
  return UnaryCpu(kUnaryOps[kEntry].function, node);
}

template <size_t kEntry>
NewKernel CpuGradKernel(const KernelRequest& node) {
  return UnaryGradCpu(kUnaryOps[kEntry].function, node);
}

Op UnaryOp(const UnaryEntry& entry, KernelFactory cpu) {
  Op op = {.def = {.name = std::string(entry.name),
                   .inputs = {"x"},
                   .outputs = {"y"},
                   .attributes = AttributesOf(entry),
                   .infer =
                       [function = entry.function](const InferContext& node) {
                         return InferUnary(function, node);
                       },
                   .cost = FlopsPerElement(entry.flops),
                   .in_place = {{.input = 0, .output = 0}}},
           .kernels = {{DeviceKind::kCpu, cpu}}};
  if (!entry.has_gradient) return op;
  op.def.gradient =
      [name = fmt::format("{}Grad", entry.name)](
          GradientContext& grad) -> absl::StatusOr<std::vector<Tensor>> {
    return std::vector{
        grad.Add(name, {grad.dy(0), grad.x(0)}, grad.attributes())};
  };
  return op;
}

Op UnaryGradOp(const UnaryEntry& entry, KernelFactory cpu) {
  return {.def = {.name = fmt::format("{}Grad", entry.name),
                  .inputs = {"dy", "x"},
                  .outputs = {"dx"},
                  .attributes = AttributesOf(entry),
                  .infer =
                      [function = entry.function](const InferContext& node) {
                        return InferUnaryGrad(function, node);
                      },
                  .cost = FlopsPerElement(entry.flops + 2),
                  .in_place = {{.input = 0, .output = 0},
                               {.input = 1, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, cpu}}};
}

template <size_t... kEntries>
std::vector<Op> MakeUnaryOps(std::index_sequence<kEntries...> /*all*/) {
  std::vector<Op> ops;
  const auto add = [&ops](const UnaryEntry& entry, KernelFactory cpu,
                          KernelFactory grad) {
    ops.push_back(UnaryOp(entry, cpu));
    if (entry.has_gradient) ops.push_back(UnaryGradOp(entry, grad));
  };
  (add(kUnaryOps[kEntries], CpuKernel<kEntries>, CpuGradKernel<kEntries>), ...);
  return ops;
}

}  // namespace

std::vector<Op> UnaryOps() {
  return MakeUnaryOps(std::make_index_sequence<kUnaryOps.size()>());
}

absl::StatusOr<UnaryOf> ReadUnary(PointwiseFunction function,
                                  const Attributes& attributes) {
  const UnaryEntry& entry = EntryOf(function);
  UnaryOf unary = {.function = function};
  SPILLWAY_ASSIGN_OR_RETURN(unary.parameters.a,
                            ReadParameter(entry.a, attributes));
  SPILLWAY_ASSIGN_OR_RETURN(unary.parameters.b,
                            ReadParameter(entry.b, attributes));
  if (function == PointwiseFunction::kGelu) {
    SPILLWAY_ASSIGN_OR_RETURN(const bool is_approximate,
                              attributes.GetBool(kApproximate, false));
    if (is_approximate) unary.function = PointwiseFunction::kGeluTanh;
  }
  if (function == PointwiseFunction::kCelu && unary.parameters.a == 0) {
    return InvalidArgument("alpha must not be 0");
  }
  return unary;
}

}  // namespace spillway::ops

// Constants that nodes state.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/fold/fold.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

// Reals of more elements are never written out: a variable or constant that is
// filled.
constexpr int64_t kMaxFilled = 4096;

absl::StatusOr<std::optional<Constant>> ReadNumbers(const NodeView& node) {
  if (node.has("value_int")) {
    SPILLWAY_ASSIGN_OR_RETURN(const int64_t value, node.Int("value_int", 0));
    return MakeConstant(ElementType::kInt64, {}, Integers{value});
  }
  if (node.has("value_float")) {
    SPILLWAY_ASSIGN_OR_RETURN(const double value, node.Real("value_float", 0));
    return MakeConstant(ElementType::kFloat, {}, Reals{value});
  }
  SPILLWAY_ASSIGN_OR_RETURN(std::optional<Integers> integers,
                            node.Ints("value_ints"));
  if (integers.has_value()) return MakeIntegers(*std::move(integers));
  SPILLWAY_ASSIGN_OR_RETURN(std::optional<Reals> reals,
                            node.Reals("value_floats"));
  if (reals.has_value()) {
    const auto size = static_cast<int64_t>(reals->size());
    return MakeConstant(ElementType::kFloat, {size}, *std::move(reals));
  }
  return std::nullopt;
}

absl::Status ConvertConstant(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const onnx::TensorProto* tensor,
                            node.node().Tensor("value"));
  if (tensor != nullptr) {
    SPILLWAY_ASSIGN_OR_RETURN(
        Constant constant, ReadConstant(*tensor, node.state().file().path()));
    node.Set(0, std::move(constant));
    return absl::OkStatus();
  }
  SPILLWAY_ASSIGN_OR_RETURN(std::optional<Constant> numbers,
                            ReadNumbers(node.node()));
  if (!numbers.has_value())
    return Unimplemented("a value of texts or a sparse one");
  node.Set(0, *std::move(numbers));
  return absl::OkStatus();
}

absl::Status ConvertConstantOfShape(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> dims,
                            node.IntegersInput(0));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t elements, CountElements(dims));
  SPILLWAY_ASSIGN_OR_RETURN(const onnx::TensorProto* tensor,
                            node.node().Tensor("value"));
  Constant value = MakeConstant(ElementType::kFloat, {}, Reals{0});
  if (tensor != nullptr) {
    SPILLWAY_ASSIGN_OR_RETURN(
        value, ReadConstant(*tensor, node.state().file().path()));
    if (value.size() != 1) return InvalidArgument("value is not one number");
  }
  if (value.is_real() && elements > kMaxFilled) {
    node.SetFilled(0, value.type, dims, value.real(0));
    return absl::OkStatus();
  }
  if (elements > kMaxFoldedElements) {
    return Unimplemented(fmt::format("{} integers", elements));
  }
  value.dims = {};
  node.Set(0, BroadcastTo(value, dims));
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 2> kConstantOps = {{
    {"Constant", 0, 0, ConvertConstant},
    {"ConstantOfShape", 1, 1, ConvertConstantOfShape},
}};

}  // namespace

std::span<const OpEntry> ConstantOps() { return kConstantOps; }

}  // namespace spillway::onnx_model

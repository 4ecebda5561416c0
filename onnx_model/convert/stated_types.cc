#include "onnx_model/convert/stated_types.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace spillway::onnx_model {
namespace {

// Ops whose first output is as their first input.
constexpr auto kLikeTheirInput = std::to_array<std::string_view>({
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Bernoulli",
    "BiasGelu",
    "BitwiseNot",
    "Cosh",
    "CumSum",
    "FastGelu",
    "Hardmax",
    "QuickGelu",
    "RMSNormalization",
    "RandomNormalLike",
    "RandomUniformLike",
    "ReverseSequence",
    "RotaryEmbedding",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "SimplifiedLayerNormalization",
    "Sinh",
    "Tan",
    "TensorScatter",
});

const ModelValue* KnownInput(const NodeView& node, int input,
                             ImportState& state) {
  if (!node.has_input(input)) return nullptr;
  const ModelValue* value = state.Find(node.input(input));
  return value != nullptr && value->is_known() ? value : nullptr;
}

// Y [T, D, B, H] (or [B, T, D, H]), then Y_h and Y_c [D, B, H] (or [B, D, H])
// of x [T, B, I] (or [B, T, I]) and the recurrent weight [D, gates H, H].
std::vector<StatedType> OutputsOfRecurrent(const NodeView& node,
                                           const ModelValue& x,
                                           ImportState& state) {
  const ModelValue* weight = KnownInput(node, 2, state);
  const int64_t layout = node.Int("layout", 0).value_or(0);
  if (weight == nullptr || weight->dims.size() != 3 || x.dims.size() != 3) {
    return {};
  }
  const int64_t directions = weight->dims[0];
  const int64_t hidden = weight->dims[2];
  const StatedType all = {
      .type = x.type,
      .dims = layout == 0
                  ? std::vector{x.dims[0], directions, x.dims[1], hidden}
                  : std::vector{x.dims[0], x.dims[1], directions, hidden}};
  const StatedType last = {
      .type = x.type,
      .dims = layout == 0 ? std::vector{directions, x.dims[1], hidden}
                          : std::vector{x.dims[0], directions, hidden}};
  return {all, last, last};
}

std::vector<StatedType> OutputsOfTopK(const NodeView& node, const ModelValue& x,
                                      ImportState& state) {
  const ModelValue* k = KnownInput(node, 1, state);
  if (k == nullptr || !k->constant.has_value() || k->constant->is_real() ||
      k->constant->size() != 1) {
    return {};
  }
  const auto rank = static_cast<int64_t>(x.dims.size());
  int64_t axis = node.Int("axis", -1).value_or(-1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return {};
  StatedType values = {.type = x.type, .dims = x.dims};
  values.dims[static_cast<size_t>(axis)] = k->constant->integers()[0];
  StatedType places = values;
  places.type = ElementType::kInt64;
  return {values, places};
}

// [N, C, d...] of x [N, C, ...] and a grid [N, d..., dimensions].
std::vector<StatedType> OutputsOfGridSample(const NodeView& node,
                                            const ModelValue& x,
                                            ImportState& state) {
  const ModelValue* grid = KnownInput(node, 1, state);
  if (grid == nullptr || grid->dims.size() < 3 ||
      grid->dims.size() != x.dims.size()) {
    return {};
  }
  std::vector<int64_t> dims = {x.dims[0], x.dims[1]};
  dims.insert(dims.end(), grid->dims.begin() + 1, grid->dims.end() - 1);
  return {{.type = x.type, .dims = dims}};
}

}  // namespace

StatedTypes::StatedTypes(const onnx::GraphProto& graph,
                         const ModelInputs& inputs)
    : symbols_(inputs.symbols),
      batch_size_(inputs.batch_size),
      file_batch_(inputs.file_batch) {
  for (const onnx::ValueInfoProto& value : graph.value_info()) {
    types_.emplace(value.name(), &value.type());
  }
  for (const onnx::ValueInfoProto& value : graph.output()) {
    types_.emplace(value.name(), &value.type());
  }
}

std::optional<StatedType> StatedTypes::Find(const std::string& name) const {
  const auto found = types_.find(name);
  if (found == types_.end() || !found->second->has_tensor_type() ||
      !found->second->tensor_type().has_shape()) {
    return std::nullopt;
  }
  const onnx::TypeProto::Tensor& tensor = found->second->tensor_type();
  StatedType stated = {.type = static_cast<ElementType>(tensor.elem_type())};
  for (const auto& dim : tensor.shape().dim()) {
    const std::optional<int64_t> value = ValueOf(dim, stated.dims.empty());
    if (!value.has_value()) return std::nullopt;
    stated.dims.push_back(*value);
  }
  return stated;
}

std::optional<int64_t> StatedTypes::ValueOf(
    const onnx::TensorShapeProto::Dimension& dim, bool is_first) const {
  if (dim.dim_value() > 0) {
    const bool is_batch = is_first && dim.dim_value() == file_batch_;
    return is_batch ? batch_size_ : dim.dim_value();
  }
  const auto symbol = symbols_.find(dim.dim_param());
  if (symbol == symbols_.end()) return std::nullopt;
  return symbol->second;
}

std::vector<StatedType> OutputsByRule(const NodeView& node,
                                      ImportState& state) {
  const ModelValue* x = KnownInput(node, 0, state);
  if (x == nullptr) return {};
  const std::string& op = node.op();
  if (std::ranges::find(kLikeTheirInput, op) != kLikeTheirInput.end()) {
    return {{.type = x->type, .dims = x->dims}};
  }
  if (op == "IsInf" || op == "IsNaN") {
    return {{.type = ElementType::kBool, .dims = x->dims}};
  }
  if (op == "LSTM" || op == "GRU" || op == "RNN") {
    return OutputsOfRecurrent(node, *x, state);
  }
  if (op == "TopK") return OutputsOfTopK(node, *x, state);
  if (op == "GridSample") return OutputsOfGridSample(node, *x, state);
  return {};
}

}  // namespace spillway::onnx_model

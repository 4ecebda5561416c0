#include "onnx_model/convert/import_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace spillway::onnx_model {
namespace {

// A larger constant of reals is a variable that is not trained: its bytes are
// not in the graph.
constexpr size_t kMaxConstElements = 1024;

// Whether a node's name may have it (graph/node_name.h).
bool MayBeInName(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c != ':' && std::isspace(byte) == 0 && std::iscntrl(byte) == 0;
}

// Attributes are finite; masks of attention are -infinity.
AttributeValue ItemOf(const Constant& constant, size_t index) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (!constant.is_real()) return constant.integer(index);
  return std::clamp(constant.real(index), -kLargest, kLargest);
}

AttributeValue ListOf(const Constant& constant) {
  AttributeValue::List items(constant.size());
  for (size_t i = 0; i < items.size(); ++i) items[i] = ItemOf(constant, i);
  return items;
}

// The dimensions of all parts, in the weight's order and in the variable's.
struct PartDims {
  std::vector<int64_t> in_weight = {};
  std::vector<int64_t> in_variable = {};
};

PartDims DimsOfParts(const WeightOrder& order) {
  PartDims dims;
  for (const std::vector<int64_t>& parts : order.parts) {
    dims.in_weight.insert(dims.in_weight.end(), parts.begin(), parts.end());
  }
  for (const int part : order.order) {
    dims.in_variable.push_back(dims.in_weight[static_cast<size_t>(part)]);
  }
  return dims;
}

// The variable's tensor as the weight sees it.
Arranged ArrangementOf(Tensor tensor, const std::vector<int64_t>& dims,
                       const WeightOrder& order) {
  const Arranged by_part = InOrder(tensor, order.order);
  Arranged result = {.tensor = tensor, .dims = Shape(dims)};
  size_t part = 0;
  for (const std::vector<int64_t>& parts : order.parts) {
    std::vector<int>& axes = result.axes.emplace_back();
    for (size_t i = 0; i < parts.size(); ++i, ++part) {
      axes.insert(axes.end(), by_part.axes[part].begin(),
                  by_part.axes[part].end());
    }
  }
  return result;
}

}  // namespace

WeightOrder WithoutParts(const std::vector<int64_t>& dims, Order order) {
  WeightOrder result = {.order = std::move(order)};
  for (const int64_t dim : dims) result.parts.push_back({dim});
  return result;
}

void ImportState::Define(ModelValue value) {
  ModelValue& added = values_.emplace_back(std::move(value));
  by_name_[added.name] = &added;
}

void ImportState::DefineAlias(const std::string& name, const std::string& of) {
  by_name_[name] = by_name_.at(of);
}

ModelValue* ImportState::Find(const std::string& name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::string ImportState::NodeName(std::string_view name,
                                  std::string_view fallback) {
  while (name.starts_with('/')) name.remove_prefix(1);
  std::string base(name.empty() ? fallback : name);
  for (char& c : base) {
    if (!MayBeInName(c)) c = '_';
  }
  std::string free = base;
  for (int i = 2;
       g_.graph().FindNode(free).has_value() || !names_.insert(free).second;
       ++i) {
    free = fmt::format("{}_{}", base, i);
  }
  return free;
}

absl::StatusOr<Arranged> ImportState::TensorOf(ModelValue& value) {
  if (value.arranged.has_value()) return *value.arranged;
  if (value.weight.has_value()) {
    return BindWeight(
        value,
        WithoutParts(value.dims, Identity(static_cast<int>(value.dims.size()))),
        WeightRole::kTrained);
  }
  if (value.sequence.has_value()) {
    return Unimplemented(fmt::format("{} is a sequence", value.name));
  }
  SPILLWAY_CHECK(value.constant.has_value());
  SPILLWAY_ASSIGN_OR_RETURN(value.arranged, AddConst(value));
  return *value.arranged;
}

absl::StatusOr<Arranged> ImportState::BindWeight(ModelValue& value,
                                                 const WeightOrder& order,
                                                 WeightRole role) {
  if (value.sequence.has_value()) return TensorOf(value);
  if (value.arranged.has_value()) {
    SPILLWAY_RETURN_IF_ERROR(BindAgain(value, role));
    return *value.arranged;
  }
  SPILLWAY_CHECK(value.weight.has_value() || value.constant.has_value());
  value.role = role;
  const Shape dims(value.dims);
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(dims), value.name));
  const PartDims parts = DimsOfParts(order);
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_frozen, frozen_.IsFrozen(value.name));
  OnnxVariable variable = {
      .name = NodeName(value.name, "weight"),
      .initializer = value.name,
      .element_type = ElementTypeName(value.type),
      .dims = dims,
      .parts = Shape(parts.in_weight),
      .perm = order.order,
      .shape = Shape(parts.in_variable),
      .is_trainable = role == WeightRole::kTrained && !is_frozen,
      .is_statistic = role == WeightRole::kFixed};
  if (value.constant.has_value()) variable.values = value.constant->reals();
  Attributes attributes = {{"dtype", DType::kFloat32},
                           {"shape", variable.shape}};
  if (!variable.is_trainable) attributes.Set("trainable", false);
  if (value.weight.has_value() && value.weight->fill.has_value()) {
    variable.fill = *value.weight->fill;
    attributes.Set("initializer",
                   AttributeValue::Object{{"kind", "constant"},
                                          {"value", *variable.fill}});
  }
  const Tensor tensor = g_.Add(
      g_, {.op = "Variable", .attributes = attributes, .name = variable.name});
  SPILLWAY_RETURN_IF_ERROR(g_.status());
  variables_.push_back(std::move(variable));
  value.arranged = ArrangementOf(tensor, value.dims, order);
  return *value.arranged;
}

absl::Status ImportState::BindAgain(const ModelValue& value, WeightRole role) {
  if (!value.role.has_value()) return absl::OkStatus();
  if (value.role != role && options_.training.has_value()) {
    return InvalidArgument(fmt::format(
        "{} is a weight and a moving average at once: an exporter has merged "
        "equal tensors; export without that (PyTorch: optimize=False)",
        value.name));
  }
  const bool is_initializer =
      value.weight.has_value() && value.weight->initializer != nullptr;
  if (role != WeightRole::kTrained || value.dims.size() != 1 ||
      !is_initializer) {
    return absl::OkStatus();
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Constant elements, ConstantOf(value));
  for (size_t i = 1; i < elements.size(); ++i) {
    if (elements.real(i) != elements.real(0)) return absl::OkStatus();
  }
  merged_.insert(value.name);
  return absl::OkStatus();
}

absl::StatusOr<Constant> ImportState::ConstantOf(
    const ModelValue& value) const {
  if (value.constant.has_value()) return *value.constant;
  if (value.weight.has_value() && value.weight->initializer != nullptr) {
    absl::StatusOr<Constant> constant =
        ReadConstant(*value.weight->initializer, file_.path());
    if (constant.ok()) return constant;
    return Annotate(constant.status(),
                    fmt::format("initializer {}", value.name));
  }
  return InvalidArgument(
      fmt::format("{} is computed, it must be constant", value.name));
}

absl::StatusOr<Arranged> ImportState::AddConst(const ModelValue& value) {
  const Constant& constant = *value.constant;
  const std::optional<DType> dtype = DTypeOf(constant.type);
  if (!dtype.has_value()) {
    return InvalidArgument(fmt::format("{} is of {}, which no graph has",
                                       value.name,
                                       ElementTypeName(constant.type)));
  }
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(CheckShape(Shape(constant.dims)), value.name));
  if (constant.is_real() && constant.size() > kMaxConstElements) {
    ModelValue copy = value;
    return BindWeight(
        copy,
        WithoutParts(value.dims, Identity(static_cast<int>(value.dims.size()))),
        WeightRole::kFixed);
  }
  Attributes attributes = {{"dtype", *dtype}, {"shape", Shape(constant.dims)}};
  if (constant.size() == 1) {
    attributes.Set("value", ItemOf(constant, 0));
  } else {
    attributes.Set("values", ListOf(constant));
  }
  const Tensor tensor = g_.Add(g_, {.op = "Const",
                                    .attributes = attributes,
                                    .name = NodeName(value.name, "constant")});
  SPILLWAY_RETURN_IF_ERROR(g_.status());
  return AsIs(tensor);
}

}  // namespace spillway::onnx_model

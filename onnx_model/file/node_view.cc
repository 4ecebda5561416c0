#include "onnx_model/file/node_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/status_macros.h"

namespace spillway::onnx_model {
namespace {

using Proto = onnx::AttributeProto;

constexpr int kMaxItems = 1 << 24;

const std::string& ItemOr(
    const google::protobuf::RepeatedPtrField<std::string>& items, int index) {
  static const std::string kNone;
  return index >= 0 && index < items.size() ? items.Get(index) : kNone;
}

// Older files leave the type out.
Proto::AttributeType TypeOfAttribute(const Proto& attribute) {
  if (attribute.type() != Proto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return Proto::FLOAT;
  if (attribute.has_i()) return Proto::INT;
  if (attribute.has_s()) return Proto::STRING;
  if (attribute.has_t()) return Proto::TENSOR;
  if (attribute.has_g()) return Proto::GRAPH;
  if (attribute.floats_size() > 0) return Proto::FLOATS;
  if (attribute.ints_size() > 0) return Proto::INTS;
  return Proto::UNDEFINED;
}

absl::Status CheckItems(std::string_view name, int count) {
  if (count <= kMaxItems) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("attribute {} has {} items, at most {} "
                  "are possible",
                  name, count, kMaxItems));
}

absl::StatusOr<double> Finite(std::string_view name, float value) {
  if (std::isfinite(value)) return value;
  return InvalidArgument(fmt::format("attribute {} is {}", name, value));
}

}  // namespace

const std::string& NodeView::input(int index) const {
  return ItemOr(node_->input(), index);
}

const std::string& NodeView::output(int index) const {
  return ItemOr(node_->output(), index);
}

bool NodeView::has(std::string_view attribute) const {
  return Find(attribute) != nullptr;
}

absl::StatusOr<int64_t> NodeView::Int(std::string_view name,
                                      int64_t fallback) const {
  SPILLWAY_ASSIGN_OR_RETURN(const Proto* found, FindOf(name, Proto::INT));
  return found == nullptr ? fallback : found->i();
}

absl::StatusOr<bool> NodeView::Bool(std::string_view name,
                                    bool fallback) const {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t value, Int(name, fallback ? 1 : 0));
  return value != 0;
}

absl::StatusOr<double> NodeView::Real(std::string_view name,
                                      double fallback) const {
  SPILLWAY_ASSIGN_OR_RETURN(const Proto* found, FindOf(name, Proto::FLOAT));
  if (found == nullptr) return fallback;
  return Finite(name, found->f());
}

absl::StatusOr<std::string> NodeView::Text(std::string_view name,
                                           std::string_view fallback) const {
  SPILLWAY_ASSIGN_OR_RETURN(const Proto* found, FindOf(name, Proto::STRING));
  return found == nullptr ? std::string(fallback) : found->s();
}

absl::StatusOr<size_t> NodeView::Choice(
    std::string_view name,
    std::initializer_list<std::string_view> choices) const {
  SPILLWAY_ASSIGN_OR_RETURN(const Proto* found, FindOf(name, Proto::STRING));
  if (found == nullptr) return size_t{0};
  const auto* const place = std::ranges::find(choices, found->s());
  if (place == choices.end()) {
    return Unimplemented(fmt::format("{} '{}'", name, found->s()));
  }
  return static_cast<size_t>(place - choices.begin());
}

absl::StatusOr<std::optional<std::vector<int64_t>>> NodeView::Ints(
    std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(const Proto* found, FindOf(name, Proto::INTS));
  std::optional<std::vector<int64_t>> values;
  if (found == nullptr) return values;
  SPILLWAY_RETURN_IF_ERROR(CheckItems(name, found->ints_size()));
  values.emplace(found->ints().begin(), found->ints().end());
  return values;
}

absl::StatusOr<std::optional<std::vector<double>>> NodeView::Reals(
    std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(const Proto* found, FindOf(name, Proto::FLOATS));
  std::optional<std::vector<double>> values;
  if (found == nullptr) return values;
  SPILLWAY_RETURN_IF_ERROR(CheckItems(name, found->floats_size()));
  values.emplace();
  for (const float item : found->floats()) {
    SPILLWAY_ASSIGN_OR_RETURN(const double value, Finite(name, item));
    values->push_back(value);
  }
  return values;
}

absl::StatusOr<const onnx::TensorProto*> NodeView::Tensor(
    std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(const Proto* found, FindOf(name, Proto::TENSOR));
  return found == nullptr ? nullptr : &found->t();
}

absl::StatusOr<const onnx::GraphProto*> NodeView::Subgraph(
    std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(const Proto* found, FindOf(name, Proto::GRAPH));
  return found == nullptr ? nullptr : &found->g();
}

const Proto* NodeView::Find(std::string_view name) const {
  for (const Proto& attribute : node_->attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

absl::StatusOr<const Proto*> NodeView::FindOf(std::string_view name,
                                              Proto::AttributeType type) const {
  const Proto* found = Find(name);
  if (found == nullptr) return found;
  const Proto::AttributeType actual = TypeOfAttribute(*found);
  // An empty list without a type may be any list.
  const bool is_empty_list = actual == Proto::UNDEFINED &&
                             (type == Proto::INTS || type == Proto::FLOATS);
  if (actual == type || is_empty_list) return found;
  return InvalidArgument(fmt::format("attribute {} is of type {}, not {}", name,
                                     Proto::AttributeType_Name(actual),
                                     Proto::AttributeType_Name(type)));
}

}  // namespace spillway::onnx_model

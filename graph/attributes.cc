#include "graph/attributes.h"

#include <fmt/format.h>

#include <cmath>

#include "base/status_macros.h"

namespace spillway {
namespace {

std::string_view KindOf(const AttributeValue& value) {
  constexpr std::string_view kKinds[] = {
      "null", "a bool", "an integer", "a real", "text", "a list", "an object"};
  return kKinds[value.variant().index()];
}

absl::Status WrongKind(std::string_view name, std::string_view expected,
                       const AttributeValue& value) {
  return InvalidArgument(fmt::format("attribute '{}' must be {}, not {}", name,
                                     expected, KindOf(value)));
}

absl::StatusOr<const AttributeValue*> FindRequired(const Attributes& attributes,
                                                   std::string_view name) {
  const AttributeValue* value = attributes.Find(name);
  if (value == nullptr) {
    return InvalidArgument(fmt::format("attribute '{}' is missing", name));
  }
  return value;
}

// Attribute `name`, which must hold a T.
template <typename T>
absl::StatusOr<T> Get(const Attributes& attributes, std::string_view name,
                      std::string_view expected) {
  SPILLWAY_ASSIGN_OR_RETURN(const AttributeValue* value,
                            FindRequired(attributes, name));
  const T* typed = std::get_if<T>(&value->variant());
  if (typed == nullptr) return WrongKind(name, expected, *value);
  return *typed;
}

absl::StatusOr<double> ToReal(std::string_view name,
                              const AttributeValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value.variant())) {
    return static_cast<double>(*integer);
  }
  const auto* real = std::get_if<double>(&value.variant());
  if (real == nullptr) return WrongKind(name, "a number", value);
  if (!std::isfinite(*real)) {
    return InvalidArgument(
        fmt::format("attribute '{}' is {}; it must be finite", name, *real));
  }
  return *real;
}

absl::StatusOr<std::vector<int64_t>> ToInts(std::string_view name,
                                            const AttributeValue& value) {
  const auto* list = std::get_if<AttributeValue::List>(&value.variant());
  if (list == nullptr) return WrongKind(name, "a list of integers", value);
  std::vector<int64_t> integers;
  integers.reserve(list->size());
  for (const AttributeValue& item : *list) {
    const auto* integer = std::get_if<int64_t>(&item.variant());
    if (integer == nullptr) {
      return InvalidArgument(
          fmt::format("attribute '{}' must be a list of integers; item {} is "
                      "{}",
                      name, integers.size(), KindOf(item)));
    }
    integers.push_back(*integer);
  }
  return integers;
}

AttributeValue::List ToList(const std::vector<int64_t>& values) {
  return AttributeValue::List(values.begin(), values.end());
}

}  // namespace

AttributeValue::AttributeValue(std::initializer_list<AttributeValue> items)
    : value_(List(items)) {}

AttributeValue::AttributeValue(const std::vector<int64_t>& values)
    : value_(ToList(values)) {}

AttributeValue::AttributeValue(const Shape& shape)
    : value_(ToList(shape.dims())) {}

AttributeValue::AttributeValue(DType dtype)
    : value_(std::string(DTypeName(dtype))) {}

Attributes::Attributes(AttributeValue::Object items) {
  if (items.empty()) return;
  items_ = std::make_shared<const AttributeValue::Object>(std::move(items));
}

const AttributeValue::Object& Attributes::items() const {
  static const auto* const kNone = new AttributeValue::Object();
  return items_ == nullptr ? *kNone : *items_;
}

bool Attributes::contains(std::string_view name) const {
  return Find(name) != nullptr;
}

const AttributeValue* Attributes::Find(std::string_view name) const {
  const auto it = items().find(name);
  return it == items().end() ? nullptr : &it->second;
}

void Attributes::Set(std::string_view name, AttributeValue value) {
  AttributeValue::Object changed = items();
  changed.insert_or_assign(std::string(name), std::move(value));
  items_ = std::make_shared<const AttributeValue::Object>(std::move(changed));
}

absl::StatusOr<bool> Attributes::GetBool(std::string_view name) const {
  return Get<bool>(*this, name, "a bool");
}

absl::StatusOr<int64_t> Attributes::GetInt(std::string_view name) const {
  return Get<int64_t>(*this, name, "an integer");
}

absl::StatusOr<double> Attributes::GetReal(std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(const AttributeValue* value,
                            FindRequired(*this, name));
  return ToReal(name, *value);
}

absl::StatusOr<std::string> Attributes::GetString(std::string_view name) const {
  return Get<std::string>(*this, name, "text");
}

absl::StatusOr<std::vector<int64_t>> Attributes::GetInts(
    std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(const AttributeValue* value,
                            FindRequired(*this, name));
  return ToInts(name, *value);
}

absl::StatusOr<std::vector<double>> Attributes::GetReals(
    std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(
      const AttributeValue::List list,
      Get<AttributeValue::List>(*this, name, "a list of numbers"));
  std::vector<double> reals;
  reals.reserve(list.size());
  for (const AttributeValue& item : list) {
    SPILLWAY_ASSIGN_OR_RETURN(const double real, ToReal(name, item));
    reals.push_back(real);
  }
  return reals;
}

absl::StatusOr<std::vector<std::vector<int64_t>>> Attributes::GetIntLists(
    std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(
      const AttributeValue::List list,
      Get<AttributeValue::List>(*this, name, "a list of lists of integers"));
  std::vector<std::vector<int64_t>> lists;
  lists.reserve(list.size());
  for (const AttributeValue& item : list) {
    SPILLWAY_ASSIGN_OR_RETURN(std::vector<int64_t> integers,
                              ToInts(name, item));
    lists.push_back(std::move(integers));
  }
  return lists;
}

absl::StatusOr<DType> Attributes::GetDType(std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::string text,
      Get<std::string>(*this, name, "the name of a dtype"));
  const std::optional<DType> dtype = ParseDType(text);
  if (!dtype.has_value()) {
    return InvalidArgument(
        fmt::format("attribute '{}' names no dtype: '{}'", name, text));
  }
  return *dtype;
}

absl::StatusOr<Shape> Attributes::GetShape(std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<int64_t> dims, GetInts(name));
  Shape shape(std::move(dims));
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(CheckShape(shape), fmt::format("attribute '{}'", name)));
  return shape;
}

absl::StatusOr<Attributes> Attributes::GetObject(std::string_view name) const {
  SPILLWAY_ASSIGN_OR_RETURN(
      AttributeValue::Object items,
      Get<AttributeValue::Object>(*this, name, "an object"));
  return Attributes(std::move(items));
}

absl::StatusOr<bool> Attributes::GetBool(std::string_view name,
                                         bool fallback) const {
  if (!contains(name)) return fallback;
  return GetBool(name);
}

absl::StatusOr<int64_t> Attributes::GetInt(std::string_view name,
                                           int64_t fallback) const {
  if (!contains(name)) return fallback;
  return GetInt(name);
}

absl::StatusOr<double> Attributes::GetReal(std::string_view name,
                                           double fallback) const {
  if (!contains(name)) return fallback;
  return GetReal(name);
}

absl::StatusOr<std::string> Attributes::GetString(
    std::string_view name, std::string_view fallback) const {
  if (!contains(name)) return std::string(fallback);
  return GetString(name);
}

absl::StatusOr<std::vector<int64_t>> Attributes::GetInts(
    std::string_view name, std::vector<int64_t> fallback) const {
  if (!contains(name)) return fallback;
  return GetInts(name);
}

}  // namespace spillway

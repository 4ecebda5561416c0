// Attributes of a node: named JSON-like values, kept in name order. An op reads
// them once, through the typed getters, into its own struct.
#ifndef SPILLWAY_GRAPH_ATTRIBUTES_H_
#define SPILLWAY_GRAPH_ATTRIBUTES_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/tensor_type.h"

namespace spillway {

// Null, bool, integer, real, text, list or object. Converts from the C++ types
// that models write: {{"strides", {1, 1}}, {"padding", "SAME"}}.
class AttributeValue {
 public:
  using List = std::vector<AttributeValue>;
  using Object = std::map<std::string, AttributeValue, std::less<>>;
  using Variant = std::variant<std::monostate, bool, int64_t, double,
                               std::string, List, Object>;

  AttributeValue() = default;
  // NOLINTBEGIN(google-explicit-constructor): literals become attributes.
  AttributeValue(bool value) : value_(value) {}
  AttributeValue(int value) : value_(int64_t{value}) {}
  AttributeValue(int64_t value) : value_(value) {}
  AttributeValue(double value) : value_(value) {}
  AttributeValue(const char* value) : value_(std::string(value)) {}
  AttributeValue(std::string value) : value_(std::move(value)) {}
  AttributeValue(List value) : value_(std::move(value)) {}
  AttributeValue(Object value) : value_(std::move(value)) {}
  // A list in braces: {1, 1}, {"a", "b"}, {{0, 1}, {2, 3}}. (Hence
  // AttributeValue{x} is a list of one; {} is null, List() an empty list.)
  AttributeValue(std::initializer_list<AttributeValue> items);
  AttributeValue(const std::vector<int64_t>& values);
  AttributeValue(const Shape& shape);
  AttributeValue(DType dtype);
  // NOLINTEND(google-explicit-constructor)

  const Variant& variant() const { return value_; }

  friend bool operator==(const AttributeValue&,
                         const AttributeValue&) = default;

 private:
  Variant value_;
};

// Getters come in two forms: GetX(name) for required attributes and GetX(name,
// fallback) for optional ones. Errors: INVALID_ARGUMENT naming the attribute if
// it is missing or of another kind, or if a real is not finite. Integers are
// accepted where a real is expected. Copies share their items until one of them
// is Set, so copying a graph copies no attribute.
class Attributes {
 public:
  Attributes() = default;
  Attributes(
      std::initializer_list<std::pair<const std::string, AttributeValue>> items)
      : Attributes(AttributeValue::Object(items)) {}
  explicit Attributes(AttributeValue::Object items);

  bool contains(std::string_view name) const;
  const AttributeValue* Find(std::string_view name) const;
  void Set(std::string_view name, AttributeValue value);
  const AttributeValue::Object& items() const;

  absl::StatusOr<bool> GetBool(std::string_view name) const;
  absl::StatusOr<int64_t> GetInt(std::string_view name) const;
  absl::StatusOr<double> GetReal(std::string_view name) const;
  absl::StatusOr<std::string> GetString(std::string_view name) const;
  absl::StatusOr<std::vector<int64_t>> GetInts(std::string_view name) const;
  absl::StatusOr<std::vector<double>> GetReals(std::string_view name) const;
  // [[1, 2], [3, 4]]
  absl::StatusOr<std::vector<std::vector<int64_t>>> GetIntLists(
      std::string_view name) const;
  absl::StatusOr<DType> GetDType(std::string_view name) const;
  absl::StatusOr<Shape> GetShape(std::string_view name) const;
  absl::StatusOr<Attributes> GetObject(std::string_view name) const;

  absl::StatusOr<bool> GetBool(std::string_view name, bool fallback) const;
  absl::StatusOr<int64_t> GetInt(std::string_view name, int64_t fallback) const;
  absl::StatusOr<double> GetReal(std::string_view name, double fallback) const;
  absl::StatusOr<std::string> GetString(std::string_view name,
                                        std::string_view fallback) const;
  absl::StatusOr<std::vector<int64_t>> GetInts(
      std::string_view name, std::vector<int64_t> fallback) const;

  friend bool operator==(const Attributes& a, const Attributes& b) {
    return a.items_ == b.items_ || a.items() == b.items();
  }

 private:
  std::shared_ptr<const AttributeValue::Object> items_;  // null: no items
};

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_ATTRIBUTES_H_

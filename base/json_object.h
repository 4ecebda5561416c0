// JsonObject: reads the fields of one JSON object and of the objects in it.
//
//     JsonObject file(json, "link.json");
//     link.name = file.Text("name");
//     link.latency_ns = file.Integer("latency_ns", {.least = 0});
//     if (file.Has("shared")) link.shared = file.Flag("shared");
//     for (JsonObject size : file.Objects("sizes")) ReadSize(size, link);
//     file.RefuseOtherFields();
//     SPILLWAY_RETURN_IF_ERROR(file.status());
//
// The first error is kept, for an object and for all objects read from it.
// After it, getters return empty values at once and further errors are ignored,
// so a caller reads all fields and then checks status() before it uses them. A
// getter requires its field; call Has() first to make the field optional.
//
// Errors: INVALID_ARGUMENT that names object and field, on one line:
//     link.json: sizes[3]: field "bytes" must be an integer, not "8"
// Ownership: borrows the JSON value, `where` and all names. An object that was
// read from another object borrows that object too. References that getters
// return point into the JSON value.
// Cost: a getter is O(1) if fields are read in the order in which the object
// has them, else O(number of fields). Text is built only for an error.
// Threads: one at a time.
#ifndef SPILLWAY_BASE_JSON_OBJECT_H_
#define SPILLWAY_BASE_JSON_OBJECT_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

namespace spillway {

// Both ends are included.
struct IntegerRange {
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t most = std::numeric_limits<int64_t>::max();
};
struct NumberRange {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
};

// Nothing if `json` is not an integer in the range. 1.0 is not an integer.
std::optional<int64_t> ToInteger(const nlohmann::ordered_json& json,
                                 IntegerRange range = {});

class JsonObjects;

class JsonObject {
 public:
  // `where` names the object in errors, and may be empty. The status is an
  // error if `json` is not an object.
  explicit JsonObject(const nlohmann::ordered_json& json,
                      std::string_view where = {});
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  // Whether the object has the field; false after an error.
  bool Has(std::string_view name);

  const std::string& Text(std::string_view name);
  bool Flag(std::string_view name);
  int64_t Integer(std::string_view name, IntegerRange range = {});
  std::optional<int64_t> IntegerOrNull(std::string_view name,
                                       IntegerRange range = {});
  double Number(std::string_view name, NumberRange range = {});
  std::vector<std::string> Texts(std::string_view name);
  std::vector<int64_t> Integers(std::string_view name, IntegerRange range = {});

  JsonObject Object(std::string_view name);
  JsonObjects Objects(std::string_view name);
  // A list of any items, and a field of any kind; an empty list and null after
  // an error.
  const nlohmann::ordered_json& List(std::string_view name);
  const nlohmann::ordered_json& Field(std::string_view name);

  // The names of all fields in order, for an object that is a map; empty after
  // an error.
  std::vector<std::string_view> names() const;

  // Reports a field that no earlier call has named. The message is added to the
  // error of a missing field, because the unknown field may be that one
  // misspelt.
  void RefuseOtherFields();

  // Errors of a caller that knows more about a field than its kind:
  //   MustBe: field "name" must be EXPECTED, not 7
  //   Fail: field "name" PROBLEM
  //   Check: field "name": MESSAGE, unless `status` is OK
  void MustBe(std::string_view name, std::string_view expected);
  void Fail(std::string_view name, std::string_view problem);
  void Check(std::string_view name, const absl::Status& status);

  bool ok() const { return root_->status_.ok(); }
  const absl::Status& status() const { return root_->status_; }

 private:
  friend class JsonObjects;

  // Field `name` of `parent`, or item `index` of that field.
  JsonObject(const nlohmann::ordered_json& json, JsonObject& parent,
             std::string_view name, std::optional<size_t> index);

  void CheckIsObject();
  // Null after an error, and if the object lacks the field; for Find a missing
  // field is an error.
  const nlohmann::ordered_json* Look(std::string_view name);
  const nlohmann::ordered_json* Find(std::string_view name);
  // "link.json: sizes[3]"
  std::string Where() const;
  // WHERE, the separator, and the message; without WHERE only the message.
  void SetError(std::string_view separator, std::string_view message);

  const nlohmann::ordered_json* json_;  // an object, maybe an empty one
  const JsonObject* parent_ = nullptr;
  JsonObject* root_ = this;
  std::string_view name_;
  std::optional<size_t> index_;
  size_t last_found_ = 0;                // index of a field
  std::vector<std::string_view> asked_;  // names, in order, maybe repeated
  bool lacks_field_ = false;             // the first error is a missing field
  absl::Status status_;                  // of the root
};

// A list of objects, for one loop over it, which an error ends.
class JsonObjects {
 public:
  JsonObjects(JsonObject& parent, std::string_view name,
              const nlohmann::ordered_json& list)
      : parent_(&parent), name_(name), list_(&list) {}

  JsonObjects begin() const { return *this; }
  std::default_sentinel_t end() const { return {}; }
  bool operator==(std::default_sentinel_t) const;
  JsonObject operator*() const;
  JsonObjects& operator++();

 private:
  JsonObject* parent_;
  std::string_view name_;
  const nlohmann::ordered_json* list_;
  size_t index_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_BASE_JSON_OBJECT_H_

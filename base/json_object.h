// JsonObject: reads the fields of one JSON object, and of those in it.
//
//     JsonObject file(json, "link.json");
//     link.name = file.Text("name");
//     link.latency_ns = file.Integer("latency_ns", {.least = 0});
//     if (file.Has("shared")) link.shared = file.Flag("shared");
//     for (JsonObject size : file.Objects("sizes")) ReadSize(size, link);
//     file.RefuseOtherFields();
//     SPILLWAY_RETURN_IF_ERROR(file.status());
//
// The first error is kept, for an object and all that are read from it: after
// it getters return empty values at once and further errors are ignored. So a
// caller reads all fields, then checks status() before it uses them. Getters
// require their field; Has() before one makes it optional.
//
// Errors: INVALID_ARGUMENT that names object and field, on one line:
//     link.json: sizes[3]: field "bytes" must be an integer, not "8"
// Ownership: borrows the JSON value, `where` and all names; an object that was
// read from another borrows that one too. References that getters return are
// into the JSON value.
// Cost: a getter is O(1) where fields are read in their order in the object,
// else O(number of fields). No text is made before an error.
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

// Nothing if `json` is no integer, or not in the range. 1.0 is no integer.
std::optional<int64_t> ToInteger(const nlohmann::ordered_json& json,
                                 IntegerRange range = {});

class JsonObjects;

class JsonObject {
 public:
  // `where` names the object in errors, and may be empty. The status is an
  // error if `json` is no object.
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
  // A list of anything, and anything; an empty list and null after an error.
  const nlohmann::ordered_json& List(std::string_view name);
  const nlohmann::ordered_json& Field(std::string_view name);

  // Of all fields in their order, for an object that is a map; none after an
  // error.
  std::vector<std::string_view> names() const;

  // Makes a field that no call before has named an error. It is added to the
  // error of a missing field, whose name may just be misspelt.
  void RefuseOtherFields();

  // Errors of a caller who knows more of a field than its kind:
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
  // Null after an error, and if the object lacks the field. For Find that is
  // an error.
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
  std::vector<std::string_view> asked_;  // for, in order, maybe repeatedly
  bool lacks_field_ = false;             // and this was the first error
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

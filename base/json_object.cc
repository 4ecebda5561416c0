#include "base/json_object.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxQuotedSize = 200;  // a text can be the whole file

const Json& EmptyList() {
  static const Json kEmpty = Json::array();
  return kEmpty;
}

const Json& EmptyObject() {
  static const Json kEmpty = Json::object();
  return kEmpty;
}

const Json& Null() {
  static const Json kNull;
  return kNull;
}

const std::string& EmptyText() {
  static const std::string kEmpty;
  return kEmpty;
}

std::vector<std::string_view> WithoutRepeats(
    const std::vector<std::string_view>& names) {
  std::vector<std::string_view> unique;
  for (const std::string_view name : names) {
    if (std::ranges::find(unique, name) == unique.end()) unique.push_back(name);
  }
  return unique;
}

std::span<const Json::object_t::value_type> FieldsOf(const Json& object) {
  const auto& fields = object.get_ref<const Json::object_t&>();
  return {fields.data(), fields.size()};
}

// Escaped, and cut if it is long.
std::string Escaped(std::string_view text) {
  const std::string quoted =
      fmt::format("{:?}", text.substr(0, kMaxQuotedSize));
  return quoted.substr(1, quoted.size() - 2) +
         (text.size() > kMaxQuotedSize ? "..." : "");
}

std::string Quoted(std::string_view text) {
  return fmt::format("\"{}\"", Escaped(text));
}

// "a", "b", "c". The quotes mark the names as those of a file's fields.
std::string QuotedList(const std::vector<std::string_view>& names) {
  std::string list;
  for (const std::string_view name : names) {
    list += (list.empty() ? "" : ", ") + Quoted(name);
  }
  return list;
}

// The kind or value of `json`, in a few words.
std::string Describe(const Json& json) {
  if (json.is_string()) return Quoted(json.get_ref<const std::string&>());
  if (json.is_array()) return json.empty() ? "an empty list" : "a list";
  if (json.is_object()) return "an object";
  return json.dump();
}

// " from 1 to 8", to follow "an integer" or "integers", which `json` is not.
std::string Describe(IntegerRange range, const Json& json) {
  constexpr IntegerRange kAll;
  if (range.least > kAll.least && range.most < kAll.most) {
    return fmt::format(" from {} to {}", range.least, range.most);
  }
  if (range.least > kAll.least) {
    return fmt::format(" of at least {}", range.least);
  }
  if (range.most < kAll.most) return fmt::format(" of at most {}", range.most);
  return json.is_number_integer() ? " of 64 bits" : "";
}

std::string Describe(NumberRange range) {
  constexpr NumberRange kAll;
  if (range.least == kAll.least && range.most == kAll.most) return "";
  return fmt::format(" from {:g} to {:g}", range.least, range.most);
}

}  // namespace

std::optional<int64_t> ToInteger(const Json& json, IntegerRange range) {
  const bool fits = json.is_number_integer() &&
                    (!json.is_number_unsigned() ||
                     std::in_range<int64_t>(json.get<uint64_t>()));
  if (!fits) return std::nullopt;
  const auto value = json.get<int64_t>();
  if (value < range.least || value > range.most) return std::nullopt;
  return value;
}

JsonObject::JsonObject(const Json& json, std::string_view where)
    : json_(&json), name_(where) {
  CheckIsObject();
}

JsonObject::JsonObject(const Json& json, JsonObject& parent,
                       std::string_view name, std::optional<size_t> index)
    : json_(&json),
      parent_(&parent),
      root_(parent.root_),
      name_(name),
      index_(index) {
  CheckIsObject();
}

void JsonObject::CheckIsObject() {
  if (json_->is_object()) return;
  SetError(" ", "must be an object, not " + Describe(*json_));
  json_ = &EmptyObject();
}

const Json* JsonObject::Look(std::string_view name) {
  // Has() and a getter ask for the same field one after the other.
  if (asked_.empty() || asked_.back() != name) asked_.push_back(name);
  if (!ok()) return nullptr;
  const auto fields = FieldsOf(*json_);
  size_t i = last_found_;
  for (size_t looked = 0; looked < fields.size(); ++looked) {
    if (fields[i].first == name) {
      last_found_ = i;
      return &fields[i].second;
    }
    if (++i == fields.size()) i = 0;
  }
  return nullptr;
}

bool JsonObject::Has(std::string_view name) { return Look(name) != nullptr; }

const Json* JsonObject::Find(std::string_view name) {
  const Json* field = Look(name);
  if (field == nullptr && ok()) {
    Fail(name, "is missing");
    lacks_field_ = true;
  }
  return field;
}

const std::string& JsonObject::Text(std::string_view name) {
  const Json* field = Find(name);
  if (field != nullptr && field->is_string()) {
    return field->get_ref<const std::string&>();
  }
  MustBe(name, "text");
  return EmptyText();
}

bool JsonObject::Flag(std::string_view name) {
  const Json* field = Find(name);
  if (field != nullptr && field->is_boolean()) return field->get<bool>();
  MustBe(name, "true or false");
  return false;
}

int64_t JsonObject::Integer(std::string_view name, IntegerRange range) {
  const Json* field = Find(name);
  if (field == nullptr) return 0;
  const std::optional<int64_t> value = ToInteger(*field, range);
  if (!value) MustBe(name, "an integer" + Describe(range, *field));
  return value.value_or(0);
}

std::optional<int64_t> JsonObject::IntegerOrNull(std::string_view name,
                                                 IntegerRange range) {
  const Json* field = Find(name);
  if (field == nullptr || field->is_null()) return std::nullopt;
  return Integer(name, range);
}

double JsonObject::Number(std::string_view name, NumberRange range) {
  const Json* field = Find(name);
  if (field == nullptr) return 0;
  if (field->is_number()) {
    const auto value = field->get<double>();
    if (value >= range.least && value <= range.most) return value;
  }
  MustBe(name, "a number" + Describe(range));
  return 0;
}

const Json& JsonObject::Field(std::string_view name) {
  const Json* field = Find(name);
  return field == nullptr ? Null() : *field;
}

const Json& JsonObject::List(std::string_view name) {
  const Json* field = Find(name);
  if (field != nullptr && field->is_array()) return *field;
  MustBe(name, "a list");
  return EmptyList();
}

std::vector<std::string> JsonObject::Texts(std::string_view name) {
  const Json& list = List(name);
  std::vector<std::string> texts;
  texts.reserve(list.size());
  for (const Json& item : list) {
    if (!item.is_string()) {
      Fail(name, "must be a list of texts; it has " + Describe(item));
      return {};
    }
    texts.push_back(item.get_ref<const std::string&>());
  }
  return texts;
}

std::vector<int64_t> JsonObject::Integers(std::string_view name,
                                          IntegerRange range) {
  const Json& list = List(name);
  std::vector<int64_t> values;
  values.reserve(list.size());
  for (const Json& item : list) {
    const std::optional<int64_t> value = ToInteger(item, range);
    if (!value) {
      Fail(name, fmt::format("must be a list of integers{}; it has {}",
                             Describe(range, item), Describe(item)));
      return {};
    }
    values.push_back(*value);
  }
  return values;
}

JsonObject JsonObject::Object(std::string_view name) {
  const Json* field = Find(name);
  const bool fits = field != nullptr && field->is_object();
  if (!fits) MustBe(name, "an object");
  return JsonObject(fits ? *field : EmptyObject(), *this, name, std::nullopt);
}

JsonObjects JsonObject::Objects(std::string_view name) {
  return JsonObjects(*this, name, List(name));
}

std::vector<std::string_view> JsonObject::names() const {
  std::vector<std::string_view> names;
  if (!ok()) return names;
  for (const auto& [name, value] : FieldsOf(*json_)) names.push_back(name);
  return names;
}

void JsonObject::RefuseOtherFields() {
  if (!ok() && !lacks_field_) return;
  const auto is_known = [&](const auto& field) {
    return std::ranges::find(asked_, field.first) != asked_.end();
  };
  const auto fields = FieldsOf(*json_);
  const auto unknown = std::ranges::find_if_not(fields, is_known);
  if (unknown == fields.end()) return;
  const std::string problem =
      fmt::format("unknown field {}; known are: {}", Quoted(unknown->first),
                  QuotedList(WithoutRepeats(asked_)));
  if (ok()) return SetError(": ", problem);
  root_->status_ = InvalidArgument(
      fmt::format("{}; {}", std::string(status().message()), problem));
}

void JsonObject::MustBe(std::string_view name, std::string_view expected) {
  const Json* field = Find(name);
  if (field == nullptr) return;
  Fail(name, fmt::format("must be {}, not {}", expected, Describe(*field)));
}

void JsonObject::Fail(std::string_view name, std::string_view problem) {
  if (!ok()) return;
  SetError(": ", fmt::format("field {} {}", Quoted(name), problem));
}

void JsonObject::Check(std::string_view name, const absl::Status& status) {
  if (!ok() || status.ok()) return;
  SetError(": ", fmt::format("field {}: {}", Quoted(name),
                             std::string(status.message())));
}

std::string JsonObject::Where() const {
  if (parent_ == nullptr) return std::string(name_);
  std::string where = parent_->Where();
  if (!where.empty()) where += ": ";
  where += Escaped(name_);
  if (index_) where += fmt::format("[{}]", *index_);
  return where;
}

void JsonObject::SetError(std::string_view separator,
                          std::string_view message) {
  if (!ok()) return;
  const std::string where = Where();
  root_->status_ = InvalidArgument(
      fmt::format("{}{}{}", where, where.empty() ? "" : separator, message));
}

bool JsonObjects::operator==(std::default_sentinel_t) const {
  return index_ == list_->size() || !parent_->ok();
}

JsonObject JsonObjects::operator*() const {
  return JsonObject((*list_)[index_], *parent_, name_, index_);
}

JsonObjects& JsonObjects::operator++() {
  ++index_;
  return *this;
}

}  // namespace spillway

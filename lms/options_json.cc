#include "lms/options_json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;
using Texts = std::vector<std::string>;

// kOff: in both versions.
struct Field {
  std::string_view name;
  LmsMode mode;
  std::variant<bool LmsOptions::*, int64_t LmsOptions::*, double LmsOptions::*,
               std::string LmsOptions::*, Texts LmsOptions::*,
               LmsMode LmsOptions::*, ControlStrategy LmsOptions::*>
      member;
};

using enum LmsMode;

constexpr std::array<Field, 33> kFields = {{
    {"mode", kOff, &LmsOptions::mode},
    {"size_threshold", kOff, &LmsOptions::size_threshold_bytes},
    {"compat", kOff, &LmsOptions::compat},
    {"debug_level", kOff, &LmsOptions::debug_level},
    {"optimizer_scopes", kV1, &LmsOptions::optimizer_scopes},
    {"starting_scope", kV1, &LmsOptions::starting_scope},
    {"starting_op_names", kV1, &LmsOptions::starting_op_names},
    {"excl_scopes", kV1, &LmsOptions::excl_scopes},
    {"incl_scopes", kV1, &LmsOptions::incl_scopes},
    {"excl_types", kV1, &LmsOptions::excl_types},
    {"incl_types", kV1, &LmsOptions::incl_types},
    {"n_tensors", kV1, &LmsOptions::n_tensors},
    {"lb", kV1, &LmsOptions::lb},
    {"ub", kV1, &LmsOptions::ub},
    {"ctrld_strategy", kV1, &LmsOptions::ctrld_strategy},
    {"fuse_swapins", kV1, &LmsOptions::fuse_swapins},
    {"swap_branches", kV1, &LmsOptions::swap_branches},
    {"branch_threshold", kV1, &LmsOptions::branch_threshold},
    {"swapout_threshold", kV2, &LmsOptions::swapout_threshold},
    {"swapin_ahead", kV2, &LmsOptions::swapin_ahead},
    {"swapin_groupby", kV2, &LmsOptions::swapin_groupby},
    {"sync_mode", kV2, &LmsOptions::sync_mode},
    {"serialization", kV2, &LmsOptions::serialization},
    {"serialization_by_size", kV2, &LmsOptions::serialization_by_size_gib},
    {"is_training", kV2, &LmsOptions::is_training},
    {"excl_output_by_scopes", kV2, &LmsOptions::excl_output_by_scopes},
    {"excl_output_by_types", kV2, &LmsOptions::excl_output_by_types},
    {"excl_input_by_scopes", kV2, &LmsOptions::excl_input_by_scopes},
    {"excl_input_by_types", kV2, &LmsOptions::excl_input_by_types},
    {"incl_output_by_scopes", kV2, &LmsOptions::incl_output_by_scopes},
    {"incl_output_by_types", kV2, &LmsOptions::incl_output_by_types},
    {"incl_input_by_scopes", kV2, &LmsOptions::incl_input_by_scopes},
    {"incl_input_by_types", kV2, &LmsOptions::incl_input_by_types},
}};

Json ValueToJson(LmsMode mode) { return std::string(LmsModeName(mode)); }
Json ValueToJson(ControlStrategy strategy) {
  return std::string(ControlStrategyName(strategy));
}
template <typename Value>
Json ValueToJson(const Value& value) {
  return value;
}

void Put(const Field& field, const LmsOptions& options, Json& json) {
  json[std::string(field.name)] = std::visit(
      [&](const auto member) { return ValueToJson(options.*member); },
      field.member);
}

// Each returns what was expected if the kind is wrong, else nothing.
using Expected = std::optional<std::string_view>;

Expected Read(const Json& json, bool& value) {
  if (!json.is_boolean()) return "true or false";
  value = json.get<bool>();
  return std::nullopt;
}

Expected Read(const Json& json, int64_t& value) {
  const bool fits = json.is_number_integer() &&
                    (!json.is_number_unsigned() ||
                     std::in_range<int64_t>(json.get<uint64_t>()));
  if (!fits) return "an integer";
  value = json.get<int64_t>();
  return std::nullopt;
}

Expected Read(const Json& json, double& value) {
  if (!json.is_number()) return "a number";
  value = json.get<double>();
  return std::nullopt;
}

Expected Read(const Json& json, std::string& value) {
  if (!json.is_string()) return "text";
  value = json.get<std::string>();
  return std::nullopt;
}

Expected Read(const Json& json, Texts& values) {
  const bool is_list_of_texts =
      json.is_array() && std::ranges::all_of(json, [](const Json& item) {
        return item.is_string();
      });
  if (!is_list_of_texts) return "a list of texts";
  values = json.get<Texts>();
  return std::nullopt;
}

Expected Read(const Json& json, LmsMode& mode) {
  for (const LmsMode known : {kOff, kAuto, kV1, kV2}) {
    if (json == ValueToJson(known)) {
      mode = known;
      return std::nullopt;
    }
  }
  return "off, auto, v1 or v2";
}

Expected Read(const Json& json, ControlStrategy& strategy) {
  const std::optional<ControlStrategy> parsed =
      json.is_string() ? ParseControlStrategy(json.get<std::string>())
                       : std::nullopt;
  if (!parsed) return "chain_rule or direct_order";
  strategy = *parsed;
  return std::nullopt;
}

}  // namespace

Json ToJson(const LmsOptions& options) {
  Json json = Json::object();
  for (const Field& field : kFields) Put(field, options, json);
  return json;
}

Json UsedOptionsToJson(const LmsOptions& options) {
  Json json = Json::object();
  for (const Field& field : kFields) {
    const bool is_mode = field.name == "mode";
    const bool is_used = options.mode != kOff &&
                         (field.mode == kOff || field.mode == options.mode);
    if (is_mode || is_used) Put(field, options, json);
  }
  return json;
}

absl::StatusOr<LmsOptions> ParseLmsOptions(const Json& json) {
  if (!json.is_object()) {
    return InvalidArgument("LMS options must be an object");
  }
  LmsOptions options;
  for (const auto& [name, value] : json.items()) {
    const auto field = std::ranges::find(kFields, name, &Field::name);
    if (field == kFields.end()) {
      return InvalidArgument(
          fmt::format("LMS options have no field \"{}\"", name));
    }
    const Expected expected = std::visit(
        [&options, &value = value](const auto member) {
          return Read(value, options.*member);
        },
        field->member);
    if (expected) {
      return InvalidArgument(fmt::format(
          "field \"{}\" of LMS options must be "
          "{}, not {}",
          name, *expected,
          value.dump(-1, ' ', false, Json::error_handler_t::replace)));
    }
  }
  return options;
}

}  // namespace spillway

#include "lms/options_json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_object.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

using enum LmsMode;

// Calls visit(name, value) for each field of the recomputation.
template <typename Options, typename Visit>
void ForEachRecomputeField(Options& options, Visit visit) {
  visit("recompute", options.recompute.policy);
  visit("recompute_excl_scopes", options.recompute.excl_scopes);
  visit("recompute_excl_types", options.recompute.excl_types);
}

// Calls visit(name, mode, value) for each other field of `options`, const or
// not. Mode kOff: the field belongs to both versions.
template <typename Options, typename Visit>
void ForEachField(Options& options, Visit visit) {
  visit("mode", kOff, options.mode);
  visit("size_threshold", kOff, options.size_threshold_bytes);
  visit("compat", kOff, options.compat);
  visit("debug_level", kOff, options.debug_level);
  visit("optimizer_scopes", kV1, options.v1.optimizer_scopes);
  visit("starting_scope", kV1, options.v1.starting_scope);
  visit("starting_op_names", kV1, options.v1.starting_op_names);
  visit("excl_scopes", kV1, options.v1.excl_scopes);
  visit("incl_scopes", kV1, options.v1.incl_scopes);
  visit("excl_types", kV1, options.v1.excl_types);
  visit("incl_types", kV1, options.v1.incl_types);
  visit("n_tensors", kV1, options.v1.n_tensors);
  visit("lb", kV1, options.v1.lb);
  visit("ub", kV1, options.v1.ub);
  visit("ctrld_strategy", kV1, options.v1.ctrld_strategy);
  visit("fuse_swapins", kV1, options.v1.fuse_swapins);
  visit("swap_branches", kV1, options.v1.swap_branches);
  visit("branch_threshold", kV1, options.v1.branch_threshold);
  visit("swapout_threshold", kV2, options.v2.swapout_threshold);
  visit("swapin_ahead", kV2, options.v2.swapin_ahead);
  visit("swapin_groupby", kV2, options.v2.swapin_groupby);
  visit("sync_mode", kV2, options.v2.sync_mode);
  visit("serialization", kV2, options.v2.serialization);
  visit("serialization_by_size", kV2, options.v2.serialization_by_size_gib);
  visit("is_training", kV2, options.v2.is_training);
  visit("excl_output_by_scopes", kV2, options.v2.excl_output_by_scopes);
  visit("excl_output_by_types", kV2, options.v2.excl_output_by_types);
  visit("excl_input_by_scopes", kV2, options.v2.excl_input_by_scopes);
  visit("excl_input_by_types", kV2, options.v2.excl_input_by_types);
  visit("incl_output_by_scopes", kV2, options.v2.incl_output_by_scopes);
  visit("incl_output_by_types", kV2, options.v2.incl_output_by_types);
  visit("incl_input_by_scopes", kV2, options.v2.incl_input_by_scopes);
  visit("incl_input_by_types", kV2, options.v2.incl_input_by_types);
}

Json ValueToJson(LmsMode mode) { return std::string(LmsModeName(mode)); }
Json ValueToJson(RecomputePolicy policy) {
  return std::string(RecomputePolicyName(policy));
}
Json ValueToJson(ControlStrategy strategy) {
  return std::string(ControlStrategyName(strategy));
}
template <typename Value>
Json ValueToJson(const Value& value) {
  return value;
}

void Read(JsonObject& json, std::string_view name, bool& value) {
  value = json.Flag(name);
}
void Read(JsonObject& json, std::string_view name, int64_t& value) {
  value = json.Integer(name);
}
void Read(JsonObject& json, std::string_view name, double& value) {
  value = json.Number(name);
}
void Read(JsonObject& json, std::string_view name, std::string& value) {
  value = json.Text(name);
}
void Read(JsonObject& json, std::string_view name,
          std::vector<std::string>& values) {
  values = json.Texts(name);
}

void Read(JsonObject& json, std::string_view name, LmsMode& mode) {
  const Json& field = json.Field(name);
  for (const LmsMode known : {kOff, kAuto, kV1, kV2}) {
    if (field != ValueToJson(known)) continue;
    mode = known;
    return;
  }
  json.MustBe(name, "off, auto, v1 or v2");
}

void Read(JsonObject& json, std::string_view name, RecomputePolicy& policy) {
  const Json& field = json.Field(name);
  const std::optional<RecomputePolicy> parsed =
      field.is_string()
          ? ParseRecomputePolicy(field.get_ref<const std::string&>())
          : std::nullopt;
  if (parsed) {
    policy = *parsed;
  } else {
    json.MustBe(name, "off, cheap, sqrt or auto");
  }
}

void Read(JsonObject& json, std::string_view name, ControlStrategy& strategy) {
  const Json& field = json.Field(name);
  for (const ControlStrategy known :
       {ControlStrategy::kChainRule, ControlStrategy::kDirectOrder}) {
    if (field != ValueToJson(known)) continue;
    strategy = known;
    return;
  }
  json.MustBe(name, "chain_rule or direct_order");
}

}  // namespace

Json ToJson(const LmsOptions& options) {
  Json json = Json::object();
  ForEachField(options, [&](const char* name, LmsMode, const auto& value) {
    json[name] = ValueToJson(value);
  });
  ForEachRecomputeField(options, [&](const char* name, const auto& value) {
    json[name] = ValueToJson(value);
  });
  return json;
}

Json UsedOptionsToJson(const LmsOptions& options) {
  Json json = {{"mode", ValueToJson(options.mode)}};
  if (options.mode != kOff) {
    ForEachField(options,
                 [&](const char* name, LmsMode mode, const auto& value) {
                   if (mode == kOff || mode == options.mode) {
                     json[name] = ValueToJson(value);
                   }
                 });
  }
  if (options.mode == LmsMode::kAuto || Recomputes(options)) {
    ForEachRecomputeField(options, [&](const char* name, const auto& value) {
      json[name] = ValueToJson(value);
    });
  }
  return json;
}

absl::StatusOr<LmsOptions> ParseLmsOptions(const Json& json) {
  JsonObject object(json, "LMS options");
  LmsOptions options;
  ForEachField(options, [&](const char* name, LmsMode, auto& value) {
    if (object.Has(name)) Read(object, name, value);
  });
  ForEachRecomputeField(options, [&](const char* name, auto& value) {
    if (object.Has(name)) Read(object, name, value);
  });
  object.RefuseOtherFields();
  SPILLWAY_RETURN_IF_ERROR(object.status());
  return options;
}

}  // namespace spillway

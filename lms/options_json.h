// LmsOptions to and from JSON: for results and plan files.
//
//     {"mode": "v1", "lb": 3, "ctrld_strategy": "direct_order", ...}
//
// A field has the name of its flag without `lms_`; `mode` is `--lms`. Sizes are
// plain bytes (`size_threshold`) or GiB (`serialization_by_size`).
#ifndef SPILLWAY_LMS_OPTIONS_JSON_H_
#define SPILLWAY_LMS_OPTIONS_JSON_H_

#include "absl/status/statusor.h"
#include "lms/options.h"
#include "nlohmann/json_fwd.hpp"

namespace spillway {

// Every field, in the order of the struct.
nlohmann::ordered_json ToJson(const LmsOptions& options);

// The mode, and the fields that have an effect in it.
nlohmann::ordered_json UsedOptionsToJson(const LmsOptions& options);

// Omitted fields have their defaults. Does not check ranges; see CheckOptions.
// Errors: INVALID_ARGUMENT naming a field that does not exist or has the wrong
// kind.
absl::StatusOr<LmsOptions> ParseLmsOptions(const nlohmann::ordered_json& json);

}  // namespace spillway

#endif  // SPILLWAY_LMS_OPTIONS_JSON_H_

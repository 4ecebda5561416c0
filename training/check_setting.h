// Checks of a setting's value. Errors: INVALID_ARGUMENT with the setting's
// name, its value and what is legal:
//
//   gamma is 1.5; it must be more than 0 and at most 1
#ifndef SPILLWAY_TRAINING_CHECK_SETTING_H_
#define SPILLWAY_TRAINING_CHECK_SETTING_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace spillway::setting {

// The error itself; `legal` ends the sentence.
absl::Status Refuse(std::string_view name, double value,
                    std::string_view legal);

absl::Status CheckAtLeast(std::string_view name, int64_t value, int64_t least);

// NaN passes none of these.
absl::Status CheckFinite(std::string_view name, double value);
absl::Status CheckNotNegative(std::string_view name, double value);
absl::Status CheckPositive(std::string_view name, double value);

}  // namespace spillway::setting

#endif  // SPILLWAY_TRAINING_CHECK_SETTING_H_

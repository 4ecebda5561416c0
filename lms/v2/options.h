// The options of version 2: their ranges, and the levels that the user wants to
// serialize.
#ifndef SPILLWAY_LMS_V2_OPTIONS_H_
#define SPILLWAY_LMS_V2_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lms/options.h"

namespace spillway {

// A slice of levels as in Python: every `step`-th level from `begin` on,
// without `end`; negative numbers count from the last level.
struct LevelSlice {
  std::optional<int64_t> begin = {};
  std::optional<int64_t> end = {};
  int64_t step = 1;  // not 0

  // The selected levels among 0, 1, ..., num_levels - 1, in the slice's order.
  std::vector<int64_t> Levels(int64_t num_levels) const;
};

// "3", "3:5", "1:9:2", ":4", "::-1". With `compat`, "-1" means "-1:0", which is
// empty, as in the original. Errors: INVALID_ARGUMENT naming `item`.
absl::StatusOr<LevelSlice> ParseLevelSlice(std::string_view item, bool compat);

// Whether swap-ins, or the readers of the device copy, wait for copies
// (sync_mode).
bool SyncsSwapIns(const LmsOptions& options);   // 2 and 3
bool SyncsSwapOuts(const LmsOptions& options);  // 1 and 3

// INVALID_ARGUMENT naming the first option of version 2 that is out of range.
// -1 (to be tuned) is in range.
absl::Status CheckV2Options(const LmsOptions& options);

// INVALID_ARGUMENT naming the first number that an edit needs but that is -1.
absl::Status CheckV2NumbersAreGiven(const LmsOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_OPTIONS_H_

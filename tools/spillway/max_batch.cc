#include "tools/spillway/max_batch.h"

#include <algorithm>

#include "base/status_macros.h"

namespace spillway {

absl::StatusOr<MaxBatch> FindMaxBatch(
    int64_t start, int64_t limit,
    absl::FunctionRef<absl::StatusOr<BatchAttempt>(int64_t)> attempt) {
  MaxBatch result;
  const auto fits = [&](int64_t batch_size) -> absl::StatusOr<bool> {
    SPILLWAY_ASSIGN_OR_RETURN(const BatchAttempt tried, attempt(batch_size));
    result.tried.push_back(tried);
    return tried.fits;
  };
  int64_t& most = result.batch_size;  // known to fit
  int64_t least = limit + 1;          // known not to, or not allowed
  for (int64_t next = std::clamp<int64_t>(start, 1, limit); most + 1 < least;) {
    SPILLWAY_ASSIGN_OR_RETURN(const bool next_fits, fits(next));
    (next_fits ? most : least) = next;
    if (least > limit) {
      next = std::min(2 * most, limit);
    } else {
      next = most + (least - most) / 2;
    }
  }
  return result;
}

}  // namespace spillway

// The rows of a batch, divided among devices of unequal speed.
//
//   128 rows, loads 1, 2, 1    ->   32, 64, 32
//
// Source: the executor manager of Apache MXNet's Scala package (its rule is
// kCompat).
#ifndef SPILLWAY_TRAINING_LOOP_SPLIT_BATCH_H_
#define SPILLWAY_TRAINING_LOOP_SPLIT_BATCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace spillway {

enum class SplitRule : uint8_t {
  // By largest remainder, ties to the lower device; then each device has at
  // least a row, from the device with the most.
  kBalanced,
  // Each part rounded half up in float32, the last one takes what is missing,
  // and parts beyond the end are cut: an error where that leaves a device
  // without a row, as with 6 rows and 4 equal loads.
  kCompat,
};

// Rows of each device, in order; together `rows`. Errors: INVALID_ARGUMENT for
// no load, one that is not positive and finite (naming the device), fewer rows
// than devices, and as kCompat says.
absl::StatusOr<std::vector<int64_t>> SplitBatch(
    int64_t rows, std::span<const double> loads,
    SplitRule rule = SplitRule::kBalanced);

// The same by largest remainder, for a batch that may have fewer rows than
// there are devices: some then have none. Requires: loads that SplitBatch
// accepts.
std::vector<int64_t> SplitShortBatch(int64_t rows,
                                     std::span<const double> loads);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_SPLIT_BATCH_H_

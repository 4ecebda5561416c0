// Sets of TFLMS's options to try.
#ifndef SPILLWAY_TUNER_SEARCH_TFLMS_SETS_H_
#define SPILLWAY_TUNER_SEARCH_TFLMS_SETS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "lms/options.h"

namespace spillway {

// At most `max` that differ much, of both versions, for a graph of so many
// levels; those that were the fastest for networks of the zoo come first. All
// else is as in `common`.
std::vector<LmsOptions> UsualSets(const LmsOptions& common, int64_t num_levels,
                                  size_t max);

// Every set of a grid of the numbers and switches of both versions.
std::vector<LmsOptions> GridOfSets(const LmsOptions& common,
                                   int64_t num_levels);

// Sets of version 2 that differ in those of its three numbers that are -1 in
// `common`. Varies one number at a time over powers of two from the best set so
// far, until none is better. `step_ns`: of a set, or nothing if it does not
// fit; asked once for each set.
void ForEachV2Set(
    const LmsOptions& common, int64_t num_levels,
    const std::function<std::optional<int64_t>(const LmsOptions& options)>&
        step_ns);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_TFLMS_SETS_H_

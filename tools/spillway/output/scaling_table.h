// The predicted scaling of a plan, as text and as JSON.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SCALING_TABLE_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SCALING_TABLE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tools/spillway/output/output.h"
#include "tuner/tune_buckets.h"
#include "tuner/what_if/scaling.h"

namespace spillway {

// Predicts the scaling of a plan. Adds one line per number of ranks to `text`,
// under a heading, and "workers", "network" and "scaling" to `json`. Does
// nothing if the profile has no network: one rank. `batch_size`: of a rank; 0:
// unknown, no images/s. Errors: those of PredictScaling.
absl::Status AddScaling(const ScalingSpec& spec, int64_t batch_size,
                        std::string& text, Json& json);

// One line per size of buckets, under a heading; marks the chosen one.
std::string FormatBucketSizes(const TunedBuckets& tuned);

// {"chosen": bytes, "tried": [{"bucket_bytes", "fits", "step_ms",
// "peak_device_bytes"}]}
Json BucketSizesJson(const TunedBuckets& tuned);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SCALING_TABLE_H_

// The predicted scaling of a plan, as text and as JSON.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SCALING_TABLE_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SCALING_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/network/network_model.h"
#include "tools/spillway/output/output.h"
#include "tuner/tune_buckets.h"
#include "tuner/what_if/scaling.h"

namespace spillway {

// One line per number of ranks, under a heading. `batch_size`: of a rank; 0:
// unknown, no images/s.
std::string FormatScaling(const std::vector<ScalingPoint>& points,
                          const NetworkModel& network, int64_t batch_size);

// Adds "workers", "network" and "scaling".
void AddScalingJson(const std::vector<ScalingPoint>& points,
                    const NetworkModel& network, int64_t batch_size,
                    Json& json);

// One line per size of buckets, under a heading; marks the chosen one.
std::string FormatBucketSizes(const TunedBuckets& tuned);

// {"chosen": bytes, "tried": [{"bucket_bytes", "fits", "step_ms",
// "peak_device_bytes"}]}
Json BucketSizesJson(const TunedBuckets& tuned);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SCALING_TABLE_H_

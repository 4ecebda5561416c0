// Flags for the learning rate over a training, and for the initial values.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_RATE_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_RATE_FLAGS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/spillway/flags/flags.h"
#include "training/initializers.h"
#include "training/loop/micro_batches.h"
#include "training/rate/large_batch_warm_up.h"
#include "training/rate/lr_policy.h"

namespace spillway {

// The settings of a policy but its rate.
std::vector<CLI::Option*> AddPolicyFlags(FlagSet& set, LrPolicy& policy);
// A constant rate is part of the graph; any other is fed to every step.
bool IsConstant(const LrPolicy& policy);

struct RateFlags {
  LrPolicy policy = {};  // without its rate
  // Of --optimizer lbsgd.
  LargeBatchWarmUp large_batch = {};
  int64_t macrobatch_size = 0;    // 0: not given
  int64_t updates_per_epoch = 0;  // 0: from the data
};
void AddRateFlags(FlagSet& set, RateFlags& flags);

// The schedule for a training; null: the rate is constant. Errors:
// INVALID_ARGUMENT that names --lr_policy and the setting.
absl::StatusOr<LrSchedule> MakeRate(const RateFlags& flags, double rate,
                                    const MicroBatchPlan& plan,
                                    int64_t updates);

void AddInitializerFlags(FlagSet& set, InitializerOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_RATE_FLAGS_H_

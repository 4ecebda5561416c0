// `bench --trace` and `bench --report`: the measured step, and the predicted
// one beside it where a profile tells how fast the machine is.
#ifndef SPILLWAY_TOOLS_SPILLWAY_BENCH_TIMELINES_H_
#define SPILLWAY_TOOLS_SPILLWAY_BENCH_TIMELINES_H_

#include <optional>

#include "absl/status/status.h"
#include "benchmarks/cnn_throughput.h"
#include "simulator/device_profile.h"
#include "tools/spillway/bench_command.h"
#include "tools/spillway/bench_setup.h"

namespace spillway {

// Writes the files that the flags ask for; --report needs the profile.
absl::Status WriteTimelines(const BenchFlags& flags, const BenchSetup& setup,
                            const std::optional<DeviceProfile>& profile,
                            const ThroughputResult& result);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_BENCH_TIMELINES_H_

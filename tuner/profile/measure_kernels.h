// Times of kernels as they run in a step, for a device profile.
#ifndef SPILLWAY_TUNER_PROFILE_MEASURE_KERNELS_H_
#define SPILLWAY_TUNER_PROFILE_MEASURE_KERNELS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "executor/session/session.h"
#include "graph/graph.h"

namespace spillway {

struct KernelMeasurement {
  int64_t warmup_steps = 2;
  int64_t steps = 20;     // with a timeline, and as many without it
  int64_t call_ns = 0;    // time of a step outside its kernels
  StopRequest stop = {};  // called before each step
  // Called before the first step and after each. Null: silent.
  std::function<void(std::string_view part, int64_t done, int64_t total)>
      on_progress = {};
  std::string part = "kernels";
};

struct MeasuredKernels {
  // Mean over the nodes of a signature (simulator/node_signature.h). A node's
  // time starts at the end of the previous kernel, so it includes what its
  // stream does between two kernels.
  std::map<std::string, int64_t, std::less<>> kernel_ns = {};
  int64_t step_ns = 0;  // of a step without a timeline
};

// Runs steps of program 0, which must be of `graph` and without swaps,
// alternately with and without a timeline: this measures kernels in context,
// with the caches as the step leaves them. All times are means over the middle
// half of the steps by length: unlike the kernels' medians, they add up to a
// typical step. Taking a timeline makes a step a few percent longer, so all
// kernels are scaled such that they and the rest are as long as a step without
// a timeline. Feeds are in the session's buffers: a step that copied them there
// would count that work of the host as the kernels'. Errors: those of a step;
// CANCELLED if stopped.
absl::StatusOr<MeasuredKernels> MeasureKernels(const KernelMeasurement& spec,
                                               const Graph& graph,
                                               const Feeds& feeds,
                                               Session& session);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_KERNELS_H_

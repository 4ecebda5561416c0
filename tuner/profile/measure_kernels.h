// Times of kernels as they are in a step, for a device profile.
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
  int64_t steps = 20;     // with a timeline, and as many without
  int64_t call_ns = 0;    // of a step, that no kernel takes
  StopRequest stop = {};  // asked before each step
  // Called before the first step and after each. Null: silent.
  std::function<void(std::string_view part, int64_t done, int64_t total)>
      on_progress = {};
  std::string part = "kernels";
};

struct MeasuredKernels {
  // Mean over the nodes of a signature (simulator/node_signature.h). A node's
  // time runs from the end of the kernel before it, so that it holds what its
  // stream does between two kernels.
  std::map<std::string, int64_t, std::less<>> kernel_ns = {};
  int64_t step_ns = 0;  // of a step without a timeline
};

// Runs steps of program 0, which must be of `graph` and without swaps, with and
// without a timeline in turns: kernels in context, with the caches as the step
// leaves them. All times are means over the middle half of the steps by length:
// they add up to a usual step, which the kernels' medians would not. Taking a
// timeline makes a step some percent longer, so all kernels are scaled by what
// makes them, with the rest, as long as a step without. Errors: what a step
// says; CANCELLED if stopped.
absl::StatusOr<MeasuredKernels> MeasureKernels(const KernelMeasurement& spec,
                                               const Graph& graph,
                                               const Feeds& feeds,
                                               Session& session);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_KERNELS_H_

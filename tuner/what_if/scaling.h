// Scaling: the predicted time of one plan on more and more ranks, whose
// gradients are added over the network of the profile.
//
//   SPILLWAY_ASSIGN_OR_RETURN(const auto points, PredictScaling(
//       {.graph = &graph, .plan = &plan, .profile = &profile,
//        .ranks = {8, 64, 512}}));
//
// All ranks compute the same at the same speed: what a real run loses to ranks
// that are late now and then is not in it.
#ifndef SPILLWAY_TUNER_WHAT_IF_SCALING_H_
#define SPILLWAY_TUNER_WHAT_IF_SCALING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/plan/algorithms.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/standard_ops.h"
#include "simulator/device_profile.h"

namespace spillway {

struct ScalingPoint {
  int64_t ranks = 1;
  int64_t step_ns = 0;
  // The time of one rank, whose collectives take none, over that of this many:
  // the part of their added speeds that remains.
  double efficiency = 1;
  int64_t communication_ns = 0;  // of the communication lane
  int64_t exposed_ns = 0;        // the part in which no kernel runs
};

// A plan to price. Borrows everything pointed to.
struct ScalingSpec {
  const Graph* graph = nullptr;  // edited
  const ExecutionPlan* plan = nullptr;
  AlgorithmNames algorithms = {};
  const DeviceProfile* profile = nullptr;  // with a network
  std::vector<int64_t> ranks = {};
  const OpRegistry* ops = &StandardOps();
};

// A point for each number of ranks, in the same order. Errors: INVALID_ARGUMENT
// without a network, and those of CheckNetwork.
absl::StatusOr<std::vector<ScalingPoint>> PredictScaling(
    const ScalingSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_WHAT_IF_SCALING_H_

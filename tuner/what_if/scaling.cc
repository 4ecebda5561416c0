#include "tuner/what_if/scaling.h"

#include "base/status_macros.h"
#include "simulator/network/communication_use.h"
#include "tuner/simulate.h"

namespace spillway {
namespace {

SimulatedStep PlayRanks(const ScalingSpec& spec, int64_t ranks) {
  DeviceProfile profile = *spec.profile;
  profile.network->ranks = ranks;
  return PlayStep(*spec.graph, *spec.plan, spec.algorithms, *spec.ops, profile);
}

}  // namespace

absl::StatusOr<std::vector<ScalingPoint>> PredictScaling(
    const ScalingSpec& spec) {
  if (!spec.profile->network) {
    return InvalidArgument("workers: the profile has no network");
  }
  for (const int64_t ranks : spec.ranks) {
    NetworkModel network = *spec.profile->network;
    network.ranks = ranks;
    SPILLWAY_RETURN_IF_ERROR(CheckNetwork(network));
  }
  const int64_t alone_ns = PlayRanks(spec, 1).step_ns;
  std::vector<ScalingPoint> points;
  for (const int64_t ranks : spec.ranks) {
    const SimulatedStep step = PlayRanks(spec, ranks);
    const CommunicationUse use = MeasureCommunication(step.timeline);
    points.push_back({.ranks = ranks,
                      .step_ns = step.step_ns,
                      .efficiency = static_cast<double>(alone_ns) /
                                    static_cast<double>(step.step_ns),
                      .communication_ns = use.busy_ns,
                      .exposed_ns = use.exposed_ns()});
  }
  return points;
}

}  // namespace spillway

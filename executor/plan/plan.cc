#include "executor/plan/plan.h"

#include <algorithm>

#include "base/check.h"

namespace spillway {

std::string_view LaneName(Lane lane) {
  switch (lane) {
    case Lane::kCompute:
      return "compute";
    case Lane::kCopyOut:
      return "copy out";
    case Lane::kCopyIn:
      return "copy in";
    case Lane::kHost:
      return "host";
    case Lane::kCommunication:
      return "communication";
  }
  SPILLWAY_CHECK(false);
}

std::vector<std::string> UsedLanes(const ExecutionPlan& plan) {
  size_t used = 3;
  for (const Step& step : plan.steps) {
    used = std::max(used, static_cast<size_t>(step.lane) + 1);
  }
  std::vector<std::string> names;
  for (size_t lane = 0; lane < used; ++lane) {
    names.emplace_back(LaneName(static_cast<Lane>(lane)));
  }
  return names;
}

}  // namespace spillway

// Everything that `spillway bench` needs before its first step.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_BENCH_SETUP_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_BENCH_SETUP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "benchmarks/synthetic_feeds.h"
#include "executor/session/session.h"
#include "lms/report.h"
#include "models/zoo.h"
#include "simulator/device_profile.h"
#include "tools/spillway/command/bench_command.h"
#include "tuner/bound/lower_bound.h"
#include "tuner/choose_step.h"
#include "tuner/placement/place_programs.h"

namespace spillway {

struct BenchSetup {
  Graph graph = {};          // of program 0, after the edit
  ModelGraph model = {};     // ids in program 0 of the session
  double learning_rate = 0;  // 0 for a forward step
  double loss_scale = 1;
  int64_t parameters = 0;
  PlacementReport placement = {};  // what is on the host
  LmsReport edit = {};
  LmsOptions lms = {};      // the options that were used
  std::string recipe = {};  // of the tuner or a plan file; empty: no recipe
  std::optional<StepSearch> search = {};    // of --lms auto
  std::optional<StepTimeBound> bound = {};  // for --report
  AlgorithmNames algorithms = {};  // of the kernels; empty: their first ones
  StepOptions options = {};        // with the budgets that were used
  int64_t plan_ns = 0;             // measured: kernels, plan and check
  int64_t predicted_step_ns = 0;
  DeviceProfile profile = {};  // for the prediction
  std::string device = {};
  std::optional<SyntheticFeeds> feeds = {};
  std::unique_ptr<Session> session = {};
};

// Sets up a training step, or the forward phase as it runs after training.
// Errors name the flag.
absl::StatusOr<BenchSetup> SetUpBench(const BenchFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_BENCH_SETUP_H_

// Everything that `spillway train` needs before its first step: data, loop,
// graphs, a planned session.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_SETUP_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_SETUP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "lms/report.h"
#include "models/zoo.h"
#include "tools/spillway/command/train_command.h"
#include "tools/spillway/command/train_data.h"
#include "tools/spillway/model_graph.h"
#include "training/data/subset.h"
#include "training/loop/training_programs.h"
#include "training/optimizer.h"
#include "tuner/placement/place_programs.h"

namespace spillway {

// What the training reads and takes, before any session: all that --dry_run
// needs. The trainer takes these objects.
struct TrainLoop {
  TrainData data = {};  // of a model of the zoo
  // Of a model in an ONNX file: its data, and the network of one micro-batch
  // (ids of no graph).
  std::unique_ptr<Dataset> tensors = {};
  OnnxNetwork onnx = {};
  int64_t transposes = 0;  // that are left of it
  // Of data.training; nullopt: all of it is trained on.
  std::optional<Subset> validation = {};
  std::optional<Subset> trained = {};
  ModelGraphSpec model = {};  // for the sizes of the data, with the batch size
  OptimizerFlags flags = {};  // of the optimizer, as resolved
  std::optional<MicroBatchPlan> plan = {};  // always there
  int64_t num_updates = 0;
  double base_rate = 0;  // before the schedule
  LrSchedule rate = {};  // null: constant

  int64_t num_epochs() const { return plan->EpochOf(num_updates - 1) + 1; }

  // As applied to the variables.
  double rate_at(int64_t update) const {
    return rate ? rate(update) : base_rate;
  }

  const Dataset& rows() const {
    if (trained) return *trained;
    if (tensors) return *tensors;
    return *data.training;
  }

  // Null: nothing is evaluated.
  const Dataset* test_data() const { return data.test.get(); }
};

// For a run of `world_size` ranks. Errors name the flag.
absl::StatusOr<std::unique_ptr<TrainLoop>> SetUpLoop(const TrainFlags& flags,
                                                     int world_size);

struct TrainSetup {
  std::shared_ptr<const TrainLoop> loop = {};
  TrainerSpec spec = {};  // programs, data and rate
  ModelOptions model = {};
  double loss_scale = 1;
  LmsReport edit = {};             // of the program that needs the most memory
  LmsOptions lms = {};             // the options that were used
  PlacementReport placement = {};  // of the training's programs
  StepOptions options = {};        // with the budgets that were used
  std::string algorithms_digest = {};
  int64_t parameters = 0;
  int64_t plan_ns = 0;  // measured: kernels, plan and check of the training
  std::string device = {};
  // Of each collective node of an update: what it reduces or averages.
  std::vector<int64_t> bucket_bytes = {};
  std::unique_ptr<Session> session = {};
};

// LMS edits the graphs of the training. The evaluation graph has the batch size
// that --test_algo says, or the largest half, quarter, ... of it that needs no
// more device memory than a training step. `communicator`: of this run; null:
// one rank. Borrowed for the lifetime of the session. Errors name the flag.
absl::StatusOr<TrainSetup> SetUpTraining(const TrainFlags& flags,
                                         std::shared_ptr<const TrainLoop> loop,
                                         Communicator* communicator);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_SETUP_H_

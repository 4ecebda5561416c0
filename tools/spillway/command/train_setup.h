// Everything that `spillway train` needs before its first step: data, graphs, a
// planned session.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_SETUP_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_SETUP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "lms/report.h"
#include "models/zoo.h"
#include "tools/spillway/command/train_command.h"
#include "training/data/image_dataset.h"

namespace spillway {

// The values of --data, in the order of its help text.
std::vector<std::string> DataNames();

struct TrainSetup {
  std::unique_ptr<ImageDataset> training_data = {};
  std::unique_ptr<ImageDataset> test_data = {};
  ModelGraph training = {};    // ids in program 0 of the session
  ValueId learning_rate = {};  // fed; invalid: constant
  ModelGraph evaluation = {};  // ids in program 1
  double base_rate = 0;        // before the schedule
  double loss_scale = 1;
  LmsReport edit = {};
  LmsOptions lms = {};       // the options that were used
  StepOptions options = {};  // with the budgets that were used
  std::string algorithms_digest = {};
  int64_t parameters = 0;
  int64_t plan_ns = 0;  // measured: kernels, plan and check of program 0
  std::string device = {};
  std::unique_ptr<Session> session = {};
};

// LMS edits the training graph. The evaluation graph has the training batch
// size, or the largest half, quarter, ... of it that needs no more device
// memory than a training step. Errors name the flag.
absl::StatusOr<TrainSetup> SetUpTraining(const TrainFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_SETUP_H_

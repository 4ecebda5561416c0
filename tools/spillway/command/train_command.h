// `spillway train`: trains a model of the zoo on real data.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_COMMAND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "lms/options.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/model_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct TrainFlags {
  ModelFlags model = {};
  OptimizerFlags optimizer = {};
  std::string data = {};
  std::string data_dir = {};  // empty: the default of `data`
  int64_t num_epochs = 1;
  int64_t seed = 0;
  std::string checkpoint = {};
  std::string restore = {};
  StepOptions step = DefaultStepOptions();
  std::string plan = {};
  std::string trace = {};
  ResultFlags result = {};
};
void AddTrainFlags(FlagSet& set, TrainFlags& flags);
absl::Status RunTrain(const TrainFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_COMMAND_H_

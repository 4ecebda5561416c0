// `spillway train`: trains a model of the zoo on real data.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_COMMAND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/loop_flags.h"
#include "tools/spillway/flags/model_flags.h"
#include "tools/spillway/flags/rate_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/flags/worker_flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct TrainFlags {
  ModelFlags model = {};
  OptimizerFlags optimizer = {};
  std::string data = {};
  std::string data_dir = {};  // empty: the default of `data`
  // Of a model in an ONNX file.
  std::string data_file = {};
  std::string target = {};  // empty: the loss's default
  std::string export_onnx = {};
  std::string export_mode = "model";
  std::string export_weights = {};
  bool skip_corrupt = false;
  int64_t seed = 0;
  RateFlags rate = {};
  InitializerOptions initializer = {};
  LoopFlags loop = {};
  WorkerFlags workers = {};
  std::string checkpoint = {};
  int64_t checkpoint_every = 0;  // updates; 0: at the end
  int64_t keep_checkpoints = 1;
  std::string resume = {};  // "auto" or a file
  std::string restore = {};
  StepOptions step = DefaultStepOptions();
  // Bytes, of each device of this process; empty: step.device_memory.
  std::vector<int64_t> device_budgets = {};
  PlaceMode place = PlaceMode::kOff;
  std::string plan = {};
  std::string trace = {};
  ResultFlags result = {};
};
void AddTrainFlags(FlagSet& set, TrainFlags& flags);
absl::Status RunTrain(const TrainFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_COMMAND_H_

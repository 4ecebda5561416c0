// Flags for what to train: the model and its optimizer.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_MODEL_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_MODEL_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/dtype.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "training/optimizer.h"
#include "training/rate/lr_schedule.h"

namespace spillway {

struct ModelFlags {
  std::string model = {};
  int64_t batch_size = 0;          // 0: the model's default
  int64_t image_size = 0;          // 0: the model's default
  std::string precision = "fp32";  // or "tf32", "bf16", "fp16"
  std::string passes = "auto";
  bool auxiliary_head = false;
};

// Of activations and their gradients; parameters are always float32.
DType ActivationDType(const ModelFlags& model);

// Adds --precision tf32 to the options of the device, once the command line is
// parsed.
void SharePrecision(FlagSet& flags, const ModelFlags& model, StepOptions& step);

// For commands that run kernels. Errors: INVALID_ARGUMENT naming the flags for
// fp16 on the CPU; errors of OpenDevice.
absl::Status CheckPrecision(const ModelFlags& model, const StepOptions& step);

// `model.model` is the model without --model. If it is empty, the other flags
// require --model. Returns the option --model.
CLI::Option* AddModelFlags(FlagSet& flags, ModelFlags& model);

struct OptimizerFlags {
  std::string optimizer = "sgd";
  std::optional<double> learning_rate = {};  // nullopt: the optimizer's default
  std::optional<double> momentum = {};       // nullopt: the optimizer's default
  double weight_decay = 4e-5;
  std::optional<double> loss_scale = {};  // nullopt: depends on the precision
  std::string lr_schedule = "constant";

  // A constant rate is part of the graph; any other is fed to every step.
  bool feeds_rate() const { return lr_schedule != "constant"; }
};
// All except --lr_schedule, which only commands with a known last step have.
std::vector<CLI::Option*> AddOptimizerFlags(FlagSet& flags,
                                            OptimizerFlags& optimizer);
// Adds --loss_scale under another name.
CLI::Option* AddLossScaleFlag(FlagSet& flags, const std::string& name,
                              OptimizerFlags& optimizer);
CLI::Option* AddScheduleFlag(FlagSet& flags, OptimizerFlags& optimizer);

// The optimizer with the settings of the flags, its own weight decay included.
// Logs a warning for settings that it does not have.
absl::StatusOr<Optimizer> MakeOptimizer(const OptimizerFlags& flags);

double LearningRate(const Optimizer& optimizer);

// Null for a constant rate. The others reach 0 at step `steps`.
LrSchedule MakeSchedule(const OptimizerFlags& flags, double rate,
                        int64_t steps);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_MODEL_FLAGS_H_

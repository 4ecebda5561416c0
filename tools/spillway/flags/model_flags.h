// Flags that say what to train: the model and its optimizer.
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
#include "training/lr_schedule.h"
#include "training/optimizer.h"

namespace spillway {

struct ModelFlags {
  std::string model = {};
  int64_t batch_size = 0;          // 0: the model's default
  int64_t image_size = 0;          // the same
  std::string precision = "fp32";  // or "tf32", "bf16", "fp16"
  std::string passes = "auto";
  bool auxiliary_head = false;
};

// Of activations and their gradients; parameters are always float32.
DType ActivationDType(const ModelFlags& model);

// Makes --precision tf32 part of `device` when the command line is known.
void SharePrecision(FlagSet& flags, const ModelFlags& model, StepOptions& step);

// For commands that run kernels. Errors: INVALID_ARGUMENT naming the flags for
// fp16 on the CPU; what OpenDevice says.
absl::Status CheckPrecision(const ModelFlags& model, const StepOptions& step);

// `model.model` is what a command line without --model means. Where that is
// empty, the other flags need --model. Returns the option --model.
CLI::Option* AddModelFlags(FlagSet& flags, ModelFlags& model);

struct OptimizerFlags {
  std::string optimizer = "sgd";
  std::optional<double> learning_rate = {};  // none: the optimizer's default
  std::optional<double> momentum = {};       // none: the optimizer's default
  double weight_decay = 4e-5;
  std::optional<double> loss_scale = {};  // none: by the precision
  std::string lr_schedule = "constant";

  // A constant rate is part of the graph; any other is fed in every step.
  bool feeds_rate() const { return lr_schedule != "constant"; }
};
// All but --lr_schedule, which only commands with an end in sight have.
std::vector<CLI::Option*> AddOptimizerFlags(FlagSet& flags,
                                            OptimizerFlags& optimizer);
// Another name of --loss_scale.
CLI::Option* AddLossScaleFlag(FlagSet& flags, const std::string& name,
                              OptimizerFlags& optimizer);
CLI::Option* AddScheduleFlag(FlagSet& flags, OptimizerFlags& optimizer);

// The optimizer with the flags' settings in it. Warns in the log of settings
// that it does not have.
absl::StatusOr<Optimizer> MakeOptimizer(const OptimizerFlags& flags);

double LearningRate(const Optimizer& optimizer);

// Null for a constant rate. The others reach 0 at step `steps`.
LrSchedule MakeSchedule(const OptimizerFlags& flags, double rate,
                        int64_t steps);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_MODEL_FLAGS_H_

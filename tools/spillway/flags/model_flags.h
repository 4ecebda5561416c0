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
#include "tools/spillway/flags/onnx_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "training/optimizer.h"

namespace spillway {

struct ModelFlags {
  std::string model = {};
  int64_t batch_size = 0;          // 0: the model's default
  int64_t image_size = 0;          // 0: the model's default
  std::string precision = "fp32";  // or "tf32", "bf16", "fp16"
  std::string passes = "auto";
  bool auxiliary_head = false;
  OnnxFlags onnx = {};  // in place of a model of the zoo

  bool is_given() const { return !model.empty() || onnx.is_given(); }
  // The name of the model, or of its file.
  std::string name() const;
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
// require --model or --onnx, which exclude each other.
void AddModelFlags(FlagSet& flags, ModelFlags& model);

// Of any model: --batch_size, --precision, --passes.
std::vector<CLI::Option*> AddBatchAndPrecision(FlagSet& flags,
                                               ModelFlags& model);

// `options` require a model, or one of the zoo, as AddModelFlags added it.
void NeedModel(FlagSet& flags, const ModelFlags& model,
               const std::vector<CLI::Option*>& options);
void NeedZooModel(FlagSet& flags, const ModelFlags& model,
                  const std::vector<CLI::Option*>& options);

struct LossScaleFlag {
  std::optional<double> fixed = {};  // nullopt: depends on the precision
  bool is_dynamic = false;           // follows the gradients
};

struct OptimizerFlags {
  std::string optimizer = "sgd";
  std::optional<double> learning_rate = {};  // nullopt: the optimizer's default
  // nullopt: the optimizer's default
  std::optional<double> momentum = {};
  std::optional<double> beta1 = {};
  std::optional<double> beta2 = {};
  std::optional<double> rho = {};
  std::optional<double> epsilon = {};
  std::optional<double> lars_eta = {};
  double weight_decay = 4e-5;
  LossScaleFlag loss_scale = {};
  double clip_norm = 0;
  double clip_value = 0;
  // lbsgd with a ratio of norms for each variable (--warmup_strategy lars).
  bool has_ratios = false;
};
std::vector<CLI::Option*> AddOptimizerFlags(FlagSet& flags,
                                            OptimizerFlags& optimizer);
// Without --weight_decay, that of a model in an ONNX file is 0.
void DefaultDecayOf(FlagSet& flags, const ModelFlags& model,
                    OptimizerFlags& optimizer);
// For commands that train.
void AddClipFlags(FlagSet& flags, OptimizerFlags& optimizer);
// Adds --loss_scale under another name.
CLI::Option* AddLossScaleFlag(FlagSet& flags, const std::string& name,
                              OptimizerFlags& optimizer);

// The optimizer with the settings of the flags, its own weight decay included.
// Logs a warning for settings that it does not have.
absl::StatusOr<Optimizer> MakeOptimizer(const OptimizerFlags& flags);

double LearningRate(const Optimizer& optimizer);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_MODEL_FLAGS_H_

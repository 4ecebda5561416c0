#include "tools/spillway/flags/model_flags.h"

#include <filesystem>
#include <memory>
#include <variant>

#include "absl/strings/numbers.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/passes/standard_passes.h"

namespace spillway {
namespace {

constexpr int64_t kLargestSize = 1'000'000;

std::string ParsePrecision(const std::string& name, const std::string& text) {
  if (text == "fp32" || text == "tf32" || text == "bf16" || text == "fp16") {
    return text;
  }
  RefuseFlag(name,
             fmt::format("\"{}\" is no precision; use fp32, tf32, bf16 or "
                         "fp16",
                         text));
}

std::string ParsePasses(const std::string& name, const std::string& text) {
  const auto passes = SelectPasses(text, PassTarget::kCpu);
  if (!passes.ok()) RefuseFlag(name, std::string(passes.status().message()));
  return text;
}

std::string PassNames(PassPays pays) {
  std::string names;
  for (const Pass& pass : StandardPasses()) {
    if (pass.pays != pays) continue;
    names += fmt::format(" {}", pass.name);
  }
  return names;
}

LossScaleFlag ParseLossScale(const std::string& name, const std::string& text) {
  if (text == "dynamic") return {.is_dynamic = true};
  double scale = 0;
  if (absl::SimpleAtod(text, &scale) && CheckLossScale(scale).ok()) {
    return {.fixed = scale};
  }
  RefuseFlag(name, fmt::format("\"{}\" is not a positive number", text));
}

}  // namespace

DType ActivationDType(const ModelFlags& model) {
  if (model.precision == "bf16") return DType::kBFloat16;
  return model.precision == "fp16" ? DType::kFloat16 : DType::kFloat32;
}

void SharePrecision(FlagSet& flags, const ModelFlags& model,
                    StepOptions& step) {
  flags.AtEnd(
      [&model, &step] { step.math.allow_tf32 = model.precision == "tf32"; });
}

absl::Status CheckPrecision(const ModelFlags& model, const StepOptions& step) {
  if (model.precision != "fp16") return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> opened,
                            OpenWholeDevice(step));
  if (opened->kind() != DeviceKind::kCpu) return absl::OkStatus();
  return InvalidArgument(
      "--precision: fp16 needs a GPU, --device cuda; the CPU computes in fp32 "
      "and bf16");
}

std::string ModelFlags::name() const {
  if (!onnx.is_given()) return model;
  return std::filesystem::path(onnx.file).filename().string();
}

void NeedModel(FlagSet& flags, const ModelFlags& model,
               const std::vector<CLI::Option*>& options) {
  flags.AtEnd([&model, options] {
    if (model.is_given()) return;
    for (const CLI::Option* option : options) {
      if (option->count() == 0) continue;
      Refuse(fmt::format("{} requires --model or --onnx", option->get_name()));
    }
  });
}

void NeedZooModel(FlagSet& flags, const ModelFlags& model,
                  const std::vector<CLI::Option*>& options) {
  flags.AtEnd([&model, options] {
    for (const CLI::Option* option : options) {
      if (option->count() == 0) continue;
      if (model.onnx.is_given()) {
        Refuse(fmt::format("{} is for models of the zoo, not for --onnx",
                           option->get_name()));
      }
      if (model.model.empty()) {
        Refuse(fmt::format("{} requires --model", option->get_name()));
      }
    }
  });
}

std::vector<CLI::Option*> AddBatchAndPrecision(FlagSet& flags,
                                               ModelFlags& model) {
  return {
      flags.Int("--batch_size", model.batch_size,
                {.help = "images per step; 0: the model's default",
                 .max = kLargestSize}),
      flags.Add("--precision", model.precision, ParsePrecision)
          ->type_name("fp32|tf32|bf16|fp16")
          ->description("of activations and their gradients; default fp32; "
                        "tf32 is fp32 whose products a GPU rounds to 10 bits, "
                        "and equals fp32 on the CPU; fp16 needs a GPU; on the "
                        "CPU, bf16 needs AVX-512"),
      flags.Add("--passes", model.passes, ParsePasses)
          ->type_name("auto|all|none|PASS,...")
          ->description(fmt::format("rewrites of the graph before any "
                                    "swapping; default auto:{}, on a CPU{}, "
                                    "and on a GPU{}",
                                    PassNames(PassPays::kEverywhere),
                                    PassNames(PassPays::kOnCpu),
                                    PassNames(PassPays::kOnGpu)))};
}

void AddModelFlags(FlagSet& flags, ModelFlags& model) {
  const std::string fallback =
      model.model.empty() ? "" : fmt::format("; default {}", model.model);
  CLI::Option* name =
      flags
          .Text("--model", model.model,
                "network of the zoo (see: spillway models)" + fallback)
          ->type_name("MODEL");
  AddOnnxFlags(flags, model.onnx)->excludes(name);
  flags.AtEnd([&model] {
    if (model.onnx.is_given()) model.model.clear();
  });
  NeedModel(flags, model, AddBatchAndPrecision(flags, model));
  NeedZooModel(
      flags, model,
      {flags.Int("--image_size", model.image_size,
                 {.help = "height and width, or bytes of a text; 0: the "
                          "model's default",
                  .max = kLargestSize}),
       flags.Bool("--auxiliary_head", model.auxiliary_head,
                  "train the model's auxiliary classifier too")});
}

std::vector<CLI::Option*> AddOptimizerFlags(FlagSet& flags,
                                            OptimizerFlags& optimizer) {
  flags.BeginGroup("Optimizer");
  return {
      flags.Choice(
          "--optimizer", optimizer.optimizer,
          {.help = "default sgd",
           .choices = {"sgd", "momentum", "velocity", "nesterov", "lars",
                       "lbsgd", "adagrad", "adam", "adamw", "rmsprop"}}),
      flags.Real("--learning_rate", optimizer.learning_rate,
                 {.help = "default: the optimizer's"}),
      flags.Real("--momentum", optimizer.momentum,
                 {.help = "of momentum, velocity, nesterov, lars and lbsgd "
                          "(default 0.9) and of rmsprop (default 0)",
                  .max = 1}),
      flags.Real("--beta1", optimizer.beta1,
                 {.help = "of adam and adamw; default 0.9", .max = 1}),
      flags.Real("--beta2", optimizer.beta2,
                 {.help = "of adam and adamw; default 0.999", .max = 1}),
      flags.Real("--rho", optimizer.rho,
                 {.help = "of rmsprop: weight of the squares before; default "
                          "0.9",
                  .max = 1}),
      flags.Real("--epsilon", optimizer.epsilon,
                 {.help = "of adam, adamw, adagrad, rmsprop and lars; default: "
                          "the optimizer's"}),
      flags.Real("--lars_eta", optimizer.lars_eta,
                 {.help = "of lars: part of a variable's norm that a step may "
                          "have; default 0.001"}),
      flags.Real("--weight_decay", optimizer.weight_decay,
                 {.help = fmt::format("this times the weight is added to its "
                                      "gradient; adamw subtracts it times the "
                                      "rate from the weight instead; default "
                                      "{}",
                                      optimizer.weight_decay)}),
      AddLossScaleFlag(flags, "--loss_scale", optimizer),
  };
}

CLI::Option* AddLossScaleFlag(FlagSet& flags, const std::string& name,
                              OptimizerFlags& optimizer) {
  return flags.Add(name, optimizer.loss_scale, ParseLossScale)
      ->type_name("X")
      ->description(
          "factor on the loss before gradients are computed; updates divide "
          "gradients by it; default 128 with --precision fp16, else 1; train "
          "takes \"dynamic\": it is halved when a gradient overflows, whose "
          "update is left out, and doubled after 1000 updates without");
}

void DefaultDecayOf(FlagSet& flags, const ModelFlags& model,
                    OptimizerFlags& optimizer) {
  flags.AtEnd([&flags, &model, &optimizer] {
    if (!model.onnx.is_given() || flags.IsGiven("--weight_decay")) return;
    optimizer.weight_decay = 0;
  });
}

void AddClipFlags(FlagSet& flags, OptimizerFlags& optimizer) {
  flags.Real(
      "--clip_norm", optimizer.clip_norm,
      {.help = "gradients are scaled down so that the norm of all of "
               "them together is at most this; default 0: they are not"});
  flags.Real("--clip_value", optimizer.clip_value,
             {.help = "each element of a gradient is clipped to this size; "
                      "default 0: it is not"});
}

namespace {

absl::StatusOr<Optimizer> DefaultOptimizer(const OptimizerFlags& flags) {
  if (flags.optimizer != "lbsgd") return ParseOptimizer(flags.optimizer);
  if (!flags.has_ratios) return Velocity();
  return Lars{.learning_rate = Velocity().learning_rate,
              .form = LarsForm::kLbsgd};
}

}  // namespace

absl::StatusOr<Optimizer> MakeOptimizer(const OptimizerFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(Optimizer optimizer, DefaultOptimizer(flags));
  const auto set = [&flags](auto& settings) {
    if (flags.learning_rate) settings.learning_rate = *flags.learning_rate;
    if constexpr (requires { settings.weight_decay; }) {
      settings.weight_decay = flags.weight_decay;
    }
    const auto use = [&flags](const char* flag,
                              const std::optional<double>& value,
                              double* setting) {
      if (!value) return;
      if (setting != nullptr) {
        *setting = *value;
      } else {
        spdlog::warn("{} has no effect with --optimizer {}", flag,
                     flags.optimizer);
      }
    };
    double* momentum = nullptr;
    double* beta1 = nullptr;
    double* beta2 = nullptr;
    double* rho = nullptr;
    double* epsilon = nullptr;
    double* eta = nullptr;
    if constexpr (requires { settings.momentum; })
      momentum = &settings.momentum;
    if constexpr (requires { settings.beta1; }) beta1 = &settings.beta1;
    if constexpr (requires { settings.beta2; }) beta2 = &settings.beta2;
    if constexpr (requires { settings.decay; }) rho = &settings.decay;
    if constexpr (requires { settings.epsilon; }) epsilon = &settings.epsilon;
    if constexpr (requires { settings.eta; }) eta = &settings.eta;
    use("--momentum", flags.momentum, momentum);
    use("--beta1", flags.beta1, beta1);
    use("--beta2", flags.beta2, beta2);
    use("--rho", flags.rho, rho);
    use("--epsilon", flags.epsilon, epsilon);
    use("--lars_eta", flags.lars_eta, eta);
  };
  std::visit(set, optimizer);
  return optimizer;
}

double LearningRate(const Optimizer& optimizer) {
  return std::visit([](const auto& settings) { return settings.learning_rate; },
                    optimizer);
}

}  // namespace spillway

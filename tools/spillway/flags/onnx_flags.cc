#include "tools/spillway/flags/onnx_flags.h"

#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "fmt/format.h"

namespace spillway {
namespace {

std::map<std::string, int64_t> ParseDims(const std::string& name,
                                         const std::string& text) {
  std::map<std::string, int64_t> dims;
  const std::vector<std::string> items = absl::StrSplit(text, ',');
  for (const std::string& item : items) {
    const size_t equals = item.rfind('=');
    int64_t value = 0;
    if (equals == std::string::npos || equals == 0 ||
        !absl::SimpleAtoi(item.substr(equals + 1), &value) || value < 1) {
      RefuseFlag(name,
                 fmt::format("\"{}\" is not NAME=N with a positive N", item));
    }
    const std::string dim = item.substr(0, equals);
    if (!dims.emplace(dim, value).second) {
      RefuseFlag(name, fmt::format("{} is given twice", dim));
    }
  }
  return dims;
}

OnnxLoss LossOf(const std::string& name) {
  if (name == "sigmoid_cross_entropy") return OnnxLoss::kSigmoidCrossEntropy;
  if (name == "mean_squared_error") return OnnxLoss::kMeanSquaredError;
  if (name == "mean_absolute_error") return OnnxLoss::kMeanAbsoluteError;
  if (name == "none") return OnnxLoss::kOutput;
  return OnnxLoss::kSparseSoftmaxCrossEntropy;
}

OnnxBatchNorm BatchNormOf(const std::string& name) {
  if (name == "frozen") return OnnxBatchNorm::kFrozen;
  return name == "model" ? OnnxBatchNorm::kModel : OnnxBatchNorm::kTrain;
}

OnnxDropout DropoutOf(const std::string& name) {
  if (name == "off") return OnnxDropout::kOff;
  return name == "model" ? OnnxDropout::kModel : OnnxDropout::kOn;
}

}  // namespace

CLI::Option* AddOnnxFlags(FlagSet& flags, OnnxFlags& onnx) {
  CLI::Option* file =
      flags.File("--onnx", onnx.file, "model in this ONNX file, instead");
  const std::array<CLI::Option*, 7> details = {
      AddDimFlag(flags, onnx.dims),
      flags.Choice(
          "--loss", onnx.loss,
          {.help = "of a training step; default "
                   "sparse_softmax_cross_entropy; none: an output of "
                   "the model is its loss",
           .choices = {"sparse_softmax_cross_entropy", "sigmoid_cross_entropy",
                       "mean_squared_error", "mean_absolute_error", "none"}}),
      flags.Text("--output", onnx.output,
                 "output of the model that the loss takes; default: the first"),
      flags.Repeated("--freeze", onnx.freeze,
                     "do not train initializers in whose name this regular "
                     "expression finds something; may be repeated"),
      flags.Repeated("--train_only", onnx.train_only,
                     "train only those; may be repeated"),
      flags.Choice("--batch_norm", onnx.batch_norm,
                   {.help = "in training: statistics of the batch (default), "
                            "moving ones, or as each node says",
                    .choices = {"train", "frozen", "model"}}),
      flags.Choice("--dropout", onnx.dropout,
                   {.help = "in training; default on; model: as each node says",
                    .choices = {"on", "off", "model"}})};
  for (CLI::Option* detail : details) detail->needs(file);
  return file;
}

void AddPlanOnlyFlag(FlagSet& flags, OnnxFlags& onnx) {
  flags.Bool("--plan_only", onnx.plan_only,
             "nodes of the ONNX model that cannot be imported become plan-only "
             "nodes, which can be planned but not run");
  flags.AtEnd([&onnx] {
    if (onnx.plan_only && !onnx.is_given()) {
      Refuse("--plan_only requires --onnx");
    }
  });
}

CLI::Option* AddDimFlag(FlagSet& flags, std::map<std::string, int64_t>& dims) {
  return flags.Add("--dim", dims, ParseDims)
      ->type_name("NAME=N,...")
      ->description("values of the ONNX model's symbolic dimensions");
}

OnnxImportOptions ImportOptionsOf(const OnnxFlags& flags, bool is_training) {
  OnnxImportOptions options = {.dims = flags.dims,
                               .plan_only = flags.plan_only};
  if (!is_training) {
    options.batch_norm = OnnxBatchNorm::kFrozen;
    options.dropout = OnnxDropout::kOff;
    return options;
  }
  options.training =
      OnnxTrainingOptions{.loss = LossOf(flags.loss), .output = flags.output};
  options.batch_norm = BatchNormOf(flags.batch_norm);
  options.dropout = DropoutOf(flags.dropout);
  options.freeze = flags.freeze;
  options.train_only = flags.train_only;
  return options;
}

void LogNotes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) spdlog::info("--onnx: {}", note);
}

}  // namespace spillway

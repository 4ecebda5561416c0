// `spillway bench`: training speed on synthetic images, in the manner of
// tf_cnn_benchmarks.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_BENCH_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_BENCH_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "lms/options.h"
#include "tools/spillway/flags/bench_compat_flags.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/model_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

// Defaults are those of tf_cnn_benchmarks.
struct BenchFlags {
  ModelFlags model = {.model = "trivial"};
  int64_t num_classes = 0;  // 0: the model's default
  OptimizerFlags optimizer = {};
  std::string optimizer_flag = {};  // an optimizer flag that was given, if any
  bool forward_only = false;

  int64_t num_batches = 100;
  std::optional<double> num_epochs = {};
  int64_t num_warmup_batches = 10;
  int64_t display_every = 10;
  std::optional<double> display_perf_ewma = {};
  bool print_training_accuracy = false;
  std::string synthetic = "fixed";
  int64_t seed = 0;

  BenchCompatFlags compat = {};
  StepOptions step = DefaultStepOptions();
  PlaceMode place = PlaceMode::kOff;
  std::string plan = {};
  std::string checkpoint = {};
  std::string trace = {};
  std::string report = {};
  ResultFlags result = {};

  bool shows_accuracy() const {
    return (print_training_accuracy || forward_only) && !model.onnx.is_given();
  }
};
void AddBenchFlags(FlagSet& set, BenchFlags& flags);
absl::Status RunBench(const BenchFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_BENCH_COMMAND_H_

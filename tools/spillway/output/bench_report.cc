#include "tools/spillway/output/bench_report.h"

#include <array>
#include <string_view>

#include "base/counted.h"
#include "benchmarks/lane_use.h"
#include "fmt/format.h"
#include "tools/spillway/output/host_nodes_text.h"
#include "tools/spillway/output/result_json.h"
#include "tools/spillway/output/swap_text.h"
#include "tuner/prepare_step.h"

namespace spillway {
namespace {

std::string_view ModeName(const BenchFlags& flags) {
  return flags.forward_only ? "forward-only" : "training";
}

std::string FormatMemory(const BenchSetup& setup) {
  const MemoryUse memory = setup.session->memory();
  const std::string driver =
      memory.driver_device_bytes
          ? fmt::format(", {} by the driver", *memory.driver_device_bytes)
          : "";
  return fmt::format(
      "device peak  {} bytes predicted, {} measured{}\n"
      "host peak    {} bytes predicted, {} measured\n",
      memory.predicted_device_bytes, memory.measured_device_bytes, driver,
      memory.predicted_host_bytes, memory.measured_host_bytes);
}

// Of the lanes that most steps do not have: nothing runs there.
bool IsLeftOut(const LaneUse& use, size_t lane) {
  return lane >= static_cast<size_t>(Lane::kHost) && use.busy_ns[lane] == 0;
}

std::string FormatLanes(const LaneUse& use) {
  std::string text = "busy         ";
  for (size_t lane = 0; lane < use.busy_ns.size(); ++lane) {
    if (IsLeftOut(use, lane)) continue;
    text += fmt::format("{} {:.1f}, ", LaneName(static_cast<Lane>(lane)),
                        Milliseconds(use.busy_ns[lane]));
  }
  return text + fmt::format(
                    "of {:.1f} ms in a traced step\n"
                    "overlap      {:.1f} % of {:.1f} ms of copies during "
                    "compute\n",
                    Milliseconds(use.step_ns), 100 * use.hidden_part(),
                    Milliseconds(use.copy_ns));
}

// The prediction, compared with the median step.
std::string FormatPrediction(const BenchSetup& setup,
                             const ThroughputResult& result) {
  const double predicted_ms = Milliseconds(setup.predicted_step_ns);
  if (result.step_seconds.empty()) {
    return fmt::format("step         {:.2f} ms predicted on {}\n", predicted_ms,
                       setup.profile.name);
  }
  const double measured_ms = 1e3 * Median(result.step_seconds);
  return fmt::format(
      "step         {:.2f} ms predicted on {}, {:.2f} measured: {:+.1f} %\n",
      predicted_ms, setup.profile.name, measured_ms,
      100 * (predicted_ms / measured_ms - 1));
}

Json StepTimesJson(const ThroughputResult& result) {
  const std::vector<double>& seconds = result.step_seconds;
  if (seconds.empty()) return nullptr;
  Json all = Json::array();
  for (const double second : seconds) all.push_back(1e3 * second);
  return {{"mean", 1e3 * Mean(seconds)},
          {"median", 1e3 * Median(seconds)},
          {"p95", 1e3 * Percentile(seconds, 0.95)},
          {"all", all}};
}

Json LanesJson(const LaneUse& use) {
  constexpr std::array<const char*, kNumLanes> kNames = {
      "compute", "copy_out", "copy_in", "host", "communication"};
  Json json;
  for (size_t lane = 0; lane < kNames.size(); ++lane) {
    if (IsLeftOut(use, lane)) continue;
    json[kNames[lane]] = {
        {"busy_ms", Milliseconds(use.busy_ns[lane])},
        {"idle_ms", Milliseconds(use.step_ns - use.busy_ns[lane])}};
  }
  return json;
}

Json OptionsJson(const BenchFlags& flags, const BenchSetup& setup) {
  Json json = {{"seed", flags.seed},
               {"synthetic", flags.synthetic},
               {"num_warmup_batches", flags.num_warmup_batches},
               {"display_every", flags.display_every},
               {"display_perf_ewma", nullptr},
               {"threads", flags.step.threads},
               {"link_gbps", flags.step.link_gbps},
               {"auxiliary_head", flags.model.auxiliary_head}};
  if (flags.display_perf_ewma) {
    json["display_perf_ewma"] = *flags.display_perf_ewma;
  }
  if (flags.forward_only) return json;
  json["optimizer"] = flags.optimizer.optimizer;
  json["learning_rate"] = setup.learning_rate;
  json["weight_decay"] = flags.optimizer.weight_decay;
  json["loss_scale"] = setup.loss_scale;
  return json;
}

// Describes what was run.
Json SubjectJson(const BenchFlags& flags, const BenchSetup& setup) {
  const ModelOptions& model = setup.model.options;
  return {{"model", flags.model.name()},
          {"mode", ModeName(flags)},
          {"device", setup.device},
          {"precision", flags.model.precision},
          {"batch_size", model.batch_size},
          {"image_size", model.image_size},
          {"num_classes", model.num_classes},
          {"parameters", setup.parameters},
          {"num_batches", flags.num_batches},
          {"cuda_graph", flags.step.capture_steps}};
}

// The measured speed.
Json SpeedJson(const BenchSetup& setup, const ThroughputResult& result) {
  const ThroughputStatistics& statistics = result.last.statistics;
  const LaneUse use = MeasureLanes(result.traced_step);
  Json json = {{"images_per_sec", statistics.images_per_second},
               {"images_per_sec_uncertainty", statistics.uncertainty},
               {"jitter", statistics.jitter},
               {"total_images_per_sec", result.total_images_per_second},
               {"step_ms", StepTimesJson(result)},
               {"predicted_step_ms", Milliseconds(setup.predicted_step_ns)},
               {"profile", setup.profile.name},
               {"lanes", LanesJson(use)},
               {"copy_ms", Milliseconds(use.copy_ns)},
               {"hidden_copy_ms", Milliseconds(use.hidden_ns)},
               {"losses", result.losses}};
  if (!result.step_seconds.empty()) return json;
  for (const char* speed : {"images_per_sec", "images_per_sec_uncertainty",
                            "jitter", "total_images_per_sec"}) {
    json[speed] = nullptr;
  }
  return json;
}

Json MemoryJson(const BenchFlags& flags, const BenchSetup& setup,
                const ThroughputResult& result) {
  const MemoryUse memory = setup.session->memory();
  Json json = {{"peak_device_bytes", PeakJson(memory.predicted_device_bytes,
                                              memory.measured_device_bytes)},
               {"peak_host_bytes", PeakJson(memory.predicted_host_bytes,
                                            memory.measured_host_bytes)},
               {"device_memory", nullptr},
               {"host_memory", HostMemoryOf(setup.options)},
               {"swap", SwapJson(MeasuredSwaps(*setup.session, result.steps))},
               {"device_allocations_in_steps", memory.allocations_in_steps}};
  json["peak_device_bytes"]["driver"] = nullptr;
  if (memory.driver_device_bytes) {
    json["peak_device_bytes"]["driver"] = *memory.driver_device_bytes;
  }
  if (setup.options.device_memory) {
    json["device_memory"] = *setup.options.device_memory;
  }
  if (flags.step.check_memory) json["check_memory"] = true;
  return json;
}

}  // namespace

std::string FormatBenchInfo(const BenchFlags& flags, const BenchSetup& setup) {
  const ModelOptions& model = setup.model.options;
  const std::string& update = flags.compat.variable_update;
  return fmt::format(
      "Model:       {}\n"
      "Dataset:     imagenet (synthetic)\n"
      "Mode:        {}\n"
      "Batch size:  {} global\n"
      "             {} per device\n"
      "Image size:  {}\n"
      "Num batches: {}\n"
      "Devices:     ['{}']\n"
      "Data format: NHWC\n"
      "Precision:   {}\n"
      "Optimizer:   {}\n"
      "Variables:   {}\n"
      "LMS:         {}\n"
      "==========\n",
      flags.model.name(), ModeName(flags), model.batch_size, model.batch_size,
      model.image_size, flags.num_batches, setup.device, flags.model.precision,
      flags.optimizer.optimizer, update.empty() ? "parameter_server" : update,
      setup.recipe.empty() ? LmsModeName(setup.lms.mode) : setup.recipe);
}

std::string FormatBenchHeader(const BenchFlags& flags) {
  return fmt::format(
      "Step\tImg/sec\ttotal_loss{}\n",
      flags.shows_accuracy() ? "\ttop_1_accuracy\ttop_5_accuracy" : "");
}

std::string FormatBenchStep(const BenchFlags& flags,
                            const ThroughputStep& step) {
  std::string line = fmt::format(
      "{}\timages/sec: {:.1f} +/- {:.1f} (jitter = {:.1f})\t{:.3f}", step.step,
      step.statistics.images_per_second, step.statistics.uncertainty,
      step.statistics.jitter, flags.forward_only ? 0.0 : step.loss);
  if (flags.shows_accuracy()) {
    line += fmt::format("\t{:.3f}\t{:.3f}", step.top_1_accuracy,
                        step.top_5_accuracy);
  }
  return line + "\n";
}

std::string FormatBenchDone(const BenchFlags& flags,
                            const ThroughputResult& result) {
  return fmt::format("after {} of {}", result.step_seconds.size(),
                     Counted(flags.num_batches, "timed step"));
}

std::string FormatBenchTotal(const BenchFlags& flags,
                             const ThroughputResult& result) {
  const std::string rule(64, '-');
  const std::string text =
      fmt::format("{}\ntotal images/sec: {:.2f}\n{}\n", rule,
                  result.total_images_per_second, rule);
  if (!result.interrupted) return text;
  return text +
         fmt::format("interrupted  {}\n", FormatBenchDone(flags, result));
}

std::string FormatBenchEnd(const BenchSetup& setup,
                           const ThroughputResult& result) {
  return fmt::format(
      "{}{}{}{}{}{}{}", FormatMemory(setup),
      FormatMeasuredSwaps(MeasuredSwaps(*setup.session, result.steps)),
      FormatClones(setup.edit.clones), FormatHostNodes(setup.placement),
      FormatLanes(MeasureLanes(result.traced_step)),
      FormatPrediction(setup, result),
      FormatChecksum(result.checksum,
                     AlgorithmsDigest(setup.algorithms, setup.graph),
                     setup.options.algorithms));
}

Json BenchJson(const BenchFlags& flags, const BenchSetup& setup,
               const ThroughputResult& result) {
  Json json = SubjectJson(flags, setup);
  json["interrupted"] = result.interrupted;
  json["steps_done"] = result.step_seconds.size();
  json.update(SpeedJson(setup, result));
  json.update(MemoryJson(flags, setup, result));
  json["lms"] = LmsJson(setup.lms);
  json["recipe"] = nullptr;
  if (!setup.recipe.empty()) json["recipe"] = setup.recipe;
  json["algorithms"] = AlgorithmsJson(setup.algorithms);
  json["algorithms_digest"] = AlgorithmsDigest(setup.algorithms, setup.graph);
  json["options"] = OptionsJson(flags, setup);
  json["recompute"] = ClonesJson(setup.edit.clones);
  AddHostNodesJson(setup.placement, json);
  json["edit_ms"] = Milliseconds(setup.edit.edit_ns);
  json["plan_ms"] = Milliseconds(setup.plan_ns);
  json["checksum"] = result.checksum;
  return json;
}

}  // namespace spillway

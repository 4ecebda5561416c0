#include "tools/spillway/command/train_report.h"

#include <algorithm>

#include "base/counted.h"
#include "base/units.h"
#include "fmt/format.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tools/spillway/output/host_nodes_text.h"
#include "tools/spillway/output/onnx_json.h"
#include "tools/spillway/output/result_json.h"
#include "tools/spillway/output/swap_text.h"

namespace spillway {
namespace {

constexpr int64_t kMostDryUpdates = 10'000;
// Part of the training's time, from which on waiting for data is worth a line.
constexpr double kLongDataWait = 0.05;

Json EpochsJson(const std::vector<EpochResult>& epochs) {
  Json json = Json::array();
  for (const EpochResult& epoch : epochs) {
    json.push_back({{"loss", epoch.loss}});
    if (epoch.accuracy) {
      json.back()["accuracy"] = *epoch.accuracy;
      json.back()["test_accuracy"] = nullptr;
    }
    json.back()["seconds"] = epoch.seconds;
    json.back()["data_wait_seconds"] = epoch.data_wait_seconds;
    json.back()["steps"] = epoch.num_steps;
    if (epoch.test_accuracy) {
      json.back()["test_accuracy"] = *epoch.test_accuracy;
    }
    if (epoch.test_top_k_accuracy) {
      json.back()["test_top_k_accuracy"] = *epoch.test_top_k_accuracy;
    }
  }
  return json;
}

Json OptionsJson(const TrainFlags& flags, const TrainSetup& setup) {
  const MicroBatchSpec& rows = setup.loop->plan->spec();
  const std::string_view policy = LrPolicyKindName(flags.rate.policy.kind);
  return {{"data", flags.data},
          {"train_algo", TrainAlgorithmName(rows.algorithm)},
          {"parallel_batches", rows.parallel_batches},
          {"weight_parallel_batches", rows.weighted},
          {"tail", TailName(rows.tail)},
          {"shuffle", flags.loop.shuffle},
          {"num_epochs", setup.loop->num_epochs()},
          {"num_steps", setup.loop->num_updates},
          {"seed", flags.seed},
          {"optimizer", flags.optimizer.optimizer},
          {"learning_rate", setup.loop->base_rate},
          {"lr_schedule", policy},
          {"lr_policy", policy},
          {"weight_decay", flags.optimizer.weight_decay},
          {"loss_scale", flags.optimizer.loss_scale.is_dynamic
                             ? Json("dynamic")
                             : Json(setup.loss_scale)},
          {"threads", flags.step.threads},
          {"link_gbps", flags.step.link_gbps},
          {"evaluation_batch_size", setup.spec.evaluation.batch_size}};
}

// A line if reading the data slows the training down, or else nothing.
std::string FormatDataWait(const std::vector<EpochResult>& epochs) {
  double seconds = 0;
  double waited = 0;
  for (const EpochResult& epoch : epochs) {
    seconds += epoch.seconds;
    waited += epoch.data_wait_seconds;
  }
  if (waited <= kLongDataWait * seconds) return "";
  return fmt::format(
      "data wait    {:.0f} % of the time: the data is read more slowly than "
      "the "
      "steps take it\n",
      100 * waited / seconds);
}

}  // namespace

int64_t TrainResult::num_complete_epochs() const {
  return std::ranges::count_if(epochs, &EpochResult::is_complete);
}

std::string FormatStart(const TrainSetup& setup) {
  const MemoryUse memory = setup.session->memory();
  const MicroBatchPlan& plan = *setup.loop->plan;
  const std::optional<int64_t> updates = plan.UpdatesPerEpoch();
  std::string batches = fmt::format("batch {}", plan.micro_rows());
  if (plan.group_size() > 1) batches += fmt::format(" x {}", plan.group_size());
  if (plan.devices() > 1) {
    batches += fmt::format(" on {}", Counted(plan.devices(), "device"));
  }
  return fmt::format(
      "{}, {}, {}, device {}: {}\n"
      "{:>5}{:>10}{:>10}{:>15}{:>9}\n",
      Counted(setup.parameters, "parameter"), batches,
      updates ? Counted(*updates, "step") + " an epoch"
              : Counted(setup.loop->num_updates, "step"),
      setup.device, FormatBytes(memory.predicted_device_bytes), "epoch", "loss",
      "accuracy", "test accuracy", "seconds");
}

std::string FormatEpoch(const EpochResult& epoch) {
  const std::string test_accuracy =
      epoch.test_accuracy ? fmt::format("{:.4f}", *epoch.test_accuracy) : "-";
  const std::string top_k =
      epoch.test_top_k_accuracy
          ? fmt::format("  top k {:.4f}", *epoch.test_top_k_accuracy)
          : "";
  const std::string accuracy =
      epoch.accuracy ? fmt::format("{:.4f}", *epoch.accuracy) : "-";
  return fmt::format("{:>5}{:>10.4f}{:>10}{:>15}{:>9.1f}{}\n", epoch.epoch + 1,
                     epoch.loss, accuracy, test_accuracy, epoch.seconds, top_k);
}

std::string FormatIteration(int64_t micro_batch, const char* what, double loss,
                            double accuracy) {
  return fmt::format("Iter:{}, {} loss:{:.6g}, {} accuracy:{:.6g}\n",
                     micro_batch, what, loss, what, 100 * accuracy);
}

std::string FormatDone(const TrainSetup& setup, const TrainResult& result) {
  return fmt::format("after {} of {}, {} of {} complete", result.num_steps(),
                     Counted(setup.loop->num_updates, "step"),
                     result.num_complete_epochs(),
                     Counted(setup.loop->num_epochs(), "epoch"));
}

std::string FormatEnd(const TrainSetup& setup, const TrainResult& result) {
  const MemoryUse memory = setup.session->memory();
  const std::string interruption =
      result.interrupted()
          ? fmt::format("interrupted  {}\n", FormatDone(setup, result))
          : "";
  const char* nothing_left =
      result.losses.empty() && !result.interrupted()
          ? "complete     no step was left to do, so peaks are lower\n"
          : "";
  return fmt::format(
      "{}{}device peak  {} bytes predicted, {} measured\n"
      "host peak    {} bytes predicted, {} measured\n"
      "{}{}{}{}{}",
      interruption, nothing_left, memory.predicted_device_bytes,
      memory.measured_device_bytes, memory.predicted_host_bytes,
      memory.measured_host_bytes,
      FormatMeasuredSwaps(MeasuredSwaps(*setup.session, result.swap_steps)),
      FormatClones(setup.edit.clones), FormatHostNodes(setup.placement),
      FormatDataWait(result.epochs),
      FormatChecksum(result.checksum, setup.algorithms_digest,
                     setup.options.algorithms));
}

Json TrainJson(const TrainFlags& flags, const TrainSetup& setup,
               const TrainResult& result) {
  const MemoryUse memory = setup.session->memory();
  Json json = {
      {"model", flags.model.name()},
      {"device", setup.device},
      {"precision", flags.model.precision},
      {"cuda_graph", flags.step.capture_steps},
      {"batch_size", setup.loop->plan->micro_rows()},
      {"image_size", setup.model.image_size},
      {"parameters", setup.parameters},
      {"interrupted", result.interrupted()},
      {"steps_done", result.num_steps()},
      {"epochs_done", result.num_complete_epochs()},
      {"epochs", EpochsJson(result.epochs)},
      {"losses", result.losses},
      {"learning_rates", result.learning_rates},
      {"peak_device_bytes",
       PeakJson(memory.predicted_device_bytes, memory.measured_device_bytes)},
      {"peak_host_bytes",
       PeakJson(memory.predicted_host_bytes, memory.measured_host_bytes)},
      {"device_memory", nullptr},
      {"host_memory", HostMemoryOf(setup.options)},
      {"swap", SwapJson(MeasuredSwaps(*setup.session, result.swap_steps))},
      {"recompute", ClonesJson(setup.edit.clones)},
      {"lms", LmsJson(setup.lms)},
      {"options", OptionsJson(flags, setup)},
      {"edit_ms", static_cast<double>(setup.edit.edit_ns) * 1e-6},
      {"plan_ms", static_cast<double>(setup.plan_ns) * 1e-6},
      {"device_allocations_in_steps", memory.allocations_in_steps},
      {"algorithms_digest", setup.algorithms_digest},
      {"checksum", result.checksum}};
  if (setup.options.device_memory) {
    json["device_memory"] = *setup.options.device_memory;
  }
  if (flags.step.check_memory) json["check_memory"] = true;
  if (flags.model.onnx.is_given()) {
    json["onnx"] = OnnxJson(setup.loop->onnx, setup.loop->transposes);
  }
  AddHostNodesJson(setup.placement, json);
  return json;
}

namespace {

// Of the rows that a worker reads.
void AddWindows(const MicroBatchPlan& plan, int64_t update, int worker,
                Json& windows) {
  const int rank = plan.rank_of(worker);
  for (const MicroBatch& micro : plan.UpdateOf(update, worker)) {
    if (micro.weight == 0) continue;  // it has none
    const int64_t number = plan.NumberOf(update, micro);
    Json window = {{"rank", rank},
                   {"micro", number - rank * plan.per_rank()},
                   {"begin", micro.begin},
                   {"end", micro.end},
                   {"weight", micro.weight}};
    if (plan.devices() > 1) window["device"] = plan.device_of(worker);
    windows.push_back(std::move(window));
  }
}

}  // namespace

Json DryRunJson(const TrainLoop& loop) {
  const MicroBatchSpec& spec = loop.plan->spec();
  Json updates = Json::array();
  const int64_t shown = std::min(loop.num_updates, kMostDryUpdates);
  for (int64_t update = 0; update < shown; ++update) {
    Json windows = Json::array();
    for (int worker = 0; worker < loop.plan->workers(); ++worker) {
      AddWindows(*loop.plan, update, worker, windows);
    }
    updates.push_back({{"update", update},
                       {"epoch", loop.plan->EpochOf(update)},
                       {"learning_rate", loop.rate_at(update)},
                       {"windows", std::move(windows)}});
  }
  return {{"rows", spec.rows},
          {"batch_size", spec.batch_size},
          {"parallel_batches", spec.parallel_batches},
          {"world_size", spec.world_size},
          {"num_devices", loop.plan->devices()},
          {"num_updates", loop.num_updates},
          {"updates", std::move(updates)}};
}

std::string FormatDryRun(const TrainLoop& loop) {
  constexpr int64_t kMostLines = 20;
  std::string text = fmt::format("{}, {}, {}\n{:>8}{:>7}{:>15}  {}\n",
                                 Counted(loop.plan->spec().rows, "row"),
                                 Counted(loop.num_updates, "update"),
                                 Counted(loop.num_epochs(), "epoch"), "update",
                                 "epoch", "learning rate", "rows (weight)");
  for (int64_t update = 0; update < std::min(loop.num_updates, kMostLines);
       ++update) {
    text += fmt::format("{:>8}{:>7}{:>15.6g} ", update,
                        loop.plan->EpochOf(update), loop.rate_at(update));
    for (const MicroBatch& micro : loop.plan->Update(update)) {
      text +=
          fmt::format(" {}-{} ({:.4g})", micro.begin, micro.end, micro.weight);
    }
    text += '\n';
  }
  if (loop.num_updates > kMostLines) {
    text += fmt::format("     ...  {} more; --json FILE has them\n",
                        loop.num_updates - kMostLines);
  }
  return text;
}

}  // namespace spillway

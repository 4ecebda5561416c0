#include "executor/plan/memory_shortage.h"

#include <atomic>
#include <string>

#include "absl/strings/cord.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

constexpr const char* kPayload = "spillway/memory_shortage";
std::atomic<bool> has_payloads = false;

nlohmann::json ToJson(const MemoryShortage& shortage) {
  return {{"needed_bytes", shortage.needed_bytes},
          {"budget_bytes", shortage.budget_bytes},
          {"floor_bytes", shortage.floor_bytes},
          {"floor_node", shortage.floor_node},
          {"is_tuned", shortage.is_tuned},
          {"step_ns", shortage.step_ns},
          {"unlimited_step_ns", shortage.unlimited_step_ns}};
}

MemoryShortage FromJson(const nlohmann::json& json) {
  return {.needed_bytes = json.at("needed_bytes"),
          .budget_bytes = json.at("budget_bytes"),
          .floor_bytes = json.at("floor_bytes"),
          .floor_node = json.at("floor_node"),
          .is_tuned = json.at("is_tuned"),
          .step_ns = json.at("step_ns"),
          .unlimited_step_ns = json.at("unlimited_step_ns")};
}

std::string Remedy(const MemoryShortage& shortage) {
  if (shortage.floor_bytes > shortage.budget_bytes) {
    return fmt::format(
        "neither swapping nor recomputing can help; run on the host what is "
        "too large ({}), or lower the batch size",
        kPlaceAdvice);
  }
  if (shortage.is_tuned) return "lower the batch size";
  return fmt::format("swap or recompute more ({}), or lower the batch size",
                     kAutoAdvice);
}

std::string StepTime(const MemoryShortage& shortage) {
  if (shortage.step_ns <= 0 || shortage.unlimited_step_ns <= 0) return "";
  return fmt::format(
      ", with a predicted step of {}, {:.2f} times that without a budget",
      FormatDuration(shortage.step_ns),
      static_cast<double>(shortage.step_ns) /
          static_cast<double>(shortage.unlimited_step_ns));
}

}  // namespace

absl::Status ShortageError(const MemoryShortage& shortage) {
  const int64_t needed = shortage.needed_bytes;
  const int64_t budget = shortage.budget_bytes;
  absl::Status error = ResourceExhausted(fmt::format(
      "device memory: the step needs {} ({} bytes), the budget is {}: {} "
      "missing; the smallest budget with these options is {} bytes{}; the "
      "floor, the largest working set of one node, is {} at {}; {}{}",
      FormatBytes(needed), needed, FormatBytes(budget),
      FormatBytes(needed - budget), needed, StepTime(shortage),
      FormatBytes(shortage.floor_bytes),
      shortage.floor_node.empty() ? "(no node)" : shortage.floor_node,
      Remedy(shortage), kFindMaxBatchHint));
  if (has_payloads) {
    error.SetPayload(kPayload, absl::Cord(ToJson(shortage).dump()));
  }
  return error;
}

void SetShortagePayloads(bool are_attached) { has_payloads = are_attached; }

std::optional<MemoryShortage> ShortageOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload) return std::nullopt;
  return FromJson(nlohmann::json::parse(std::string(*payload)));
}

}  // namespace spillway

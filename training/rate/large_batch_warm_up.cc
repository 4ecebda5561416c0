#include "training/rate/large_batch_warm_up.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "training/check_setting.h"

namespace spillway {
namespace {

// From 0 to 1 as `progress` does.
double Climb(WarmUpStrategy strategy, double progress) {
  switch (strategy) {
    case WarmUpStrategy::kLinear:
      return progress;
    case WarmUpStrategy::kPower2:
      return progress * progress;
    case WarmUpStrategy::kSqrt:
      return std::sqrt(progress);
    case WarmUpStrategy::kLars:
      break;
  }
  return 0;
}

}  // namespace

absl::StatusOr<WarmUpStrategy> ParseWarmUpStrategy(std::string_view name) {
  if (name == "linear") return WarmUpStrategy::kLinear;
  if (name == "power2") return WarmUpStrategy::kPower2;
  if (name == "sqrt") return WarmUpStrategy::kSqrt;
  if (name == "lars") return WarmUpStrategy::kLars;
  return InvalidArgument(fmt::format(
      "there is no warm-up strategy '{}'; known: linear power2 sqrt lars",
      name));
}

absl::Status CheckLargeBatchWarmUp(const LargeBatchWarmUp& warm_up) {
  SPILLWAY_RETURN_IF_ERROR(
      setting::CheckAtLeast("warmup_epochs", warm_up.warmup_epochs, 0));
  SPILLWAY_RETURN_IF_ERROR(
      setting::CheckAtLeast("batch_scale", warm_up.batch_scale, 1));
  return setting::CheckAtLeast("updates_per_epoch", warm_up.updates_per_epoch,
                               1);
}

double LargeBatchFactor(const LargeBatchWarmUp& warm_up, double batches) {
  if (warm_up.strategy == WarmUpStrategy::kLars) return 1;
  const auto scale = static_cast<double>(warm_up.batch_scale);
  const double warm_up_batches = static_cast<double>(warm_up.warmup_epochs) *
                                 static_cast<double>(warm_up.updates_per_epoch);
  if (batches >= warm_up_batches) return scale;
  if (warm_up_batches <= 1) return 1;
  return 1 + (scale - 1) * Climb(warm_up.strategy, batches / warm_up_batches);
}

LrSchedule WithLargeBatchWarmUp(LrSchedule schedule,
                                const LargeBatchWarmUp& warm_up) {
  if (!schedule) return nullptr;
  return [schedule = std::move(schedule), warm_up](int64_t update) {
    return schedule(update) *
           LargeBatchFactor(warm_up,
                            static_cast<double>(update) *
                                static_cast<double>(warm_up.batch_scale));
  };
}

}  // namespace spillway

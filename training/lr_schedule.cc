#include "training/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/check.h"

namespace spillway {
namespace {

// How much of `steps` is over at `step`: 0 to 1.
double Progress(int64_t step, int64_t steps) {
  return std::clamp(static_cast<double>(step) / static_cast<double>(steps), 0.0,
                    1.0);
}

}  // namespace

LrSchedule ConstantRate(double rate) {
  return [rate](int64_t) { return rate; };
}

LrSchedule PiecewiseRate(std::vector<int64_t> boundaries,
                         std::vector<double> rates) {
  SPILLWAY_CHECK(rates.size() == boundaries.size() + 1);
  SPILLWAY_CHECK(std::ranges::is_sorted(boundaries));
  return [boundaries = std::move(boundaries),
          rates = std::move(rates)](int64_t step) {
    const auto next = std::ranges::upper_bound(boundaries, step);
    return rates[static_cast<size_t>(next - boundaries.begin())];
  };
}

LrSchedule LinearDecay(double rate, int64_t steps) {
  SPILLWAY_CHECK(steps > 0);
  return [=](int64_t step) { return rate * (1 - Progress(step, steps)); };
}

LrSchedule CosineDecay(double rate, int64_t steps) {
  SPILLWAY_CHECK(steps > 0);
  return [=](int64_t step) {
    const double angle = std::numbers::pi * Progress(step, steps);
    return rate * 0.5 * (1 + std::cos(angle));
  };
}

LrSchedule WithWarmUp(LrSchedule schedule, int64_t steps) {
  SPILLWAY_CHECK(steps >= 0);
  return [schedule = std::move(schedule), steps](int64_t step) {
    if (step >= steps) return schedule(step);
    return schedule(steps) * Progress(step + 1, steps);
  };
}

}  // namespace spillway

#include "training/rate/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace spillway {
namespace {

// The fraction of `steps` done at `step`: 0 to 1; 1 if `steps` is 0 or less.
double Progress(int64_t step, int64_t steps) {
  if (steps <= 0) return 1;
  return std::clamp(static_cast<double>(step) / static_cast<double>(steps), 0.0,
                    1.0);
}

}  // namespace

LrSchedule ConstantRate(double rate) {
  return [rate](int64_t) { return rate; };
}

LrSchedule PiecewiseRate(std::vector<int64_t> boundaries,
                         std::vector<double> rates) {
  if (rates.empty()) rates = {0};
  return [boundaries = std::move(boundaries),
          rates = std::move(rates)](int64_t step) {
    const auto reached = static_cast<size_t>(std::ranges::count_if(
        boundaries, [step](int64_t boundary) { return boundary <= step; }));
    return rates[std::min(reached, rates.size() - 1)];
  };
}

LrSchedule LinearDecay(double rate, int64_t steps) {
  return [=](int64_t step) { return rate * (1 - Progress(step, steps)); };
}

LrSchedule CosineDecay(double rate, int64_t steps) {
  return [=](int64_t step) {
    const double angle = std::numbers::pi * Progress(step, steps);
    return rate * 0.5 * (1 + std::cos(angle));
  };
}

LrSchedule WithWarmUp(LrSchedule schedule, int64_t steps) {
  if (!schedule || steps <= 0) return schedule;
  return [schedule = std::move(schedule), steps](int64_t step) {
    if (step >= steps) return schedule(step);
    return schedule(steps) * Progress(step + 1, steps);
  };
}

}  // namespace spillway

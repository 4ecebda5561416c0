#include "training/rate/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace spillway {
namespace {

// done / all: 0 to 1; 1 if `all` is 0 or less.
double Progress(double done, double all) {
  return all > 0 ? std::clamp(done / all, 0.0, 1.0) : 1;
}

double Progress(int64_t update, int64_t updates) {
  return Progress(static_cast<double>(update), static_cast<double>(updates));
}

// The fraction of `decay` that is done at `update`.
double Done(const Decay& decay, int64_t update) {
  const auto first = static_cast<double>(decay.first_update);
  return Progress(static_cast<double>(update) - first,
                  static_cast<double>(decay.last_update) - first);
}

double Count(int64_t counter) {
  return static_cast<double>(std::max<int64_t>(counter, 0));
}

// How many of `boundaries` are <= update.
int64_t Reached(const std::vector<int64_t>& boundaries, int64_t update) {
  return std::ranges::count_if(
      boundaries, [update](int64_t boundary) { return boundary <= update; });
}

}  // namespace

LrSchedule ConstantRate(double rate) {
  return [rate](int64_t) { return rate; };
}

LrSchedule PiecewiseRate(std::vector<int64_t> boundaries,
                         std::vector<double> rates) {
  if (rates.empty()) rates = {0};
  return [boundaries = std::move(boundaries),
          rates = std::move(rates)](int64_t update) {
    const auto reached = static_cast<size_t>(Reached(boundaries, update));
    return rates[std::min(reached, rates.size() - 1)];
  };
}

LrSchedule MultiFactor(double rate, double gamma,
                       std::vector<int64_t> boundaries) {
  return [=, boundaries = std::move(boundaries)](int64_t update) {
    return rate * std::pow(gamma, Count(Reached(boundaries, update)));
  };
}

LrSchedule StepDecay(double rate, double gamma, int64_t every) {
  if (every <= 0) return ConstantRate(rate);
  return [=](int64_t update) {
    return rate * std::pow(gamma, Count(update / every));
  };
}

LrSchedule ExponentialDecay(double rate, double gamma) {
  return [=](int64_t update) { return rate * std::pow(gamma, Count(update)); };
}

LrSchedule InverseDecay(double rate, double gamma, double power) {
  return [=](int64_t update) {
    return rate * std::pow(1 + gamma * Count(update), -power);
  };
}

LrSchedule SigmoidDecay(double rate, double gamma, int64_t step) {
  return [=](int64_t update) {
    const double distance = Count(update) - static_cast<double>(step);
    return rate / (1 + std::exp(-gamma * distance));
  };
}

LrSchedule PolynomialDecay(const Decay& decay, double power) {
  return [=](int64_t update) {
    const double left = 1 - Done(decay, update);
    if (left <= 0) return decay.final_rate;
    return decay.final_rate +
           (decay.rate - decay.final_rate) * std::pow(left, power);
  };
}

LrSchedule CosineDecay(const Decay& decay) {
  return [=](int64_t update) {
    const double angle = std::numbers::pi * Done(decay, update);
    return decay.final_rate +
           (decay.rate - decay.final_rate) * 0.5 * (1 + std::cos(angle));
  };
}

LrSchedule LinearDecay(double rate, int64_t updates) {
  return PolynomialDecay({.rate = rate, .last_update = updates}, 1);
}

LrSchedule CosineDecay(double rate, int64_t updates) {
  return CosineDecay({.rate = rate, .last_update = updates});
}

LrSchedule OfEpoch(LrSchedule schedule,
                   std::function<int64_t(int64_t update)> epoch_of) {
  if (!schedule || !epoch_of) return nullptr;
  return [schedule = std::move(schedule), epoch_of = std::move(epoch_of)](
             int64_t update) { return schedule(epoch_of(update)); };
}

LrSchedule WithWarmUp(LrSchedule schedule, int64_t updates) {
  if (!schedule || updates <= 0) return schedule;
  return [schedule = std::move(schedule), updates](int64_t update) {
    if (update >= updates) return schedule(update);
    return schedule(updates) * Progress(update + 1, updates);
  };
}

LrSchedule WithWarmUp(LrSchedule schedule, double rate, const WarmUp& warm_up) {
  if (!schedule || warm_up.steps <= 0) return schedule;
  return [schedule = std::move(schedule), rate, warm_up](int64_t update) {
    if (update >= warm_up.steps) return schedule(update);
    if (warm_up.mode == WarmUpMode::kConstant) return warm_up.begin;
    return warm_up.begin +
           (rate - warm_up.begin) * Progress(update, warm_up.steps);
  };
}

}  // namespace spillway

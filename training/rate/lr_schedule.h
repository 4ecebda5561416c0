// Learning-rate schedules: the number of updates done before (0 for the first)
// -> rate, as pure functions. The rate is fed to the graph as a scalar, so the
// graph stays static. All arguments are valid; none terminates the program. A
// negative counter is as 0. training/rate/lr_policy.h makes a schedule from
// settings and refuses those that make no sense.
#ifndef SPILLWAY_TRAINING_RATE_LR_SCHEDULE_H_
#define SPILLWAY_TRAINING_RATE_LR_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace spillway {

using LrSchedule = std::function<double(int64_t update)>;

LrSchedule ConstantRate(double rate);

// rates[i], where i is the number of boundaries that are <= update; their order
// does not matter. There should be one more rate than boundaries: with fewer,
// the last rate stays (0 without any); extra rates are ignored.
LrSchedule PiecewiseRate(std::vector<int64_t> boundaries,
                         std::vector<double> rates);

// rate * gamma^i, where i is the number of boundaries that are <= update.
// Source: MXNet's MultiFactorScheduler, whose counter begins at 1.
LrSchedule MultiFactor(double rate, double gamma,
                       std::vector<int64_t> boundaries);

// Source of the next four: the policies of Caffe and Apache SystemML, which
// evaluates them on the epoch (OfEpoch below).
//
// rate * gamma^floor(update / every); if `every` is 0 or less: `rate`.
LrSchedule StepDecay(double rate, double gamma, int64_t every);
// rate * gamma^update
LrSchedule ExponentialDecay(double rate, double gamma);
// rate * (1 + gamma * update)^-power
LrSchedule InverseDecay(double rate, double gamma, double power);
// rate / (1 + exp(-gamma * (update - step))): falls if gamma is negative.
LrSchedule SigmoidDecay(double rate, double gamma, int64_t step);

// From `rate`, up to update `first_update`, to `final_rate`, from update
// `last_update` on. If `last_update` is not after `first_update`: `final_rate`
// at every update.
struct Decay {
  double rate = 0.01;
  double final_rate = 0;
  int64_t first_update = 0;  // where a warm-up ends
  int64_t last_update = 0;
};

// final_rate + (rate - final_rate) * (1 - p)^power, where p, from 0 to 1, is
// the fraction of the decay that is done.
// Source: MXNet's PolyScheduler, in its last form.
LrSchedule PolynomialDecay(const Decay& decay, double power);

// The same with half a cosine, (1 + cos(pi p)) / 2, in place of (1 - p)^power.
// Source: Loshchilov and Hutter, ICLR 2017, without restarts.
LrSchedule CosineDecay(const Decay& decay);

// From `rate` at update 0 to 0 at update `updates`, then 0.
LrSchedule LinearDecay(double rate, int64_t updates);
LrSchedule CosineDecay(double rate, int64_t updates);

// `schedule` at epoch_of(update) in place of the update. Null if one is null.
LrSchedule OfEpoch(LrSchedule schedule,
                   std::function<int64_t(int64_t update)> epoch_of);

// Warm-up: the first `updates` updates rise linearly to the value of `schedule`
// at update `updates`; update 0 has 1/updates of it. After that, `schedule`; if
// `updates` is 0 or less, from the start. Null if `schedule` is null.
// Source: Goyal et al., arXiv 1706.02677, section 2.2.
LrSchedule WithWarmUp(LrSchedule schedule, int64_t updates);

// Warm-up in MXNet's form, from `begin` at update 0. The other mode stays at
// `begin` until it ends.
enum class WarmUpMode : uint8_t { kLinear, kConstant };

struct WarmUp {
  int64_t steps = 0;  // updates
  double begin = 0;
  WarmUpMode mode = WarmUpMode::kLinear;
};

// The first `steps` updates have begin + (rate - begin) * update / steps, or
// `begin`. After that, `schedule`; if `steps` is 0 or less, from the start.
// Null if `schedule` is null.
// Source: MXNet's LRScheduler, in its last form.
LrSchedule WithWarmUp(LrSchedule schedule, double rate, const WarmUp& warm_up);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_RATE_LR_SCHEDULE_H_

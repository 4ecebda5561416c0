// Learning-rate schedules: step (from 0) -> rate, as pure functions. The rate
// is fed to the graph as a scalar, so the graph stays static. All arguments are
// valid; none terminates the program.
#ifndef SPILLWAY_TRAINING_RATE_LR_SCHEDULE_H_
#define SPILLWAY_TRAINING_RATE_LR_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace spillway {

using LrSchedule = std::function<double(int64_t step)>;

LrSchedule ConstantRate(double rate);

// rates[i], where i is the number of boundaries that are <= step; their order
// does not matter. There should be one more rate than boundaries: with fewer,
// the last rate stays (0 without any); extra rates are ignored.
LrSchedule PiecewiseRate(std::vector<int64_t> boundaries,
                         std::vector<double> rates);

// Linear from `rate` at step 0 to 0 at step `steps`, then 0. If `steps` is 0 or
// less: 0 at every step.
LrSchedule LinearDecay(double rate, int64_t steps);

// Half a cosine from `rate` at step 0 to 0 at step `steps`, then 0. If `steps`
// is 0 or less: 0 at every step.
// Source: Loshchilov and Hutter, ICLR 2017, without restarts.
LrSchedule CosineDecay(double rate, int64_t steps);

// Warm-up: the first `steps` steps rise linearly to the value of `schedule` at
// step `steps`; step 0 has 1/steps of it. After that, `schedule`; if `steps` is
// 0 or less, from the start. Null if `schedule` is null.
// Source: Goyal et al., arXiv 1706.02677, section 2.2.
LrSchedule WithWarmUp(LrSchedule schedule, int64_t steps);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_RATE_LR_SCHEDULE_H_

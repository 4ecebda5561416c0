// Learning-rate schedules: step (from 0) -> rate, as pure functions. The rate
// is fed to the graph as a scalar, so the graph stays static. Any arguments
// will do: none ends the program.
#ifndef SPILLWAY_TRAINING_LR_SCHEDULE_H_
#define SPILLWAY_TRAINING_LR_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace spillway {

using LrSchedule = std::function<double(int64_t step)>;

LrSchedule ConstantRate(double rate);

// rates[i] from the step on that reaches i of the boundaries, which are in any
// order. There should be one rate more than boundaries: with fewer, the last
// rate stays (0 with none); more are not used.
LrSchedule PiecewiseRate(std::vector<int64_t> boundaries,
                         std::vector<double> rates);

// From `rate` at step 0 in a straight line to 0 at step `steps` and after: 0 at
// every step where `steps` is 0 or less.
LrSchedule LinearDecay(double rate, int64_t steps);

// Half a cosine from `rate` at step 0 to 0 at step `steps` and after: 0 at
// every step where `steps` is 0 or less.
// Source: Loshchilov and Hutter, ICLR 2017, without restarts.
LrSchedule CosineDecay(double rate, int64_t steps);

// The first `steps` steps climb in a straight line to what `schedule` says at
// step `steps`: step 0 has 1/steps of it. After that, `schedule`; from the
// start where `steps` is 0 or less. Null where `schedule` is.
// Source: Goyal et al., arXiv 1706.02677, section 2.2.
LrSchedule WithWarmUp(LrSchedule schedule, int64_t steps);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LR_SCHEDULE_H_

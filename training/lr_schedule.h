// Learning-rate schedules: step (from 0) -> rate, as pure functions. The rate
// is fed to the graph as a scalar, so the graph stays static.
#ifndef SPILLWAY_TRAINING_LR_SCHEDULE_H_
#define SPILLWAY_TRAINING_LR_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace spillway {

using LrSchedule = std::function<double(int64_t step)>;

LrSchedule ConstantRate(double rate);

// rates[i] while step < boundaries[i], the last rate from there on. There is
// one rate more than boundaries, and these ascend (CHECKed).
LrSchedule PiecewiseRate(std::vector<int64_t> boundaries,
                         std::vector<double> rates);

// From `rate` at step 0 in a straight line to 0 at step `steps` and after.
LrSchedule LinearDecay(double rate, int64_t steps);

// Half a cosine from `rate` at step 0 to 0 at step `steps` and after.
// Source: Loshchilov and Hutter, ICLR 2017, without restarts.
LrSchedule CosineDecay(double rate, int64_t steps);

// The first `steps` steps climb in a straight line to what `schedule` says at
// step `steps`: step 0 has 1/steps of it. After that, `schedule`.
// Source: Goyal et al., arXiv 1706.02677, section 2.2.
LrSchedule WithWarmUp(LrSchedule schedule, int64_t steps);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LR_SCHEDULE_H_

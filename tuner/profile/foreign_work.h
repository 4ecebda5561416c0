// What other programs took of the CPUs while something was measured.
#ifndef SPILLWAY_TUNER_PROFILE_FOREIGN_WORK_H_
#define SPILLWAY_TUNER_PROFILE_FOREIGN_WORK_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "tuner/profile/plausible_profile.h"

namespace spillway {

// A measurement beside more foreign work than this part of the CPUs is taken
// again, and marked if that does not help.
inline constexpr double kMostForeignWork = 0.1;

// Seconds since the machine started, summed over the CPUs that this process may
// run on.
struct CpuTimes {
  double all = 0;   // idle time too; 0: not known
  double busy = 0;  // of any process, and time that a hypervisor took
  double own = 0;   // of this process, since that started
};

// From /proc/stat, whose clock ticks 100 times a second. `root` is put before
// /proc, for tests. All zeros where the file cannot be read.
CpuTimes ReadCpuTimes(const std::string& root);

// The part of the CPUs' time between two readings, 0 to 1, that was busy with
// anything but this process; 0 if too little time has passed to tell.
double ForeignWork(const CpuTimes& begin, const CpuTimes& end);

// Readings of one machine.
using CpuClock = std::function<CpuTimes()>;

// Calls `measure`, which returns a StatusOr<Result>, until there is no more
// foreign work than kMostForeignWork, kMostAttempts times at most. Returns the
// attempt with the least and sets `foreign_work` to its part. Errors: the first
// that `measure` returns.
template <typename Measure>
auto MeasureAlone(const CpuClock& clock, Measure measure, double& foreign_work)
    -> decltype(measure()) {
  decltype(measure()) best = absl::UnknownError("not measured");
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const CpuTimes begin = clock();
    auto measured = measure();
    if (!measured.ok()) return measured;
    const double foreign = ForeignWork(begin, clock());
    if (!best.ok() || foreign < foreign_work) {
      best = std::move(measured);
      foreign_work = foreign;
    }
    if (foreign_work <= kMostForeignWork) break;
  }
  return best;
}

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_FOREIGN_WORK_H_
